"""A switch whose commands run in a real shell, in a folder that is its home directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOUND = {
    "GLOBAL": {"POLL_INTERVAL": "200"},
    "Ethernet0": {"action": "drop", "detection_time": "200", "restoration_time": "200"},
}
PFCWD = """\
import json, sys
rows = json.load(open("config_db.json"))
rows["PFC_WD"] = {key: row for key, row in rows["PFC_WD"].items() if key == "GLOBAL"}
json.dump(rows, open("config_db.json", "w"))
"""
CONFIG = """\
import json, sys
assert sys.argv[1] == "load" and sys.argv[3] == "-y", sys.argv
rows = json.load(open("config_db.json"))
for table, content in json.load(open(sys.argv[2])).items():
    for key, row in content.items():
        rows.setdefault(table, {}).setdefault(key, {}).update(row)
json.dump(rows, open("config_db.json", "w"))
"""
DB_CLI = """\
import json, os, sys
if sys.argv[1] == "APPL_DB":  # as buffermgrd has it: so many readings late
    late = int(open("late").read()) if os.path.exists("late") else 0
    if sys.argv[2] == "KEYS" and late:
        open("late", "w").write(str(late - 1))
    elif sys.argv[2] == "KEYS":
        open("followed.json", "w").write(open("config_db.json").read())
    tables = json.load(open("followed.json"))
    rows = {port + ":" + number: "derived" for port, row in tables.get("PORT_QOS_MAP", {}).items()
            for number in row.get("pfc_enable", "").split(",") if number}
    rows |= {key.replace("|", ":"): row["profile"] for key, row in tables.get("BUFFER_PG", {}).items()}
    name = sys.argv[3].removeprefix("BUFFER_PG_TABLE:")
    print(rows[name] if sys.argv[2] == "HGET" else "\\n".join("BUFFER_PG_TABLE:" + row for row in rows))
    sys.exit()
assert sys.argv[1] == "CONFIG_DB", sys.argv
rows = json.load(open("config_db.json"))
for name in sys.argv[3:] if sys.argv[2] == "DEL" else sys.argv[3:4]:
    table, key = name.split("|", 1)
    if sys.argv[2] == "HGET":
        print(rows.get(table, {}).get(key, {}).get(sys.argv[4], ""))
    elif sys.argv[2] == "HSET":
        rows.setdefault(table, {}).setdefault(key, {})[sys.argv[4]] = sys.argv[5]
        print(sys.argv[5], file=open("written", "a"))
    elif sys.argv[2] == "DEL":
        rows.get(table, {}).pop(key, None)
    else:
        row = rows.get(table, {}).pop(key, {})
        left = {name: value for name, value in row.items() if name not in sys.argv[4:]}
        if left:
            rows[table][key] = left
json.dump(rows, open("config_db.json", "w"))
"""


class Clock:
    """Time that passes only while someone waits."""

    exact = True

    def __init__(self) -> None:
        self.time = 0.0

    def moment(self) -> float:
        """As `now`."""
        return self.now()

    def now(self) -> float:
        """Seconds."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Time passes."""
        self.time += seconds


class ShellHost:
    """A switch whose home directory is a folder, with a few of its commands."""

    hostname = "vtb-t0-01"

    def __init__(self, home: Path) -> None:
        """`home` is the folder."""
        self.home = home

    @classmethod
    def installed(cls, home: Path) -> ShellHost:
        """A switch in an empty folder, with its watchdog running."""
        switch = cls(home)
        (home / "bin").mkdir()
        switch.configure(FOUND)
        switch.command("pfcwd", PFCWD)
        switch.command("config", CONFIG)
        switch.command("sonic-db-cli", DB_CLI)
        switch.command("sonic-cfggen", "print(open('config_db.json').read())")
        return switch

    def command(self, name: str, program: str) -> None:
        """Installs a command."""
        path = self.home / "bin" / name
        path.write_text(f"#!{sys.executable}\n{program}")
        path.chmod(0o755)

    def configure(self, watchdog: Mapping[str, Any], **tables: Mapping[str, Any]) -> None:
        """Sets the watchdog's configuration, and other tables."""
        (self.home / "config_db.json").write_text(json.dumps({"PFC_WD": watchdog, **tables}))

    def config_db(self) -> dict[str, Any]:
        """The configuration."""
        return dict(json.loads((self.home / "config_db.json").read_text()))

    def late(self, readings: int) -> None:
        """Lets buffermgrd hand on what comes now only after so many readings of APPL_DB."""
        (self.home / "followed.json").write_text(json.dumps(self.config_db()))
        (self.home / "late").write_text(str(readings))

    def shell(self, command: str, **options: Any) -> dict[str, Any]:
        """Runs a script as Ansible's module does."""
        environment = {**os.environ, "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=self.home, env=environment, capture_output=True, text=True, check=False
        )
        return {"stdout": done.stdout.rstrip("\n"), "stderr": done.stderr, "rc": done.returncode}
