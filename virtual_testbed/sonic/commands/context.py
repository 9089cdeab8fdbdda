"""What a command knows of the switch that it runs on, and how it ends.

The wrapper that starts a command names a JSON file in $SONIC_CONTEXT (`virtual_testbed.sonic.command_wrappers` writes
it).
"""
from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NoReturn

from virtual_testbed.sonic.databases import Config, connect, natural, read_config, read_hash
from virtual_testbed.sonic.profile import Profile, load_profile
from virtual_testbed.sonic.resp import Connection, DatabaseError

ADMIN_UID = 1000
ROOT_NEEDED = "Root privileges are required for this operation"


@dataclass(frozen=True)
class SwitchContext:
    """The switch that a command runs on. `root` is empty where it has its own root view, else the folder that stands
    for `/`.
    """

    name: str
    hwsku: str
    redis_socket: str
    root: str
    mac: str

    def path(self, path: str) -> Path:
        """Where an absolute path of the switch is, such as `/etc/sonic/config_db.json`."""
        return Path(self.root + path)

    def connect(self, database: str) -> Connection:
        """A connection to a database by SONiC's name. Raises DatabaseError."""
        return connect(self.redis_socket, database)

    def file(self, name: str) -> Path:
        """A file that a user named: SONiC's folders are the switch's also where there is no root view."""
        return self.path(name) if name.startswith(("/etc/sonic/", "/usr/share/sonic/")) else Path(name)

    @cached_property
    def config(self) -> Connection:
        """CONFIG_DB."""
        return self.connect("CONFIG_DB")

    @cached_property
    def counters(self) -> Connection:
        """COUNTERS_DB."""
        return self.connect("COUNTERS_DB")

    @cached_property
    def profile(self) -> Profile:
        """What the hardware is."""
        return load_profile(self.hwsku)

    @cached_property
    def image(self) -> dict[str, str]:
        """What the image says of itself."""
        import yaml
        return dict(yaml.safe_load(self.path("/etc/sonic/sonic_version.yml").read_text(encoding="utf-8")))

    @property
    def asic_type(self) -> str:
        """Whose chip the image is made for."""
        return self.image["asic_type"]

    def running(self) -> Config:
        """The whole CONFIG_DB."""
        return read_config(self.config)

    @cached_property
    def port_oids(self) -> dict[str, str]:
        """Object ids of the ports that have counters, in natural order of their names."""
        oids = read_hash(self.counters, "COUNTERS_PORT_NAME_MAP")
        return {port: oids[port] for port in sorted(oids, key=natural)}

    def ports(self) -> list[str]:
        """Ports that have counters, in natural order."""
        return list(self.port_oids)


def this_switch() -> SwitchContext:
    """The switch that the wrapper named."""
    data = json.loads(Path(os.environ["SONIC_CONTEXT"]).read_text(encoding="utf-8"))
    return SwitchContext(**{name: data[name] for name in ("name", "hwsku", "redis_socket", "root", "mac")})


def is_root() -> bool:
    """True below `sudo`. Where no namespace lets it change the account, the environment says so."""
    if os.environ.get("SONIC_VIEW") == "environment":
        return "SUDO_UID" in os.environ and os.environ.get("USER") == "root"
    return os.geteuid() == 0


def user_id() -> int:
    """The account as a switch numbers it: 0 for root, 1000 for admin."""
    return 0 if is_root() else ADMIN_UID


def require_root() -> None:
    """End as SONiC's commands do when the user is not root."""
    if not is_root():
        sys.exit(ROOT_NEEDED)


def run(main: Callable[[], object]) -> NoReturn:
    """Run a command; a Redis that does not answer is one sentence, not a traceback."""
    try:
        try:
            main()
        finally:  # click ends with SystemExit
            sys.stdout.flush()
    except DatabaseError as error:
        sys.exit(f"error: {error}")
    except BrokenPipeError:  # `show ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    sys.exit(0)
