"""`sudo` where none may be installed. Runs by path and without packages: it starts with every privileged command.

In a namespace the user becomes uid 0 of a user namespace of its own; elsewhere the account stays and only the
environment says root, which is what this switch's own commands look at. It stays on a host that is no switch too: what
it may change of its network it may as it is, and in another user namespace no more.
"""
from __future__ import annotations

import os
import sys

_CLONE_NEWUSER = 0x10000000
_WITH_VALUE = ("-u", "-g", "-p", "-C", "-r", "-t", "-T", "-h", "-U")
_LONG_WITH_VALUE = ("--user", "--group", "--prompt")
_USERS = ("root", "admin")
_AS_IT_IS = ("environment", "plain")


def parse(words: list[str]) -> tuple[str, set[str], dict[str, str], list[str]]:
    """Target user, flags, environment assignments and command."""
    user = "root"
    flags: set[str] = set()
    values: dict[str, str] = {}
    words = list(words)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if name in _LONG_WITH_VALUE:
            value = value if equals else _next(words, word)
            user = value if name == "--user" else user
        elif word.startswith("--"):
            flags.add({"--login": "i", "--shell": "s", "--version": "V", "--validate": "v", "--list": "l",
                       "--reset-timestamp": "k"}.get(word, ""))
        else:
            user = _short(word, words, flags, user)
    while words and "=" in words[0] and words[0].partition("=")[0].isidentifier():
        name, _, value = words.pop(0).partition("=")
        values[name] = value
    return user, flags, values, words


def _short(word: str, words: list[str], flags: set[str], user: str) -> str:
    """One word of short options, such as -nH or -uroot."""
    for position, letter in enumerate(word[1:], start=1):
        if f"-{letter}" in _WITH_VALUE:
            value = word[position + 1:] or _next(words, f"-{letter}")
            return value if letter == "u" else user
        flags.add(letter)
    return user


def _next(words: list[str], option: str) -> str:
    if not words:
        sys.exit(f"sudo: option '{option}' requires an argument")
    return words.pop(0)


def become_root() -> None:
    """Uid 0 of a new user namespace; where the kernel refuses the account stays."""
    uid = os.geteuid()
    gid = os.getegid()
    if uid == 0:
        return
    import ctypes
    if ctypes.CDLL(None).unshare(_CLONE_NEWUSER) != 0:
        return
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as stream:
            stream.write(text)


def main() -> None:
    """The command."""
    user, flags, values, command = parse(sys.argv[1:])
    if user.lstrip("#") not in (*_USERS, "0", "1000"):
        sys.exit(f"sudo: unknown user: {user}")
    if "V" in flags:
        print("Sudo version 1.9.13p3")
        return
    shell = "i" in flags or "s" in flags
    if not command and not shell:
        if not flags & set("vkKl"):
            sys.exit("usage: sudo -h | -K | -k | -V\nusage: sudo [-HnSEi] [-u user] [VAR=value] [command [arg ...]]")
        return
    root = user in ("root", "#0", "0")
    name = "root" if root else "admin"
    prefix = os.environ.get("SONIC_ROOT", "")
    home = prefix + ("/root" if root else "/home/admin")
    os.environ.update({"SUDO_USER": "admin", "SUDO_UID": "1000", "SUDO_GID": "1000", "USER": name, "LOGNAME": name,
                       "HOME": home, "SUDO_COMMAND": " ".join(command), **values})
    if root and os.environ.get("SONIC_VIEW") not in _AS_IT_IS:
        become_root()
    if "i" in flags:
        os.chdir(home)
    if shell:
        command = ["/bin/sh", "-c", " ".join(command)] if command else ["/bin/sh"]
    try:
        os.execvp(command[0], command)
    except FileNotFoundError:
        sys.exit(f"sudo: {command[0]}: command not found")
    except PermissionError:
        sys.exit(f"sudo: unable to execute {command[0]}: Permission denied")


if __name__ == "__main__":
    main()
