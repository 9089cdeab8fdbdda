"""Linux capabilities and accounts of the calling process: give up everything but what is named.

Plain libc calls by ctypes: the standard library (3.11) has no interface to them. Numbers: linux/capability.h,
linux/prctl.h.
"""
from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable

CAP_DAC_READ_SEARCH = 2
CAP_NET_ADMIN = 12
_CAPABILITY_VERSION_3 = 0x20080522
_PR_CAPBSET_DROP = 24
_PR_SET_KEEPCAPS = 8
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_CAPABILITIES = range(64)


class _Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _Words(ctypes.Structure):
    _fields_ = [("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32)]


def libc() -> ctypes.CDLL:
    """The C library of this process, with errno kept."""
    return ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    """Raise OSError with errno's text and `what` when a C call returned -1."""
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def no_new_privileges() -> None:
    """Set-user-id programs give nothing any more, here and in all that is started from here."""
    check(libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")


def keep_capabilities(kept: Iterable[int] = ()) -> None:
    """Give up every capability but `kept`; those survive exec of ordinary programs (ambient set).

    Raises:
        OSError: the kernel refused, or a kept capability is not there.
    """
    library = libc()
    kept = frozenset(kept)
    _drop_bounding(kept)
    mask = sum(1 << capability for capability in kept)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    header = _Header(_CAPABILITY_VERSION_3, 0)
    words = (_Words * 2)(_Words(low, low, low), _Words(high, high, high))
    check(library.capset(ctypes.byref(header), words), "capset")
    for capability in kept:
        check(library.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, capability, 0, 0), "prctl(PR_CAP_AMBIENT)")


def _drop_bounding(kept: frozenset[int]) -> None:
    """Out of reach for good; needs CAP_SETPCAP, so it must come before a change of account."""
    for capability in _CAPABILITIES:
        if capability not in kept:
            libc().prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # EINVAL above the kernel's last one


def become_unprivileged(uid: int, gid: int) -> None:
    """From root to an ordinary account that can still read every file (CAP_DAC_READ_SEARCH), for good.

    The capability is needed because a checkout or a virtual environment below /root is closed to other accounts.

    Raises:
        OSError: not root, or the account does not exist in this user namespace.
    """
    check(libc().prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0), "prctl(PR_SET_KEEPCAPS)")
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    _drop_bounding(frozenset([CAP_DAC_READ_SEARCH]))
    os.setresuid(uid, uid, uid)
    keep_capabilities([CAP_DAC_READ_SEARCH])
    no_new_privileges()
