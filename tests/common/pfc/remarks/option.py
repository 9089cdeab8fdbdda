"""What is remarkable in the configuration of a port: for whoever reads its verdicts; and what keeps it from being
measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..cases.watchdog.watched import FIELD, watched
from ..lab.option import Option
from ..lab.port_plan import PortPlan, PortRequest
from ..model.errors import QualificationError
from ..model.numbered_rows import numbers_by_key
from ..model.ports import ConnectedPort
from ..model.qos import PRIORITIES, ConfigDb, PortQos


class RemarksOption(Option):
    """The remarks stand in the report of a run."""

    def planned(self, plan: PortPlan, ports: Sequence[ConnectedPort], asked: PortRequest) -> PortPlan:
        """The plan with those of the configuration as it was found; raises QualificationError where that tells the port
        to do something else than PFC."""
        check_settings(plan.state.config_db, plan.subject.pair.rx)
        return replace(plan, remarks=(*plan.remarks, *remarks(plan.state.config_db, plan.subject.qos)))


def check_settings(config_db: ConfigDb, port: ConnectedPort) -> None:
    """Raises QualificationError where pauses of all priorities hold on a port, or every lossless frame is dropped."""
    if config_db.get("PORT", {}).get(port.port, {}).get("pfc_asym") == "on":
        raise QualificationError(
            f"{port.device} {port.port}: PORT|{port.port} pfc_asym is on in CONFIG_DB, so it obeys pauses of all"
            f" priorities: expected off, as after `config interface pfc asymmetric {port.port} off`"
        )
    if config_db.get("PFC_WD", {}).get("GLOBAL", {}).get("BIG_RED_SWITCH") == "enable":
        raise QualificationError(
            f"{port.device}: PFC_WD|GLOBAL BIG_RED_SWITCH is enable in CONFIG_DB, so every lossless frame is dropped:"
            " expected disable, as after `pfcwd big_red_switch disable`"
        )


def remarks(config_db: ConfigDb, qos: PortQos) -> list[str]:
    """What a port's configuration has that whoever reads the verdicts should know: one sentence each.

    Priorities that no DSCP value reaches carry no data. The watchdog may leave lossless ones alone. And `QUEUE` may
    disagree with `PORT_QOS_MAP` about what is lossless: SONiC gives lossless queues, and only those, a WRED profile
    with LOSSLESS in its name. A port none of whose queues has one says nothing.
    """
    found = []
    unreached = [priority for priority in PRIORITIES if priority not in qos.dscps]
    if unreached:
        listed = ", ".join(map(str, unreached))
        found.append(
            f"{qos.where(unreached[0]) if len(unreached) == 1 else f'{qos.device} {qos.port} priorities {listed}'}: no"
            f" DSCP value leads there (DSCP_TO_TC_MAP|{qos.dscp_map}), so no data is sent there"
        )
    if unwatched := [priority for priority in qos.lossless if priority not in watched(qos)]:
        row = config_db["PORT_QOS_MAP"][qos.port]
        found.append(
            f"{qos.device} {qos.port} has lossless priorities that the watchdog does not watch when it runs,"
            f" {unwatched}: its row of PORT_QOS_MAP has"
            f" {f'{FIELD} {row[FIELD]!r}' if FIELD in row else f'no {FIELD}'}"
        )
    marked = _lossless_queues(config_db, qos.port)
    if marked and marked != set(qos.lossless):
        found.append(
            f"{qos.device} {qos.port}: QUEUE gives a lossless WRED profile to queues {sorted(marked)}, and PORT_QOS_MAP"
            f" enables PFC for queues {list(qos.lossless)}: they disagree about what is lossless; PORT_QOS_MAP is taken"
        )
    return found


def _lossless_queues(config_db: ConfigDb, port: str) -> set[int]:
    """Queues of a port that have a lossless WRED profile."""
    return {
        queue for key, queues in numbers_by_key(config_db, "QUEUE", port).items() for queue in queues
        if "LOSSLESS" in str(config_db["QUEUE"][key].get("wred_profile", "")).upper()
    }


OPTION = RemarksOption()
