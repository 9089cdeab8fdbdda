"""One simulation of all moving parts of a testbed, in which time is advanced; and the runner of operations on it."""
from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Protocol, TypeVar

from virtual_testbed.dataplane.network import NetworkError, Overrun
from virtual_testbed.engine.clock import Late
from virtual_testbed.otg.errors import OtgError, internal_error
from virtual_testbed.otg.metrics import WINDOW_PS
from virtual_testbed.otg.simulation_clock import SimulationClock

T = TypeVar("T")
LOG = logging.getLogger(__name__)


class SimulationError(Exception):
    """A part of the testbed failed; `str()` is one sentence."""


class SimulationLate(SimulationError, Late):
    """The data plane takes too long; all parts stand at an earlier instant and go on from there."""


class Steppable(Protocol):
    """The data plane, as far as time is concerned."""

    @property
    def now_ps(self) -> int:
        """Simulated time."""

    def advance_to(self, time_ps: int) -> None:
        """Computes up to that instant."""


class Agent(Protocol):
    """The SONiC side of one switch."""

    def apply_configuration(self) -> bool:
        """Takes over what was written to CONFIG_DB before the call; True when something changed."""

    def next_stage_ps(self) -> int | None:
        """When something happens on a switch by itself, which `apply_configuration` has to see; None: never."""

    def awaited_ps(self) -> int | None:
        """Until when a command of the switch waits; None: none does."""

    def publish_states(self) -> None:
        """Writes the states that are visible without polling, as of now."""

    def due_polls(self, until_ps: int) -> Mapping[int, Collection[str]]:
        """Instants after now, up to and including `until_ps`, at which counters must be polled -> which ones."""

    def missed_polls(self, after_ps: int, made: Mapping[str, int]) -> Collection[str]:
        """Which counters had to be polled after an instant, up to now, and were not. `made`: which were since, and when
        for the last time.
        """

    def poll(self, groups: Collection[str]) -> None:
        """Writes these counters as of now."""


