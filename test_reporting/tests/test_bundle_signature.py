"""Bundles that are signed: by whom, and what is refused."""
from __future__ import annotations

import shutil
import subprocess
import zipfile

import pytest

from test_reporting.pfc.cli import main
from test_reporting.tests.samples import RUN_ID

pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen is not installed")


def make_key(folder, name):
    """A new key pair; returns the private half, and the line that lists its owner as a signer."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name], check=True)
    kind, key = (folder / f"{name}.pub").read_text(encoding="ascii").split()[:2]
    return folder / name, f"{name} {kind} {key}\n"


@pytest.fixture
def keys(tmp_path):
    """Keys of Ada and Bob, and a list that has Ada alone."""
    folder = tmp_path / "keys"
    folder.mkdir()
    (ada, line), (bob, _) = make_key(folder, "ada@lab"), make_key(folder, "bob@lab")
    signers = folder / "signers"
    signers.write_text(f"# who may sign\n{line}", encoding="ascii")
    return {"ada": ada, "bob": bob, "signers": signers}


@pytest.fixture
def signed(folder, tmp_path, keys, capsys):
    """A bundle that Ada signed."""
    path = tmp_path / "signed.zip"
    assert main(["bundle", RUN_ID, "--output", str(path), "--sign", str(keys["ada"])]) == 0
    capsys.readouterr()
    return path


def rewrite(path, change):
    """The same bundle with its files changed: `change` takes and returns name -> content."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in change(files).items():
            archive.writestr(name, data)


def look(path, keys):
    return main(["bundle", "--check", str(path), "--signers", str(keys["signers"])])


def test_a_signed_bundle_says_who_signed_it(signed, keys, capsys):
    assert look(signed, keys) == 0
    assert capsys.readouterr().out == f"{signed}: every file is as it was packed, signed by ada@lab\n"
    assert main(["bundle", "--check", str(signed)]) == 0, "the list of digests alone is looked at"
    assert "signed" not in capsys.readouterr().out.removeprefix(str(signed))


def test_openssh_alone_can_verify_it(signed, keys, tmp_path):
    """As the documentation says: sha256sum, ssh-keygen."""
    with zipfile.ZipFile(signed) as archive:
        archive.extractall(tmp_path / "out")
    top = next((tmp_path / "out").iterdir())
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=top, check=True)
    with (top / "SHA256SUMS").open("rb") as sums:
        subprocess.run(["ssh-keygen", "-Y", "verify", "-f", keys["signers"], "-I", "ada@lab", "-n", "pfc-bundle", "-s",
                        "SHA256SUMS.sig"], cwd=top, check=True, stdin=sums, capture_output=True)


def test_an_unsigned_bundle_is_refused(packed, keys, capsys):
    assert look(packed, keys) == 1
    assert f"{packed}: it is not signed" in capsys.readouterr().err


def test_an_unknown_signer_is_refused(folder, tmp_path, keys, capsys):
    path = tmp_path / "bob.zip"
    assert main(["bundle", RUN_ID, "--output", str(path), "--sign", str(keys["bob"])]) == 0
    assert look(path, keys) == 1
    assert f"its signature is of nobody whom {keys['signers']} lists" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["records.jsonl", "SUMMARY.txt"])
def test_a_tampered_file_is_refused(signed, keys, capsys, name):
    rewrite(signed, lambda files: {one: data + b"x" * one.endswith(f"/{name}") for one, data in files.items()})
    assert look(signed, keys) == 1
    assert f"{name} is changed" in capsys.readouterr().err


def test_a_list_of_digests_that_was_made_anew_is_refused(signed, keys, capsys):
    """Whoever changes a file and its digest too has no key."""

    def change(files):
        sums = next(name for name in files if name.endswith("/SHA256SUMS"))
        lines = files[sums].splitlines(keepends=True)
        summary = next(name for name in files if name.endswith("/SUMMARY.txt"))
        files[sums] = b"".join(line for line in lines if not line.endswith(b"  SUMMARY.txt\n"))
        del files[summary]
        return files

    rewrite(signed, change)
    assert main(["bundle", "--check", str(signed)]) == 0, "the digests agree"
    assert look(signed, keys) == 1
    assert "its signature does not hold" in capsys.readouterr().err


def test_a_signature_for_something_else_is_refused(packed, keys, tmp_path, capsys):
    with zipfile.ZipFile(packed) as archive:
        top = next(name for name in archive.namelist() if name.endswith("/SHA256SUMS"))
        (tmp_path / "sums").write_bytes(archive.read(top))
    subprocess.run(["ssh-keygen", "-Y", "sign", "-q", "-f", keys["ada"], "-n", "git", tmp_path / "sums"], check=True,
                   capture_output=True)
    signature = (tmp_path / "sums.sig").read_bytes()
    rewrite(packed, lambda files: {**files, f"{top}.sig": signature})
    assert look(packed, keys) == 1 and "its signature does not hold" in capsys.readouterr().err


def test_a_signature_that_is_none_is_refused(signed, keys, capsys):
    rewrite(signed, lambda files: {name: b"x" if name.endswith(".sig") else data for name, data in files.items()})
    assert look(signed, keys) == 1 and "its signature is of nobody" in capsys.readouterr().err


@pytest.mark.parametrize("arguments, says", [
    (["--sign", "no-such-key"], "there is no key no-such-key to sign with"),
    (["--signers", "x"], "--signers says who may have signed a bundle"),
    (["--check", "x.zip", "--sign", "k"], "takes the name of a bundle and nothing but --signers")])
def test_options_that_do_not_go_together(folder, tmp_path, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(tmp_path)
    assert main(["bundle", *arguments]) == 3 and says in capsys.readouterr().err
    assert not list(tmp_path.glob("*.zip"))


def test_what_is_no_key_signs_nothing(folder, tmp_path, capsys):
    (tmp_path / "key").write_text("no key", encoding="ascii")
    path = tmp_path / "a.zip"
    assert main(["bundle", RUN_ID, "--output", str(path), "--sign", str(tmp_path / "key")]) == 3
    assert "cannot sign" in capsys.readouterr().err and not path.exists()


def test_a_missing_list_of_signers_is_no_success(signed, tmp_path, capsys):
    assert main(["bundle", "--check", str(signed), "--signers", str(tmp_path / "none")]) == 1
    assert "there is no list of signers" in capsys.readouterr().err


def test_without_ssh_keygen_it_says_so(folder, tmp_path, keys, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["bundle", RUN_ID, "--output", str(tmp_path / "a.zip"), "--sign", str(keys["ada"])]) == 3
    assert "ssh-keygen, which OpenSSH brings, is not installed" in capsys.readouterr().err
