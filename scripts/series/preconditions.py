"""What has to be there before the cases of a change can be carried out, and what is ERROR where it is not."""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.common.pfc.cases.changed_switch import CHANGEABLE
from tests.common.pfc.cases.engine import Targets
from tests.common.pfc.cases.plan import procedures

QUALIFICATION = "docs/qualification.md"
CAUSES = "| cause of an ERROR | how it is noticed |"
CHANGED = "a switch whose configuration may be changed: `--pfc-change-config`"
ALWAYS = (
    "two ports of the switch that are up and have one speed, each with a traffic generator behind it, in the files of"
    " the lab as `get_snappi_ports` reads them: the port under test (`--pfc-port`; default: the first one) and the one"
    " that data enters by (`--pfc-tx-port`)",
    "the second one on another generator (chassis) than the port under test; where the lab has one generator,"
    " `--pfc-same-generator` lets data enter by a port of the same",
    "an address for each of both ports, of its own or of its VLAN (`--pfc-ip-version 6`: of IPv6). The change"
    " `addresses` gives one for the run to a port without any, with `--pfc-change-config`",
    "PFC for at least one priority of both ports (`PORT_QOS_MAP`), DSCP values that lead to it and to a priority"
    " without PFC (`DSCP_TO_TC_MAP`), and polled counters of ports and queues",
)
OF_FAMILY = {
    "PFC": "for an item of PFC-1 for each lossless priority `tests/priority/<testbed>-lossless.json`, which"
           " `test_pretest.py` writes; without it one item plans the priorities when it runs",
    "HEAD": "a generator whose reaction to pauses can be delayed (OTG `pfc_delay`)",
    "SENT": "a generator that captures what its ports receive, as pcap or pcapng",
    "FLAP": "a generator that takes the link of a port down and up again",
    "SWEEP": "generators behind all ports that are to be measured (`--pfc-ports`); carried out only where"
             " `--pfc-scenario SWEEP` or the module of tests asks for it",
}
"""What code does not say of a family."""


def preconditions(plan_ids: Iterable[str]) -> list[str]:
    """What cases need: first what all do, then what some do, with their plan ids."""
    asked = list(plan_ids)
    needs: dict[str, list[str]] = {}
    for case, procedure in procedures().items():
        for need in _needs(procedure.targets) if case.plan_id in asked else ():
            needs.setdefault(need, []).append(case.plan_id)
    families = dict.fromkeys(plan_id.partition("-")[0] for plan_id in asked)
    return [*ALWAYS, *(f"{family}: {OF_FAMILY[family]}" for family in families if family in OF_FAMILY),
            *(f"{', '.join(sorted(ids, key=asked.index))}: {need}" for need, ids in needs.items())]


def _needs(targets: Targets | None) -> Iterator[str]:
    """What a port has to have for a case, as its note says it where it has not."""
    while targets is not None:
        if targets.needs:
            yield targets.needs.replace(CHANGEABLE, CHANGED)
        targets = targets.wider


def causes_of_error(root: Path) -> list[str]:
    """The rows of the page's table: what keeps a run from being a measurement. `root`: the checkout."""
    text = (root / QUALIFICATION).read_text(encoding="utf-8")
    table = text[text.index(CAUSES):].partition("\n\n")[0]
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", table).splitlines()
