"""A command from its first line to its exit status."""
from __future__ import annotations

import sys
from collections.abc import Callable

from scripts.output import put, settle
from scripts.suite import REFUSED
from scripts.testbeds import Refusal, adopt_orphans, end_orphans, reason


def exit_status_of(command: Callable[[], int]) -> int:
    """Carries a command out, and leaves no process behind.

    Args:
        command: returns its exit status. What it refuses, and a file that cannot be read or written, is one sentence on
            the standard error and status 3.
    """
    adopt_orphans()
    try:
        return command()
    except (Refusal, OSError) as error:
        put(f"error: {reason(error) if isinstance(error, OSError) else error}\n", sys.stderr)
        return REFUSED
    finally:
        end_orphans()
        for out in (sys.stdout, sys.stderr):
            settle(out)
