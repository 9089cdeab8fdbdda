"""What a switch says about priorities, and the watchdog, under sonic-mgmt's fixture names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.common.devices.duthosts import DutHosts
from tests.common.pfc.lab.restore import SwitchRestorer
from tests.common.pfc.record.records import new_run_id


@pytest.fixture(scope="module")
def config_facts(duthosts: DutHosts, rand_one_dut_front_end_hostname: str) -> dict[str, Any]:
    """CONFIG_DB of one switch; two-part keys are nested."""
    return duthosts[rand_one_dut_front_end_hostname].get_running_config_facts()


@pytest.fixture(scope="module")
def prio_dscp_map(config_facts: dict[str, Any]) -> dict[int, list[int]] | None:
    """Priority -> DSCP values; None where the switch has not exactly one DSCP map."""
    maps = list(config_facts.get("DSCP_TO_TC_MAP", {}).values())
    if len(maps) != 1:
        return None
    priorities: dict[int, list[int]] = {}
    for dscp, priority in maps[0].items():
        priorities.setdefault(int(priority), []).append(int(dscp))
    return priorities


@pytest.fixture(scope="module")
def all_prio_list(prio_dscp_map: dict[int, list[int]] | None) -> list[int] | None:
    """Priorities that some DSCP value reaches."""
    return None if prio_dscp_map is None else list(prio_dscp_map)


@pytest.fixture(scope="module")
def lossless_prio_list(config_facts: dict[str, Any]) -> list[int] | None:
    """Priorities with PFC enabled on the first port; None where it has none."""
    ports = {name: row for name, row in config_facts.get("PORT_QOS_MAP", {}).items() if name != "global"}
    enabled = next((str(row.get("pfc_enable", "")) for row in ports.values()), "")
    return [int(priority) for priority in enabled.split(",")] if enabled else None


@pytest.fixture(scope="module")
def lossy_prio_list(all_prio_list: list[int] | None, lossless_prio_list: list[int] | None) -> list[int] | None:
    """Priorities that some DSCP value reaches and that have no PFC."""
    if all_prio_list is None:
        return None
    return [priority for priority in all_prio_list if priority not in (lossless_prio_list or [])]


@pytest.fixture
def disable_pfcwd(duthosts: DutHosts) -> Iterator[None]:
    """The watchdog is stopped on every switch during a test, and put back as it was found."""
    with ExitStack() as stack:
        for duthost in duthosts:
            stack.enter_context(SwitchRestorer(duthost, new_run_id()).watchdog_stopped())
        yield
