"""Signatures of bundles: OpenSSH's, made and looked at by `ssh-keygen -Y`, over the list of digests of all files."""
from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .errors import FileError

NAMESPACE = "pfc-bundle"
"""What a signature is for: one that was made for something else does not hold here."""
SECONDS = 60
PROGRAM = "ssh-keygen"


def sign(data: bytes, key: Path) -> bytes:
    """The signature of some data, in OpenSSH's armour.

    Args:
        data: what is signed.
        key: a private key, or the public half of one that an SSH agent holds.

    Raises:
        FileError: it cannot be signed with that key.
    """
    if not key.is_file():
        raise FileError(f"there is no key {key} to sign with; `ssh-keygen -t ed25519 -f {key}` makes one")
    answer = _run(["-Y", "sign", "-q", "-f", str(key), "-n", NAMESPACE], data)
    if answer.returncode or b"BEGIN SSH SIGNATURE" not in answer.stdout:
        raise FileError(f"{key} cannot sign: {_said(answer)}")
    return answer.stdout


def signer_of(data: bytes, signature: bytes, signers: Path) -> str:
    """Who signed some data.

    Args:
        data: what was signed.
        signature: its signature.
        signers: those who may sign, a file as `ssh-keygen(1)` describes ALLOWED SIGNERS: a line has a name and a key.

    Raises:
        FileError: none of them did, or it is not what was signed.
    """
    if not signers.is_file():
        raise FileError(f"there is no list of signers {signers}; it holds a name and a public key a line")
    with tempfile.NamedTemporaryFile(suffix=".sig") as file:
        file.write(signature)
        file.flush()
        found = _run(["-Y", "find-principals", "-s", file.name, "-f", str(signers)], b"")
        names = re.split(r"[,\n]", found.stdout.decode("utf-8", "replace").strip()) if not found.returncode else []
        if not names or not names[0]:
            raise FileError(f"its signature is of nobody whom {signers} lists")
        answer = _run(["-Y", "verify", "-f", str(signers), "-I", names[0], "-n", NAMESPACE, "-s", file.name], data)
    if answer.returncode:
        raise FileError(f"its signature does not hold: {_said(answer)}")
    return names[0]


def _run(arguments: Sequence[str], data: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run([PROGRAM, *arguments], input=data, capture_output=True, check=False, timeout=SECONDS)
    except FileNotFoundError as error:
        raise FileError(f"{PROGRAM}, which OpenSSH brings, is not installed: nothing is signed or verified") from error
    except subprocess.TimeoutExpired as error:
        raise FileError(f"{PROGRAM} took longer than {SECONDS} s: does the key ask for a passphrase? An SSH agent can "
                        "hold it") from error


def _said(answer: subprocess.CompletedProcess[bytes]) -> str:
    lines = (answer.stderr or answer.stdout).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"{PROGRAM} ended with status {answer.returncode}"
