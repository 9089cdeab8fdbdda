"""The host is never written: sentinels, as the user who runs the tests and, when that is root, as nobody too."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from virtual_testbed.sonic import root_view
from virtual_testbed.tests.sonic.conftest import CHECKOUT

WRITES = """
echo mine > /etc/sonic/y; echo mine > /etc/host-not; echo mine > /tmp/sentinel-z; echo mine > /var/sentinel-w
echo mine > /usr/share/sonic/q; echo mine > {outside}/kept; rm -f {outside}/gone; touch {checkout}/sentinel-c
rm -f /etc/passwd; mkdir -p /home/admin/x /root/y; echo 1 > /proc/sys/kernel/domainname; touch /usr/sentinel-u
rm -f /proc/1/root/etc/host-not; exit 0
"""
HOST_FILES = ("/etc/sonic", "/etc/host-not", "/tmp/sentinel-z", "/var/sentinel-w", "/usr/share/sonic",
              "/usr/sentinel-u")


DECIDE = """
import pathlib, sys
from virtual_testbed.sonic import root_view
root = pathlib.Path(sys.argv[1])
root_view.skeleton(root)
found = root_view.decide(root_view.Layout(root, "probe", ()))
print("" if found.kind == root_view.NAMESPACE else found.reason)
"""


def require_namespaces(tmp_path):
    """In a process of its own: gRPC starts its threads again in what is forked from one that has used it, and a process
    with threads can make no user namespace."""
    ended = subprocess.run([sys.executable, "-c", DECIDE, str(tmp_path / "probe")], cwd=CHECKOUT, check=True,
                           capture_output=True, text=True)
    if ended.stdout.strip():
        pytest.skip(ended.stdout.strip())


def probe(python, root, command, account=None, view="auto"):
    words = [python, "-P", "-m", "virtual_testbed.sonic.root_view", str(root), command]
    if account:
        words = ["setpriv", f"--reuid={account}", f"--regid={account}", "--clear-groups", *words]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(CHECKOUT), "PYTHONDONTWRITEBYTECODE": "1",
                   "SONIC_ROOT_VIEW": view}
    return subprocess.run(words, capture_output=True, text=True, cwd="/", env=environment, timeout=60)


def nobodys_python():
    """A Python that nobody may run and that finds the checkout, or why there is none."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        return None
    for python in (sys.executable, "/usr/bin/python3"):
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", python, "-c",
             "import sys, virtual_testbed.sonic.root_view; sys.exit(sys.version_info < (3, 11))"],
            env={"PYTHONPATH": str(CHECKOUT), "PYTHONDONTWRITEBYTECODE": "1"}, cwd="/", capture_output=True)
        if done.returncode == 0:
            return python
    return None


@pytest.fixture(params=["me", "nobody"])
def account(request):
    if request.param == "me":
        return sys.executable, None
    python = nobodys_python()
    if python is None:
        pytest.skip("not root, or no Python here that nobody may run")
    return python, "65534"


@pytest.fixture
def folder(tmp_path, account):
    """A folder that the account owns and reaches (pytest's own is closed to others)."""
    if account[1] is None:
        yield tmp_path
        return
    import tempfile
    path = Path(tempfile.mkdtemp(prefix="vs-"))
    os.chown(path, 65534, 65534)
    yield path
    shutil.rmtree(path)


def test_no_command_writes_the_host(account, folder, tmp_path):
    require_namespaces(tmp_path)
    python, uid = account
    outside = folder / "outside"
    outside.mkdir()
    for name in ("kept", "gone"):
        (outside / name).write_text("host's")
    if uid:
        os.chown(outside, int(uid), int(uid))
    before = {path: os.path.lexists(path) for path in HOST_FILES}
    domain = Path("/proc/sys/kernel/domainname").read_text()
    done = probe(python, folder / "root", WRITES.format(outside=outside, checkout=CHECKOUT), uid)
    assert done.stdout.startswith("namespace: "), done
    assert done.returncode == 0
    assert {path: os.path.lexists(path) for path in HOST_FILES} == before
    assert (outside / "kept").read_text() == "host's" and (outside / "gone").exists()
    assert not (CHECKOUT / "sentinel-c").exists() and Path("/etc/passwd").exists()
    assert Path("/proc/sys/kernel/domainname").read_text() == domain
    root = folder / "root"
    assert (root / "etc/sonic/y").read_text() == (root / "tmp/sentinel-z").read_text() == "mine\n"
    assert (root / "var/sentinel-w").exists() and (root / "usr/share/sonic/q").exists()
    assert (root / "home/admin/x").is_dir() and (root / "root/y").is_dir()


