"""Which cards honour PFC through snappi_ixnetwork, and with how many queues; what cannot be is refused by name.

A port honours PFC where its type ends with `Fcoe`. snappi_ixnetwork chooses such a type for the cards of a list, looks
at the first layer of those of another list, and says nothing where a card is in neither: its ports never stop, and a
correct switch would drop. Facts of snappi_ixnetwork 1.61.3: `vport.py`, `_set_vport_type`; `snappi_api.py`,
`select_vports`. The names of cards are those of `currentType` in ixnetwork_restpy's `l1config.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..model.errors import QualificationError

FCOE = "Fcoe"
WITH_PFC = (
    "aresOneFourHundredGigLan", "aresOneM", "ethernet", "novusHundredGigLan", "novusTenGigLan",
    "starFourHundredGigLan", "tenFortyHundredGigLan", "tenGigLan", "tenGigWan",
)
"""Types that are in both lists."""
UNREAD = ("fortyGigLan", "hundredGigLan", "krakenFourHundredGigLan")
"""Types that it would make honour PFC, but whose first layer it does not read: it ends with a KeyError."""
QUEUES = 8


@dataclass(frozen=True)
class CardPort:
    """A port of a card as IxNetwork has it.

    Attributes:
        name: in the configuration.
        location: chassis, card and port.
        kind: `currentType` of its layer 1.
        pfc_queues: `pfcQueueGroupSize`, how many queues PFC can hold; None: it does not say.
    """

    name: str
    location: str
    kind: str
    pfc_queues: int | None = None

    @property
    def card(self) -> str:
        """The type of the card, whether or not the port honours PFC."""
        return self.kind.removesuffix(FCOE).removesuffix("-")


def check_pfc(ports: Iterable[CardPort], pfc_queues: int) -> None:
    """Whether all ports honour PFC, for as many queues as the configuration was made for.

    Args:
        ports: as they are once a configuration was set.
        pfc_queues: 8 or 4, of the testbed's `pfc_conditions`.

    Raises:
        QualificationError: one does not; the sentence names it, and its card.
    """
    for port in ports:
        if not port.kind.endswith(FCOE):
            raise QualificationError(f"{_where(port)}: {_why_not(port.card)}")
        if port.pfc_queues is not None and port.pfc_queues < pfc_queues:
            raise QualificationError(
                f"{_where(port)}: expected {pfc_queues} queues that PFC can hold, got {port.pfc_queues}"
                f" (pfcQueueGroupSize): pfc_conditions in the testbed's entry need pfc_queues: {port.pfc_queues}"
            )


def check_readable(ports: Iterable[CardPort]) -> None:
    """Whether snappi_ixnetwork reads the first layer of all ports; for when it ended with an error.

    Raises:
        QualificationError: of one it does not.
    """
    for port in ports:
        if port.card not in WITH_PFC:
            raise QualificationError(f"{_where(port)}: {_why_not(port.card)}")


def _where(port: CardPort) -> str:
    return f"the traffic generator's port {port.location}, of a card of type {port.card}"


def _why_not(card: str) -> str:
    found = "an error, because it does not read their layer 1," if card in UNREAD else "none"
    return f"expected PFC, got {found} from snappi_ixnetwork (it has PFC for {', '.join(WITH_PFC)})"
