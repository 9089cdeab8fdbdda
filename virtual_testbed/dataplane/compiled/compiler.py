"""How functions on tables are compiled, and where that is kept."""
from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

_Function = TypeVar("_Function", bound=Callable[..., object])
_FOLDER = Path(__file__).parent
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}
"""`_nrt`: references to tables are not counted, which would take most of the time; nothing is allocated here."""


def _digest() -> str:
    """What follows from the text of all modules of this package."""
    text = b"".join(file.read_bytes() for file in sorted(_FOLDER.glob("*.py")))
    return hashlib.sha256(text).hexdigest()[:16]


_config: Any = numba.config
if not _config.CACHE_DIR and os.access(_FOLDER, os.W_OK):
    # numba itself looks only whether the module of a function has changed, not those of functions and constants that
    # became part of it.
    _config.CACHE_DIR = str(_FOLDER / "__pycache__" / _digest())

entry: Callable[[_Function], _Function] = numba.njit(**_OPTIONS)
"""Of a function that is called from outside."""
compiled: Callable[[_Function], _Function] = numba.njit(forceinline=True, **_OPTIONS)
"""Of a function that becomes part of those."""
