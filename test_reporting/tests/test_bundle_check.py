"""What is changed in a bundle is found, whoever changed it; whatever else is given for a bundle is one sentence."""
from __future__ import annotations

import stat
import zipfile

import pytest

from test_reporting.pfc import bundle
from test_reporting.pfc.cli import main
from test_reporting.tests.bundle_samples import CAPTURE, rewrite
from test_reporting.tests.samples import RUN_ID


@pytest.mark.parametrize("change, sentence", [
    (lambda found: [(name, content.replace(b"PASS", b"FAIL")) for name, content in found], "records.jsonl is changed"),
    (lambda found: [one for one in found if not one[0].endswith(".pcap")], f"{CAPTURE} is missing"),
    (lambda found: [*found, (f"{RUN_ID}/evidence/more.txt", b"")], f"{RUN_ID}/evidence/more.txt is not listed in "),
    (lambda found: [*found, ("../../etc/cron.d/x", b"")], "../../etc/cron.d/x has a name that leads elsewhere"),
    (lambda found: [*found, ("/etc/cron.d/x", b"")], "/etc/cron.d/x has a name that leads elsewhere"),
    (lambda found: [*found, (f"{RUN_ID}/../x", b"")], f"{RUN_ID}/../x has a name that leads elsewhere"),
    (lambda found: [(name, content.replace(b"0", b"1", 1) if name.endswith("SUMS") else content)
                    for name, content in found], " is changed"),
])
def test_what_is_changed_missing_or_extra_is_named(packed, capsys, change, sentence):
    rewrite(packed, change)
    assert main(["bundle", "--check", str(packed)]) == 1
    said = capsys.readouterr().err
    assert f"error: {packed}: " in said and sentence in said


def test_a_file_that_is_there_twice_is_named(packed, capsys):
    with pytest.warns(UserWarning, match="Duplicate name"):
        rewrite(packed, lambda found: [*found, (f"{RUN_ID}/run.json", b"{}")])
    assert main(["bundle", "--check", str(packed)]) == 1
    assert f"{RUN_ID}/run.json is there 2 times" in capsys.readouterr().err


def test_every_byte_counts(packed, capsys):
    """A bit of the data of a file is another: it is named, or the whole is no bundle any more."""
    whole = packed.read_bytes()
    with zipfile.ZipFile(packed) as archive:
        places = [info.header_offset + 30 + len(info.filename) + len(info.extra or b"") + 25
                  for info in archive.infolist() if info.compress_size > 40]
    assert len(places) > 4
    for place in places:
        packed.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1:])
        assert main(["bundle", "--check", str(packed)]) in (1, 3)
    packed.write_bytes(whole)
    assert main(["bundle", "--check", str(packed)]) == 0


@pytest.mark.parametrize("content, sentence", [
    (b"not a zip file", "is no bundle: File is not a zip file"),
    (None, "cannot be read: No such file or directory"),
    ({"a/b.txt": b""}, "is no bundle: it has no SHA256SUMS in a folder, expected one"),
    ({"a/SHA256SUMS": b"", "b/SHA256SUMS": b""}, "is no bundle: it has 2 SHA256SUMS in a folder, expected one"),
    ({"a/SHA256SUMS": b"rubbish"}, "SHA256SUMS cannot be read, so nothing can be compared: line 1 is no digest"),
])
def test_what_is_no_bundle_is_refused(tmp_path, capsys, content, sentence):
    path = tmp_path / "x.zip"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in content.items():
                archive.writestr(name, data)
    assert main(["bundle", "--check", str(path)]) == 3
    assert f"{path}{':' if 'nothing can' in sentence else ''} {sentence}" in capsys.readouterr().err


@pytest.mark.parametrize("also", [[RUN_ID], ["--output", "y.zip"], ["--results", "results"], ["--overwrite"]])
def test_a_bundle_is_checked_and_nothing_else(packed, capsys, also):
    assert main(["bundle", "--check", str(packed), *also]) == 3
    assert "error: bundle --check takes the name of a bundle and nothing but --signers" in capsys.readouterr().err


def test_control_characters_do_not_reach_the_terminal(packed, capsys):
    rewrite(packed, lambda found: [*found, (f"{RUN_ID}/\x1b[2J\u202e", b"")])
    assert main(["bundle", "--check", str(packed)]) == 1
    said = capsys.readouterr().err
    assert f"{RUN_ID}/\\x1b[2J\\u202e is not listed" in said and "\x1b" not in said and "\u202e" not in said
    assert main(["show", "\x1b[2J"]) == 3 and "\x1b" not in capsys.readouterr().err


def test_a_name_that_is_listed_twice_is_named(packed, capsys):
    wrong = f"{'0' * 64}  run.json\n".encode()
    rewrite(packed, lambda found: [(name, wrong + content if name.endswith("SUMS") else content)
                                   for name, content in found])
    assert main(["bundle", "--check", str(packed)]) == 1
    assert "run.json is listed twice in SHA256SUMS" in capsys.readouterr().err


def test_a_link_is_named(packed, capsys):
    with zipfile.ZipFile(packed, "a") as archive:
        link = zipfile.ZipInfo(f"{RUN_ID}/evidence/link")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    assert main(["bundle", "--check", str(packed)]) == 1
    assert f"{RUN_ID}/evidence/link is a link, or no file" in capsys.readouterr().err


def encrypted(data):
    """The flag of encryption set in the last entry of the directory: the list of digests."""
    place = data.rindex(b"PK\1\2") + 8
    return data[:place] + b"\1" + data[place + 1:]


def unknown_packing(data):
    place = data.rindex(b"PK\1\2") + 10
    return data[:place] + b"\x63" + data[place + 1:]


def no_utf8(data):
    """A name that says that it is UTF-8, and is not."""
    place = data.rindex(b"PK\1\2")
    return data[:place + 9] + bytes([data[place + 9] | 8]) + data[place + 10:place + 46] + b"\xff" + data[place + 47:]


@pytest.mark.parametrize("damage, says", [
    (encrypted, "encrypted"), (unknown_packing, "compression"), (no_utf8, "is no bundle: 'utf-8' codec can't decode"),
    (lambda data: data[:data.index(b"PK\1\2") + 20], "is no bundle")])
def test_a_damaged_file_is_one_sentence(packed, capsys, damage, says):
    packed.write_bytes(damage(packed.read_bytes()))
    assert main(["bundle", "--check", str(packed)]) == 3
    said = capsys.readouterr().err
    assert said.startswith(f"error: {packed}") and said.count("\n") == 1 and says in said


def test_a_list_of_digests_larger_than_any_run_needs_is_refused(packed, capsys, monkeypatch):
    monkeypatch.setattr(bundle, "MOST_SUMS", 100)
    assert main(["bundle", "--check", str(packed)]) == 3
    assert f"{packed}: SHA256SUMS is larger than 100 bytes, so nothing is compared" in capsys.readouterr().err
