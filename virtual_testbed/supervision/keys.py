"""Keys of a virtual testbed: the client's, each switch's own, and the password. All persist in the state folder."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path

from virtual_testbed.supervision.state import write_text


def ensure_key(path: Path, comment: str) -> str:
    """Make an Ed25519 key pair (`path`, `path.pub`) unless it is there.

    Returns:
        The public key as one line `ssh-ed25519 AAAA... comment`.
    """
    import asyncssh  # takes half a second, which commands that make no keys do without

    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        key = asyncssh.generate_private_key("ssh-ed25519", comment=comment)
        write_text(path, key.export_private_key().decode(), mode=0o600)
    public = asyncssh.read_private_key(path).export_public_key().decode().strip()
    write_text(path.with_name(path.name + ".pub"), public + "\n")
    return str(public)


def ensure_password(path: Path) -> str:
    """The testbed's password, made at random the first time; the file is for its owner only."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, secrets.token_urlsafe(12) + "\n", mode=0o600)
    return path.read_text(encoding="utf-8").strip()


def known_hosts(hosts: Mapping[tuple[str, str, int], str]) -> str:
    """A known_hosts file.

    Args:
        hosts: (name, address, port) -> public host key line.
    """
    lines = [f"[{address}]:{port},{name} {' '.join(key.split()[:2])}" for (name, address, port), key in hosts.items()]
    return "\n".join(lines) + "\n"
