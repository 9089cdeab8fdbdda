"""A switch's own view of the root folder, so that no command on the switch writes the host.

Two ways, in this order:

* **namespace**: user, mount, UTS and process namespaces of the switch. The user who started it is `admin` (1000)
  inside, has no power over the host, also when that user is root, and sees the host read-only; `/etc/sonic`,
  `/usr/share/sonic`, `/sys/class/net`, `/var`, `/tmp`, `/home` and `/root` are the switch's folder. The kernel needs
  Linux 5.12 and must let this user make user namespaces (many containers do not).
* **environment**: no view at all. Commands find their files below $SONIC_ROOT; when root started the switch, it goes on
  as `nobody`, who may read every file (the checkout may lie below /root) and write only the switch's folder.

`decide` finds out by trying: a child process builds the whole view, so a refusal half-way changes nothing. Then
`enter`.
"""
from __future__ import annotations

import os
import pwd
import signal
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

from virtual_testbed.process import die_with_parent
from virtual_testbed.sonic import mounts, privileges

ADMIN_UID = 1000
NAMESPACE, ENVIRONMENT = "namespace", "environment"
# what of the view comes from which folder below the switch's root folder
OWN_FOLDERS = {"/var": "var", "/tmp": "tmp", "/home": "home", "/root": "root", "/sys/class/net": "sys/class/net"}
_OWN = "sonic"
# folders of the host that stay as they are but for this entry, which is the switch's
MIXED_FOLDERS = {"/etc": "etc/sonic", "/usr/share": "usr/share/sonic"}
_HIDDEN = ("/var", "/tmp", "/home", "/root", "/run", "/dev", "/sys/class/net")
_SKELETON = ("etc/sonic", "usr/share/sonic", "sys/class/net", "var/core", "var/log", "var/cache", "var/lib", "var/tmp",
             "tmp", "home/admin", "root", "run", "dev/shm")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_DEVICE_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
                 "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"}
_GUARDED_PROC = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi")
_HOST = Path("/run/host")
_PYTHON = Path("/usr/bin/python")
"""An image has it, and programs name it; a host need not."""


@dataclass(frozen=True)
class Layout:
    """What a view is made of.

    Attributes:
        root: the switch's folder; `skeleton` makes its sub-folders.
        host_name: name of the switch.
        keep: folders of the host that must stay readable at their paths, wherever they are.
        has_own_network: interfaces and network settings are its own too, and its commands may change them.
        python: what `/usr/bin/python` is, where the host has none; None: nothing.
    """

    root: Path
    host_name: str
    keep: tuple[Path, ...]
    has_own_network: bool = False
    python: Path | None = None


@dataclass(frozen=True)
class ViewDecision:
    """How a switch gets its root view (`namespace` or `environment`) and, in one sentence, why."""

    kind: str
    reason: str


def skeleton(root: Path) -> None:
    """Make the sub-folders that a view shows; existing content stays.

    What an earlier run without namespaces gave to `nobody` is taken back: inside a namespace that account is nobody.
    """
    for folder in _SKELETON:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for link, target in (("var/run", "/run"), ("var/lock", "/run/lock")):
        if not (root / link).is_symlink():
            (root / link).symlink_to(target)
    for folder in ("tmp", "var/tmp"):
        (root / folder).chmod(0o1777)
    if os.geteuid() == 0:
        _give(root, 0, 0)


def decide(layout: Layout, choice: str = "auto") -> ViewDecision:
    """Find out which way is possible, by building the whole view in a child process.

    Args:
        layout: the view.
        choice: `auto`, or `environment` to use no namespace.
    """
    if choice == ENVIRONMENT:
        return ViewDecision(ENVIRONMENT, "asked for")
    refusal = _refusal(layout)
    if refusal:
        return ViewDecision(ENVIRONMENT, f"no namespaces here: {refusal}")
    return ViewDecision(NAMESPACE, "the kernel lets this user make user and mount namespaces")


def enter(layout: Layout, decision: ViewDecision) -> ViewDecision:
    """Put the calling process, which must be single-threaded, into the switch's view.

    With namespaces the caller goes on as a grandchild; the original process only waits for it, hands SIGTERM on, and
    ends with its exit status. All processes of the view die with either of them.

    Args:
        layout: the view.
        decision: what `decide` found.

    Returns:
        `decision`, its reason completed.

    Raises:
        OSError: the kernel changed its mind since `decide`.
    """
    if decision.kind == ENVIRONMENT:
        return _environment(layout, decision.reason)
    _enter_namespaces(layout)
    return decision


