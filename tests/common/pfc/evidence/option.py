"""What evidence adds to the core."""

from __future__ import annotations

from pathlib import Path

from ..lab.observer import RunObserver
from ..lab.option import Option
from .files import EvidenceFiles
from .recorder import EvidenceRecorder


class EvidenceOption(Option):
    """What a run sends, reads and captures is kept beside its records."""

    def observer(self, run_folder: Path) -> RunObserver:
        """Keeps it in the folder `evidence`."""
        return EvidenceRecorder(EvidenceFiles(run_folder))


OPTION = EvidenceOption()