def test_what_a_command_sees(account, folder, tmp_path):
    require_namespaces(tmp_path)
    python, uid = account
    root = folder / "root"
    root_view.skeleton(root)
    port = root / "sys/class/net/Ethernet0"
    port.mkdir()
    (port / "address").write_text("02:00:00:00:00:01\n")
    if uid:
        for path in (root, *root.rglob("*")):
            os.chown(path, int(uid), int(uid), follow_symlinks=False)
    command = ("id -un; hostname; cat /sys/class/net/*/address; echo ~admin; "
               f"test -f {CHECKOUT}/setup.cfg && echo checkout; test -e /etc/ld.so.cache && echo libraries; "
               "ls /proc | grep -c '^[0-9]'; echo x > /dev/null && echo device")
    lines = probe(python, root, command, uid).stdout.splitlines()
    assert lines[1:7] == ["admin", "probe", "02:00:00:00:00:01", "/home/admin", "checkout", "libraries"]
    assert int(lines[7]) < 10 and lines[8] == "device"


def test_all_processes_of_a_view_end_with_it(folder, tmp_path):
    require_namespaces(tmp_path)
    mark = f"86400.{os.getpid()}"
    done = probe(sys.executable, tmp_path / "root", f"setsid sleep {mark} > /dev/null 2>&1 & sleep 0.2; echo started")
    assert "started" in done.stdout
    running = [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in read_quietly(path)]
    assert running == []


def read_quietly(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_environment_when_asked_for(account, folder):
    python, uid = account
    done = probe(python, folder / "root", "id -u; echo x > /etc/host-not; exit 0", uid, view="environment")
    assert done.stdout.startswith("environment: asked for")
    assert done.stdout.splitlines()[1] == str(65534 if os.geteuid() == 0 else os.geteuid())
    assert not os.path.lexists("/etc/host-not")


def test_files_of_one_view_can_be_used_in_the_other(tmp_path):
    require_namespaces(tmp_path)
    root, write = tmp_path / "root", "umask 077; echo mine >> {}/etc/sonic/y && cat {}/etc/sonic/y"
    for lines, (view, place) in enumerate([("environment", root), ("auto", ""), ("environment", root)], start=1):
        done = probe(sys.executable, root, write.format(place, place), view=view)
        assert done.stdout.splitlines()[1:] == ["mine"] * lines, done.stderr


def test_root_keeps_one_capability_only(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("not root")
    command = "grep ^Cap /proc/self/status; cat /etc/shadow > /dev/null && echo read"
    done = probe(sys.executable, tmp_path / "root", command, view="environment")
    values = {line.split()[0]: int(line.split()[1], 16) for line in done.stdout.splitlines() if line.startswith("Cap")}
    assert set(values.values()) == {1 << 2} and done.stdout.endswith("read\n")


def test_refused_namespaces_lead_to_the_environment(tmp_path):
    if shutil.which("unshare") is None:
        pytest.skip("no unshare, so no way to refuse what is allowed")
    require_namespaces(tmp_path)
    command = "echo 0 > /proc/sys/user/max_user_namespaces; exec " + " ".join(
        [sys.executable, "-P", "-m", "virtual_testbed.sonic.root_view", str(tmp_path / "root"), "'echo runs'"])
    done = subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", command], capture_output=True, text=True,
                          cwd="/", env={**os.environ, "PYTHONPATH": str(CHECKOUT)}, timeout=60)
    assert "environment: no namespaces here: " in done.stdout and "No space left on device" in done.stdout
    assert done.stdout.endswith("runs\n")
