"""Python programs on a switch without a root view find its files: loaded by them all through $PYTHONPATH.

Ansible's modules name `/etc/sonic/...` in their arguments, out of reach of a shell. Here the file functions of Python
look for SONiC's folders below $SONIC_ROOT. Only the standard library may be imported: any program can be the one.
"""
from __future__ import annotations

import builtins
import functools
import io
import os
from collections.abc import Callable
from typing import Any

_ROOT = os.environ.get("SONIC_ROOT", "")
_FOLDERS = ("/etc/sonic", "/usr/share/sonic", "/sys/class/net", "/var/core", "/var/log", "/dev/shm")
_FIRST = ("open", "stat", "lstat", "listdir", "scandir", "mkdir", "remove", "unlink", "rmdir", "chmod", "chown",
          "lchown", "readlink", "utime", "chdir", "statvfs", "truncate", "listxattr", "getxattr", "setxattr")
_BOTH = ("rename", "replace", "link")
_SETS = (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids)


def moved(path: Any) -> Any:
    """Where a path is here; anything that is no path of the switch's (or no path at all) stays as it is."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return path
    text = os.fsdecode(path)
    if any(text == folder or text.startswith(folder + "/") for folder in _FOLDERS):
        return os.fsencode(_ROOT + text) if isinstance(path, bytes) else _ROOT + text
    return path


def _moving(function: Callable[..., Any], paths: int) -> Callable[..., Any]:
    """A file function whose first arguments are moved."""
    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        return function(*map(moved, arguments[:paths]), *arguments[paths:], **named)
    return call


def install() -> None:
    """Replace the file functions of `os`, and `open`."""
    for names, paths in ((_FIRST, 1), (_BOTH, 2)):
        for name in names:
            original = getattr(os, name)
            replacement = _moving(original, paths)
            setattr(os, name, replacement)
            for functions in _SETS:
                if original in functions:
                    functions.add(replacement)
    original_symlink, original_access = os.symlink, os.access

    def access(path: Any, mode: int, **named: Any) -> bool:
        """By what the account can do, capabilities included; access(2) leaves them out, and Ansible believes it."""
        return original_access(moved(path), mode, **{"effective_ids": True, **named})

    os.access = access
    os.symlink = lambda target, link, *rest, **named: original_symlink(target, moved(link), *rest, **named)
    builtins.open = io.open = _moving(io.open, 1)


if _ROOT:
    install()