def _refusal(layout: Layout) -> str:
    """Why the view cannot be built; empty when it can. Tried in a child, so this process stays as it is."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        message = ""
        try:
            os.close(reader)
            _new_namespaces(layout)
            grandchild = os.fork()
            if grandchild == 0:
                _report(writer, lambda: _build(layout))
            os.waitpid(grandchild, 0)
        except OSError as error:
            message = str(error)
        os.write(writer, message.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        message = stream.read().decode()
    os.waitpid(child, 0)
    return message


def _report(writer: int, action: object) -> None:
    """Run `action` in this forked child, write what went wrong, and end."""
    message = ""
    try:
        assert callable(action)
        action()
    except OSError as error:
        message = str(error)
    os.write(writer, message.encode())
    os._exit(0)


def _new_namespaces(layout: Layout) -> None:
    uid, gid = os.geteuid(), os.getegid()
    network = mounts.CLONE_NEWNET if layout.has_own_network else 0
    mounts.unshare(mounts.CLONE_NEWUSER | mounts.CLONE_NEWNS | mounts.CLONE_NEWUTS | mounts.CLONE_NEWPID | network)
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{ADMIN_UID} {uid} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{ADMIN_UID} {gid} 1", encoding="ascii")
    mounts.set_host_name(layout.host_name)


def _enter_namespaces(layout: Layout) -> None:
    """Returns in a grandchild only: process 1 of the new process namespace reaps orphans, the original waits."""
    _new_namespaces(layout)
    die_with_parent()
    first = os.fork()
    if first:
        _wait_as_parent(first)
    die_with_parent(expected_parent=0)
    _build(layout)
    server = os.fork()
    if server:
        _wait_as_first_process(server)
    die_with_parent(expected_parent=1)
    privileges.keep_capabilities([privileges.CAP_NET_ADMIN] if layout.has_own_network else [])
    privileges.no_new_privileges()


def _wait_as_parent(child: int) -> None:
    signal.signal(signal.SIGTERM, lambda number, frame: os.kill(child, signal.SIGTERM))
    signal.signal(signal.SIGINT, lambda number, frame: os.kill(child, signal.SIGTERM))
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _wait_as_first_process(server: int) -> None:
    signal.signal(signal.SIGTERM, lambda number, frame: os.kill(server, signal.SIGTERM))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        child, status = os.waitpid(-1, 0)
        if child == server:
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _build(layout: Layout) -> None:
    """Mount the view. Descriptors are opened before anything hides what they name."""
    mounts.mount("none", "/", None, mounts.MS_REC | mounts.MS_PRIVATE)
    _mount_proc()
    mounts.make_read_only("/")
    keep = {path: mounts.open_path(path) for path in layout.keep if _is_hidden(path)}
    own = {target: mounts.open_path(layout.root / source) for target, source in OWN_FOLDERS.items()}
    mixed = {target: mounts.open_path(layout.root / source) for target, source in MIXED_FOLDERS.items()}
    host = {name: mounts.open_path(f"/{name}") for name in ("etc", "usr")}
    devices = {name: mounts.open_path(f"/dev/{name}") for name in _DEVICES}
    _guard_proc()
    if layout.has_own_network:
        _bind_writable("/proc/sys/net")  # has the settings of whoever's network is looking
    _mount_run(host)
    _mount_devices(devices)
    for target, descriptor in own.items():
        mounts.bind(descriptor, target)
        mounts.make_writable(target)
    for target, descriptor in mixed.items():
        _mount_mixed(target, _OWN)
        _bind_own(target, descriptor)
    if layout.python is not None and not os.path.lexists(_PYTHON):
        _mount_mixed(str(_PYTHON.parent), _PYTHON.name)
        _PYTHON.symlink_to(layout.python)
        mounts.make_read_only(str(_PYTHON.parent))
    _write_accounts(layout)
    for path, descriptor in sorted(keep.items()):
        path.mkdir(parents=True, exist_ok=True)
        mounts.bind(descriptor, path)
    for descriptor in (*keep.values(), *own.values(), *mixed.values(), *host.values(), *devices.values()):
        os.close(descriptor)
    os.chdir("/")


def _is_hidden(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in _HIDDEN)


def _mount_proc() -> None:
    """Only the switch's processes; where a container masks parts of /proc the kernel insists on the host's /proc."""
    try:
        mounts.mount("proc", "/proc", "proc", mounts.MS_NOSUID | mounts.MS_NODEV | mounts.MS_NOEXEC)
    except PermissionError:
        return


def _guard_proc() -> None:
    """/proc itself must stay writable (uid_map of `sudo`), its switches of the host's kernel must not."""
    mounts.make_writable("/proc")
    for name in _GUARDED_PROC:
        path = Path("/proc") / name
        if path.exists():
            descriptor = mounts.open_path(path)
            mounts.bind(descriptor, path)
            mounts.make_read_only(path)
            os.close(descriptor)


