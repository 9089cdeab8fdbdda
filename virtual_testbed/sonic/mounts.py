"""The few mount and namespace calls that a root view needs, by ctypes (no program of util-linux is needed).

Numbers: linux/sched.h, linux/mount.h; mount_setattr(2) exists since Linux 5.12 and has the same number on all
architectures.
"""
from __future__ import annotations

import ctypes
import os
from pathlib import Path

from virtual_testbed.sonic.privileges import check, libc

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWUSER, CLONE_NEWPID = 0x00020000, 0x04000000, 0x10000000, 0x20000000
CLONE_NEWNET = 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
_SYS_MOUNT_SETATTR = 442
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_MOUNT_ATTR_RDONLY = 1


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("attr_set", "attr_clr", "propagation", "userns_fd")]


def unshare(flags: int) -> None:
    """unshare(2). Raises OSError."""
    check(libc().unshare(flags), "unshare")


def set_host_name(name: str) -> None:
    """sethostname(2). Raises OSError."""
    raw = name.encode()
    check(libc().sethostname(raw, len(raw)), "sethostname")


def mount(source: str, target: str | Path, kind: str | None, flags: int = 0, options: str = "") -> None:
    """mount(2). Raises OSError that names the target."""
    filesystem = kind.encode() if kind else None
    result = libc().mount(os.fsencode(source), os.fsencode(target), filesystem, flags, options.encode())
    check(result, f"mount {target}")


def bind(descriptor: int, target: str | Path) -> None:
    """Show what an open (O_PATH) descriptor names at `target` too, with all that is mounted below it."""
    mount(f"/proc/self/fd/{descriptor}", target, None, MS_BIND | MS_REC)


def _set_attributes(target: str | Path, attributes: _MountAttributes) -> None:
    result = libc().syscall(_SYS_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(target), _AT_RECURSIVE,
                            ctypes.byref(attributes), ctypes.sizeof(attributes))
    check(result, f"mount_setattr {target}")


def make_read_only(target: str | Path) -> None:
    """Nothing below `target` can be written through this mount namespace any more."""
    _set_attributes(target, _MountAttributes(attr_set=_MOUNT_ATTR_RDONLY))


def make_writable(target: str | Path) -> None:
    """Undo `make_read_only` for what is mounted at `target`."""
    _set_attributes(target, _MountAttributes(attr_clr=_MOUNT_ATTR_RDONLY))


def open_path(path: str | Path) -> int:
    """A descriptor that names `path` also when something is mounted over it later."""
    return os.open(path, os.O_PATH | os.O_CLOEXEC)
