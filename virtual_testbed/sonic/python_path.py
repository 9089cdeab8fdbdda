"""Where a Python that does not look for libraries by itself finds those of a switch's commands."""
from __future__ import annotations

import os
import sysconfig
from pathlib import Path

PACKAGE_ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
"""Two folders where a distribution keeps compiled libraries, as hiredis, apart."""
PYTHON_PATH = os.pathsep.join((str(PACKAGE_ROOT), *LIBRARIES))