def _bind_writable(path: str) -> None:
    descriptor = mounts.open_path(path)
    mounts.bind(descriptor, path)
    mounts.make_writable(path)
    os.close(descriptor)


def _mount_run(host: dict[str, int]) -> None:
    mounts.mount("tmpfs", "/run", "tmpfs", mounts.MS_NOSUID | mounts.MS_NODEV, "mode=755")
    Path("/run/lock").mkdir(mode=0o777)
    for name, descriptor in host.items():
        folder = _HOST / name
        folder.mkdir(parents=True)
        mounts.bind(descriptor, folder)


def _mount_devices(devices: dict[str, int]) -> None:
    mounts.mount("tmpfs", "/dev", "tmpfs", mounts.MS_NOSUID | mounts.MS_NOEXEC, "mode=755")
    for name, descriptor in devices.items():
        Path("/dev", name).touch()
        mounts.bind(descriptor, f"/dev/{name}")
        mounts.make_writable(f"/dev/{name}")
    for name, target in _DEVICE_LINKS.items():
        Path("/dev", name).symlink_to(target)
    Path("/dev/pts").mkdir()
    mounts.mount("devpts", "/dev/pts", "devpts", mounts.MS_NOSUID | mounts.MS_NOEXEC,
                 "newinstance,ptmxmode=0666,mode=620")
    Path("/dev/shm").mkdir()
    mounts.mount("tmpfs", "/dev/shm", "tmpfs", mounts.MS_NOSUID | mounts.MS_NODEV, "mode=1777")


def _mount_mixed(target: str, own: str) -> None:
    """A folder of links to the host's entries (below /run/host), but for the one whose name the switch's own has.

    Links and not binds: a mount per entry would be hundreds. A link of the host's is repeated as it is.
    """
    host = _HOST / target.lstrip("/")
    mounts.mount("tmpfs", target, "tmpfs", mounts.MS_NOSUID | mounts.MS_NODEV, "mode=755")
    for entry in os.scandir(host):
        if entry.name != own:
            os.symlink(os.readlink(entry.path) if entry.is_symlink() else entry.path, Path(target, entry.name))


def _bind_own(target: str, descriptor: int) -> None:
    """The switch's own entry of such a folder."""
    place = Path(target, _OWN)
    place.mkdir()
    mounts.bind(descriptor, place)
    mounts.make_writable(place)


def _write_accounts(layout: Layout) -> None:
    """Accounts and names of the switch, so that `~admin`, `id` and `hostname` answer as there."""
    files = {
        "passwd": f"root:x:0:0:root:/root:/bin/sh\nadmin:x:{ADMIN_UID}:{ADMIN_UID}:admin:/home/admin:/bin/sh\n"
                  "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
        "group": f"root:x:0:\nsudo:x:27:admin\nadmin:x:{ADMIN_UID}:\nnogroup:x:65534:\n",
        "hostname": f"{layout.host_name}\n",
        "hosts": f"127.0.0.1 localhost {layout.host_name}\n::1 localhost\n",
    }
    for name, text in files.items():
        path = Path("/etc", name)
        path.unlink(missing_ok=True)
        path.write_text(text, encoding="ascii")


def _environment(layout: Layout, reason: str) -> ViewDecision:
    """No view; root gives its power up for good."""
    if os.geteuid() != 0:
        return ViewDecision(ENVIRONMENT, reason)
    account = pwd.getpwnam("nobody")
    try:
        _give(layout.root, account.pw_uid, account.pw_gid)
        privileges.become_unprivileged(account.pw_uid, account.pw_gid)
    except OSError as error:  # root of a user namespace that maps one account only is not root on the host
        return ViewDecision(ENVIRONMENT, f"{reason}; commands stay with this account: {error.strerror or error}")
    die_with_parent()
    return ViewDecision(ENVIRONMENT, f"{reason}; commands run as {account.pw_name}")


def _give(path: Path, uid: int, gid: int) -> None:
    """Make a folder, with all in it, an account's."""
    os.lchown(path, uid, gid)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            os.lchown(os.path.join(folder, name), uid, gid)


def main() -> int:
    """A probe for people: print which way this machine allows and run a shell command there (arguments: ROOT
    COMMAND).
    """
    root = Path(sys.argv[1]).resolve()
    command = sys.argv[2]
    skeleton(root)
    keep = (Path(__file__).resolve().parents[2], Path(sys.prefix), Path(sys.base_prefix))
    try:
        layout = Layout(root, "probe", keep)
        decision = enter(layout, decide(layout, os.environ.get("SONIC_ROOT_VIEW", "auto")))
    except OSError:
        traceback.print_exc()
        return 1
    print(f"{decision.kind}: {decision.reason}", flush=True)
    os.execv("/bin/sh", ["/bin/sh", "-c", command])


if __name__ == "__main__":
    sys.exit(main())
