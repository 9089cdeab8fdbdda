"""How the comparison of commands with SONiC's own treats its switch. Nothing of SONiC is needed."""
from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from scripts.against_sonic import tools
from scripts.against_sonic.tools import CommandEnd


def test_configuration_is_put_back_without_a_restart_of_the_services(monkeypatch):
    lines: list[str] = []

    def run(self, given, theirs):
        lines.extend(given)
        return {line: CommandEnd(0, "") for line in given}

    monkeypatch.setattr(tools._Switch, "run", run)
    switch = tools._Switch(SimpleNamespace(), Path("/programs"))
    switch.change("sudo pfcwd stop", theirs=False)
    assert "config reload" in lines[-1], f"CONFIG_DB is put back last: {lines}"
    assert {"-n", "--no_service_restart"} & set(lines[-1].split()), f"the services restart: {lines[-1]}"
