"""Who may log in to a switch: one user, by key or by password."""
from __future__ import annotations

import hmac
from dataclasses import dataclass

import asyncssh


@dataclass(frozen=True)
class Account:
    """The user, the password, and the accepted public keys (wire format)."""

    user: str
    password: str
    keys: frozenset[bytes]

    @classmethod
    def read(cls, user: str, password: str, authorized_keys: str) -> Account:
        """From the text of an authorized_keys file. Raises asyncssh.KeyImportError."""
        lines = [line for line in authorized_keys.splitlines() if line.strip() and not line.startswith("#")]
        return cls(user, password, frozenset(asyncssh.import_public_key(line).public_data for line in lines))


class Login(asyncssh.SSHServer):
    """One connection's authentication."""

    def __init__(self, account: Account, connections: set[asyncssh.SSHServerConnection]) -> None:
        """Nobody has logged in yet. `connections`: this one is among them while it is open."""
        self._account = account
        self._connections = connections
        self._own: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        """A client has connected."""
        self._own = conn
        self._connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        if self._own is not None:
            self._connections.discard(self._own)

    def begin_auth(self, username: str) -> bool:
        """Authentication is required."""
        return True

    def password_auth_supported(self) -> bool:
        """Password login is supported, where the user has one."""
        return bool(self._account.password)

    def validate_password(self, username: str, password: str) -> bool:
        """True for the user's password."""
        right = hmac.compare_digest(password.encode(), self._account.password.encode())
        return bool(password) and username == self._account.user and right

    def public_key_auth_supported(self) -> bool:
        """Login by public key is supported."""
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """True for the user's keys."""
        return username == self._account.user and key.public_data in self._account.keys
