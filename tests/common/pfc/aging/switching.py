"""Has a switch hold frames for as long as they are paused, while it is reserved."""

from __future__ import annotations

from ..lab.dut import Dut
from ..lab.reservation import ReservationLost
from ..model.errors import QualificationError, SwitchUnreachable
from .vendors import KIND, Aging, aging_of


class AgingSwitch:
    """What drops held frames on one switch, known once for a reservation."""

    def __init__(self, dut: Dut) -> None:
        """Nothing is changed yet.

        Raises:
            QualificationError: the switch cannot be read.
        """
        self._aging = aging_of(dut.ask({"asic": KIND})["asic"])

    def switch_off(self, dut: Dut) -> str:
        """Switches it off where it is on. What brings it back is written down first: it is put back with the watchdog.

        Returns:
            Why frames that are held may be dropped all the same; empty: they are not.

        Raises:
            ReservationLost: the switch is not this run's any more.
            QualificationError: it cannot be reached, or what was found cannot be written down; nothing was changed.
        """
        if self._aging is None:
            return ""
        try:
            found = self._read(dut, self._aging)
            if not self._aging.lasts(found):
                return ""
        except (ReservationLost, SwitchUnreachable):
            raise
        except QualificationError as error:
            return self._sentence(self._aging, "is unknown", str(error))
        assert dut.reservation is not None, f"{dut.name}: {self._aging.name} is switched without a reservation"
        dut.reservation.scripts.setdefault(self._aging.key, self._aging.on(found))
        dut.ask({"lease": dut.guarded(dut.reservation.write())})
        try:
            dut.ask({"aging-off": dut.guarded(f"( {self._aging.off}\n)")})
            is_on = self._aging.lasts(self._read(dut, self._aging))
        except (ReservationLost, SwitchUnreachable):
            raise
        except QualificationError as error:
            return self._sentence(self._aging, "could not be switched off", str(error))
        return self._sentence(self._aging, "is on although it was switched off", "") if is_on else ""

    def _read(self, dut: Dut, aging: Aging) -> str:
        """What its state is.

        Raises:
            QualificationError: the switch does not say.
        """
        text = dut.ask({"aging": aging.read})["aging"]
        try:
            aging.lasts(text)
        except (ValueError, LookupError, TypeError) as error:
            said = next((line for line in text.splitlines() if line.strip()), "nothing")
            raise QualificationError(f"{dut.name}: `aging` printed {said!r}") from error
        return text

    @staticmethod
    def _sentence(aging: Aging, what: str, why: str) -> str:
        return f"{aging.name} {what}{f' ({why})' if why else ''}; that needs {aging.needs}"
