"""Faults of the watchdog, and of what SONiC's agent carries down to the hardware and up into COUNTERS_DB.

The port named is the one whose watchdog, PFC or counters are meant.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from virtual_testbed.dataplane.counters import Sample
from virtual_testbed.dataplane.hooks import Fault, Scope
from virtual_testbed.faults.options import concerns

BELOW = 1000
_PFC_FIELD = re.compile(r"SAI_PORT_STAT_PFC_(\d)_")
_PFC_RECEIVED = re.compile(r"SAI_PORT_STAT_PFC_(\d)_RX_PKTS")


class WatchdogBlind(Fault):
    """The watchdog's polls see no pause: no storm is detected, one detected before is restored (buildimage#6530)."""

    name = "watchdog-blind"

    def watchdog_sees(self, queue: int, sample: Sample) -> Sample:
        """A queue that no pause frame ever reached."""
        return replace(sample, pfc_rx=0, on2off=0, paused=False, paused_ps=0)


class WatchdogLeaks(Fault):
    """The watchdog's action drop only switches PFC off, as forward does: frames pass (buildimage#8181, #21552)."""

    name = "watchdog-leaks"

    def watchdog_action(self, queue: int, action: str) -> str:
        """`forward` for `drop`."""
        return "forward" if action == "drop" else action


class WatchdogStopIgnored(Fault):
    """Removing the watchdog's configuration never reaches the data plane: it keeps running."""

    name = "watchdog-stop-ignored"

    def watchdog_removal_reaches_hardware(self, reaches: bool) -> bool:
        """Never."""
        return False


class PfcRemovalIgnored(Fault):
    """Removing a priority from `pfc_enable` never reaches the data plane: it stays lossless (sonic-swss#1055)."""

    name = "pfc-removal-ignored"

    def pfc_removal_reaches_hardware(self, reaches: bool) -> bool:
        """Never."""
        return False


class CountersFrozen(Fault):
    """COUNTERS_DB keeps the values that it had when the fault began: from the start, those of the start. With
    `priority` only its queue, its priority group and the port's PFC counters of it.
    """

    name = "counters-frozen"

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self._written: set[tuple[str, str]] = set()

    def published(self, key: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """Nothing, but for values that are not there yet when the switch starts."""
        return {name: value for name, value in fields.items() if not self._frozen(key, name)}

    def _frozen(self, key: str, name: str) -> bool:
        pfc = _PFC_FIELD.match(name)
        of_another = self.scope.priority is not None and ":" not in key and (
            pfc is None or not concerns(self, int(pfc[1])))
        if of_another:
            return False
        first = self.scope.from_ps == 0 and (key, name) not in self._written
        self._written.add((key, name))
        return not first


class CountersNegative(Fault):
    """PFC receive counters are published 1000 below what the hardware counted, so they begin negative, as after a
    clear that was taken off twice (buildimage#5206).
    """

    name = "counters-negative"

    def published(self, key: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """The PFC receive counters less 1000."""
        return {name: str(int(value) - BELOW) if self._meant(name) else value for name, value in fields.items()}

    def _meant(self, name: str) -> bool:
        received = _PFC_RECEIVED.fullmatch(name)
        return received is not None and concerns(self, int(received[1]))


FAULTS: tuple[type[Fault], ...] = (
    WatchdogBlind, WatchdogLeaks, WatchdogStopIgnored, PfcRemovalIgnored, CountersFrozen, CountersNegative)
