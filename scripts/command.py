"""A command from its first line to its exit status."""
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from scripts.output import put, settle
from scripts.parts.stop import StopSignal
from scripts.suite import EXIT_STATUS, REFUSED
from scripts.testbeds import Failure, Refusal, adopt_orphans, end_orphans, note_command, reason
from tests.common.pfc.record.verdict import Status


def exit_status_of(command: Callable[[], int]) -> int:
    """Carries a command out, and leaves no process behind: it ends every child of this process, whoever started it, so
    tests call it in a process of its own.

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


def exit_status_of_run(command: Callable[[], int]) -> int:
    """The same of a command that measures one thing: a step that fails before anything was measured, or an interrupt
    then, is ERROR."""
    return exit_status_of(lambda: _measured(command))


def exit_status_of_parts(
    program: str, arguments: Sequence[str] | None, command: Callable[[StopSignal], int]
) -> int:
    """The same of a command that carries many parts out: a signal asks it to end, and it says what is left.

    Args:
        program: its name, as users type it.
        arguments: its command line; None: the process's own.
        command: looks at the signal between its parts.
    """
    stop = StopSignal()
    stop.catch()
    note_command(program, arguments)
    return exit_status_of(lambda: command(stop))


def _measured(command: Callable[[], int]) -> int:
    try:
        return command()
    except Failure as failure:
        put(f"ERROR: {failure}\n", sys.stdout)
    except KeyboardInterrupt:
        put("ERROR: interrupted before anything was measured\n", sys.stdout)
    return EXIT_STATUS[Status.ERROR]