class Simulation:
    """Data plane, switches and generator statistics, advanced together.

    Args:
        network: the data plane.
        agents: for each switch what makes its agent; called again when an agent has failed.
        sample: notes the generators' counters, for rates.
    """

    def __init__(self, network: Steppable, agents: Mapping[str, Callable[[], Agent]],
                 sample: Callable[[], None]) -> None:
        self._network = network
        self._factories = agents
        self._agents: dict[str, Agent] = {}
        self._sample = sample
        self._broken = ""

    @property
    def now_ps(self) -> int:
        """Simulated time."""
        return self._network.now_ps

    @property
    def awaited_ps(self) -> int | None:
        """Until when a command of a switch waits, the one that waits the least long; None: none does."""
        found = (agent.awaited_ps() for agent in self._agents.values())
        return min((instant for instant in found if instant is not None), default=None)

    def refresh(self) -> None:
        """Applies the configuration changes made so far; a switch that changed shows its new state at once.

        Raises:
            SimulationError: a switch could not be asked.
        """
        self._check()
        for switch in self._factories:
            self._with_agent(switch, _take_over)

    def advance_to(self, time_ps: int) -> None:
        """Applies the configuration changes made so far, then computes up to that instant.

        On the way it stops where a switch polls counters, and polls them, and where a part of one comes up again.

        Raises:
            SimulationLate: the data plane takes too long; time stands still at an earlier instant, which the switches
                show.
            SimulationError: a switch could not be asked (time stands still then) or polled, or the data plane failed
                (for good).
        """
        self.refresh()
        while (stage_ps := self._next_stage_ps()) is not None and stage_ps < time_ps:
            self._advance_evenly_to(stage_ps)
            self.refresh()
        self._advance_evenly_to(time_ps)
        if stage_ps == time_ps:
            self.refresh()

    def _next_stage_ps(self) -> int | None:
        """When something happens next on a switch by itself, later than now: a refresh was there for the rest."""
        found = (self._with_agent(switch, lambda agent: agent.next_stage_ps()) for switch in self._factories)
        return min((instant for instant in found if instant is not None and instant > self.now_ps), default=None)

    def _advance_evenly_to(self, time_ps: int) -> None:
        """Computes up to that instant, with stops where switches poll counters."""
        begin_ps = self.now_ps
        made: dict[str, dict[str, int]] = {switch: {} for switch in self._factories}  # what was polled there -> when
        polls = {switch: dict(self._with_agent(switch, lambda agent: agent.due_polls(time_ps)))
                 for switch in self._factories}
        stops = {time_ps}.union(*polls.values())
        if time_ps - self.now_ps > WINDOW_PS:
            stops.add(time_ps - WINDOW_PS)
        try:
            for instant in sorted(stops):
                self._step_to(instant)
                for switch, due in polls.items():
                    if instant in due:
                        made[switch].update(dict.fromkeys(due[instant], instant))
                        self._poll(switch, due.pop(instant))
        except SimulationLate:
            self._poll_late(begin_ps, polls, made)
            raise

    def _poll_late(self, begin_ps: int, waiting: Mapping[str, Mapping[int, Collection[str]]],
                   made: Mapping[str, Mapping[str, int]]) -> None:
        """Makes up for polls before now that were left out since later ones were to come, and shows all states. `made`:
        those that were not.

        These states are approximate: counters are those of now, not of the instant at which they had to be polled, and
        of what lies between two polls only that is kept apart which was polled apart.
        """
        for switch, later in waiting.items():
            missed = self._with_agent(switch, lambda agent: agent.missed_polls(begin_ps, made[switch]))
            groups = set(missed) & set().union(*later.values())
            if groups:
                self._poll(switch, groups)
        self.publish()

    def _poll(self, switch: str, groups: Collection[str]) -> None:
        self._with_agent(switch, lambda agent: agent.poll(groups))

    def publish(self) -> None:
        """Writes the states that switches show without polling, as of now.

        Raises:
            SimulationError: a switch's database could not be written.
        """
        self._check()
        for switch in self._factories:
            self._with_agent(switch, lambda agent: agent.publish_states())

    def _step_to(self, time_ps: int) -> None:
        try:
            self._network.advance_to(time_ps)
            self._sample()
        except Overrun as error:
            raise SimulationLate(str(error)) from error
        except Exception as error:  # whatever it is, the state is not to be trusted any more: say so from now on
            LOG.exception("the data plane failed")
            self._broken = (f"the data plane failed at {self.now_ps / 1e12:.9f} s of simulated time "
                            f"({type(error).__name__}: {error}); restart the testbed")
            raise SimulationError(self._broken) from error

    def _check(self) -> None:
        if self._broken:
            raise SimulationError(self._broken)

    def _with_agent(self, switch: str, action: Callable[[Agent], T]) -> T:
        """Runs an action of a switch's agent, made anew when there is none; a failing one is given up."""
        try:
            if switch not in self._agents:
                self._agents[switch] = self._factories[switch]()
            return action(self._agents[switch])
        except Overrun as error:  # the data plane's, not the agent's
            raise SimulationLate(str(error)) from error
        except Exception as error:  # whatever it is: reported now, and the next call makes a new agent
            self._agents.pop(switch, None)
            LOG.debug("agent of %s", switch, exc_info=True)
            raise SimulationError(f"switch {switch}: its agent failed ({type(error).__name__}: {error})") from error


def _take_over(agent: Agent) -> None:
    if agent.apply_configuration():
        agent.publish_states()


def _modelled(operation: Callable[[], T]) -> T:
    """Runs an operation; what the data plane refuses is the request's fault."""
    try:
        return operation()
    except NetworkError as error:
        raise OtgError([str(error)]) from error


class OperationRunner:
    """Runs operations; syncs the clock before each. Failures of the pacing come out in the next answer.

    Args:
        simulation: what the operations act on.
        clock: its clock.
    """

    def __init__(self, simulation: Simulation, clock: SimulationClock) -> None:
        self._simulation = simulation
        self._clock = clock
        self._pending = ""

    def perform(self, operation: Callable[[], T], changes: bool) -> T:
        """Runs an operation at the right instant; `changes`: the switches' databases are written afterwards.

        Raises:
            OtgError: the operation's own, or an internal one when a part of the testbed fails, or failed unasked.
        """
        pending, self._pending = self._pending, ""
        if pending:
            raise internal_error(pending)
        try:
            self._clock.settle()
            self._simulation.refresh()
            result = _modelled(operation)
            if changes:
                self._simulation.publish()
        except SimulationError as error:
            raise internal_error(str(error)) from error
        return result

    def pace(self, publish: bool) -> None:
        """One round of what goes on unasked: follow the clock and the switches' configuration.

        Args:
            publish: write the databases of all switches, not only of those that were configured. A clock that runs by
                itself needs that.
        """
        try:
            self._clock.settle()
            self._simulation.refresh()
            if publish:
                self._simulation.publish()
        except Exception as error:  # nobody waits for this: it must be kept until somebody asks
            sentence = str(error) if isinstance(error, SimulationError) else f"following the clock failed: {error!r}"
            if sentence != self._pending:
                LOG.error("%s", sentence, exc_info=not isinstance(error, SimulationError))
            self._pending = sentence
