"""The options of the qualification, as pytest has them."""

from __future__ import annotations

from typing import Any


def add_options(parser: Any) -> None:
    """Adds them to pytest's.

    Args:
        parser: pytest's, as `pytest_addoption` has it.
    """
    group = parser.getgroup("pfc", "PFC qualification")
    _of_the_ports(group)
    _of_the_run(group)


def _of_the_ports(group: Any) -> None:
    """What is measured, with what."""
    group.addoption(
        "--pfc-port", metavar="PORT", help="port under test (default: the first with a generator behind it)"
    )
    group.addoption("--pfc-tx-port", metavar="PORT", help="port that data enters (default: chosen)")
    group.addoption(
        "--pfc-ip-version", default="4", choices=["4", "6"], help="IP version of the data (default: 4)"
    )
    group.addoption(
        "--pfc-same-generator",
        action="store_true",
        help="data may also enter by a port on the port under test's own traffic generator (default: on another only)",
    )
    group.addoption(
        "--pfc-change-config",
        action="store_true",
        help="also test cases that change the switch's configuration and put it back, and addresses for ports without"
        " one (always on a virtual testbed)",
    )


def _of_the_run(group: Any) -> None:
    """What a run is called, where its records are."""
    group.addoption("--pfc-results", metavar="DIR", help="folder for records (default: results/<run id>)")
    group.addoption(
        "--pfc-run-id", metavar="ID", help="joins the parts of one run (default: from time and process)"
    )
    group.addoption(
        "--pfc-job-id", metavar="ID", help="joins runs that belong together, on several testbeds (default: none)"
    )
