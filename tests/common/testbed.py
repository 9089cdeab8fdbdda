"""Reads testbed files, in sonic-mgmt's classic form (`conf-name`, `dut`, `ptf_ip`) and its newer one (`name`, `duts`,
`tgs`, `tg_api_server`)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from tests.common.errors import LabError

TestbedEntry = dict[str, Any]


class TestbedInfo:
    """A testbed file."""

    __test__ = False

    def __init__(self, testbed_file: Path) -> None:
        """Reads and checks the file.

        Raises:
            LabError: it is not there or no list of entries with names and switches.
        """
        self.path = testbed_file
        self.testbed_topo: dict[str, TestbedEntry] = {}
        for entry in self._entries():
            testbed = self._normalize(entry)
            self.testbed_topo[testbed["conf-name"]] = testbed

    def entry(self, name: str | None) -> TestbedEntry:
        """The testbed `name`.

        Raises:
            LabError: there is none; the sentence lists those that the file has.
        """
        valid = ", ".join(sorted(self.testbed_topo)) or "none"
        if not name:
            raise LabError(f"no testbed was named: --testbed takes one of {valid} (testbed file {self.path})")
        if name not in self.testbed_topo:
            raise LabError(f"testbed {name!r} is not in {self.path}, which has {valid}")
        return self.testbed_topo[name]

    def _entries(self) -> list[dict[str, Any]]:
        try:
            content = yaml.safe_load(self.path.read_text(encoding="utf-8"))
        except OSError as error:
            raise LabError(f"testbed file {self.path} cannot be read: {error.strerror}") from error
        except yaml.YAMLError as error:
            raise LabError(f"testbed file {self.path} is no YAML: {' '.join(str(error).split())}") from error
        if not isinstance(content, list) or not all(isinstance(entry, dict) for entry in content):
            raise LabError(f"testbed file {self.path} holds no list of testbed entries")
        return content

    def _normalize(self, entry: dict[str, Any]) -> TestbedEntry:
        """One shape for both forms: sonic-mgmt's `tbinfo`. Keys of its own an entry keeps."""
        testbed = dict(entry)
        name = entry.get("conf-name") or entry.get("name")
        duts = entry.get("dut") or entry.get("duts")
        if not name or not duts:
            raise LabError(
                f"testbed file {self.path}: an entry lacks"
                f" {'its name (conf-name)' if not name else f'its switches (dut): {name}'}"
            )
        testbed["conf-name"] = str(name)
        testbed["duts"] = [str(dut) for dut in (duts if isinstance(duts, list) else [duts])]
        testbed["duts_map"] = {dut: index for index, dut in enumerate(testbed["duts"])}
        testbed["ptf_ip"] = str(entry.get("ptf_ip", "")).split("/")[0]
        testbed["topo"] = {"name": str(entry.get("topo", "")), "type": topology_type(str(entry.get("topo", "")))}
        return testbed


def topology_type(topology: str) -> str:
    """`t0` of `vms-t0-32`, `tgen` of `tgen-t0-32`; the whole name where it says none of sonic-mgmt's types."""
    match = re.search(r"(?:^|-)(tgen|ptf|t0|t1|t2|mgmttor|any)", topology)
    return match[1] if match else topology
