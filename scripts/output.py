"""What the command prints. Nothing that it says is worth a measurement: what cannot be written is dropped."""
from __future__ import annotations

import contextlib
import os
from typing import TextIO


def put(text: str, out: TextIO | None) -> None:
    """Writes text at once. A terminal that is gone, a reader that has enough or a full disk lose it, and no more.

    Args:
        text: with its line ends.
        out: where to; None: it was closed before the command began.
    """
    if out is None:
        return
    with contextlib.suppress(OSError):
        try:
            out.write(text)
        except UnicodeEncodeError:
            out.write(text.encode("ascii", "backslashreplace").decode("ascii"))
        out.flush()


def settle(out: TextIO | None) -> None:
    """Leaves nothing to write for the interpreter's end, which would change the exit status if that failed."""
    if out is None:
        return
    try:
        out.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, out.fileno())
        os.close(nowhere)
        put("", out)
