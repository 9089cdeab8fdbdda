"""Fault classes from a file of the user's own: loading one, and refusing what would silently do nothing."""
from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from virtual_testbed.dataplane.model.hooks import Fault

HOOKS = frozenset(name for name, value in vars(Fault).items() if not name.startswith("_") and callable(value))


def load_class(path: Path, name: str) -> type[Fault]:
    """The fault class `name` of a Python file; the file is executed.

    Raises:
        ValueError: no such file, an exception while it is executed, no such class, or a class that is no fault or
            misspells something; `str()` is one sentence.
    """
    module = _execute(path)
    found = getattr(module, name, None)
    if not isinstance(found, type):
        classes = sorted(key for key, value in vars(module).items()
                         if isinstance(value, type) and value.__module__ == module.__name__)
        raise ValueError(f"{path} has no class '{name}' (it has: {', '.join(classes) or 'none'})")
    if not issubclass(found, Fault) or found is Fault:
        raise ValueError(f"class {name} of {path} is not derived from virtual_testbed.faults.Fault")
    _check(found, module, f"class {name} of {path}")
    return found


def _execute(path: Path) -> ModuleType:
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    identity = hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:16]
    spec = importlib.util.spec_from_file_location(f"virtual_testbed_fault_{identity}", path)
    assert spec is not None and spec.loader is not None, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever the user's file does wrong
        del sys.modules[module.__name__]
        said = " ".join(str(error).split())
        raise ValueError(f"{path} cannot be imported: {type(error).__name__}{f': {said}' if said else ''}") from error
    return module


def _check(fault: type[Fault], module: ModuleType, who: str) -> None:
    """A fault needs a name and at least one hook; a misspelt hook would never be asked."""
    if not isinstance(fault.name, str) or fault.name in ("", Fault.name):
        raise ValueError(f"{who} has no name: expected a line such as name = \"pause-ignored\"")
    if not isinstance(fault.options, tuple) or not all(isinstance(option, str) for option in fault.options):
        raise ValueError(f"{who} has options that are no tuple of texts: expected such as options = (\"one_in\",)")
    own = {name for base in fault.__mro__ if base.__module__ == module.__name__ for name, value in vars(base).items()
           if callable(value) and not name.startswith("_")}
    if own - HOOKS:
        raise ValueError(f"{who}: '{min(own - HOOKS)}' is no hook (docs/faults.md lists them); "
                         "a method of its own begins with an underscore")
    if all(getattr(fault, hook) is getattr(Fault, hook) for hook in HOOKS):
        raise ValueError(f"{who} overrides no hook and would do nothing (docs/faults.md lists the hooks)")
