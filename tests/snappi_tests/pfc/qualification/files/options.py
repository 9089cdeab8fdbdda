"""The options of the qualification, as pytest has them."""

from __future__ import annotations

from typing import Any


def add_options(parser: Any) -> None:
    """Adds them to pytest's; `parser` is pytest's, as `pytest_addoption` has it."""
    group = parser.getgroup("pfc", "PFC qualification")

    def add(name: str, said: str, **settings: Any) -> None:
        group.addoption(f"--pfc-{name}", help=said, **settings)

    add("port", "port under test (default: the first with a generator behind it)", metavar="PORT")
    add("tx-port", "port that data enters (default: chosen)", metavar="PORT")
    add("ip-version", "IP version of the data (default: 4)", default="4", choices=["4", "6"])
    add("same-generator", "data may also enter by a port on the port under test's own traffic generator (default: on"
        " another only)", action="store_true")
    add("change-config", "also test cases that change the switch's configuration and put it back, and addresses for"
        " ports without one (always on a virtual testbed)", action="store_true")
    add("results", "folder for records (default: results/<run id>)", metavar="DIR")
    add("run-id", "joins the parts of one run (default: from time and process)", metavar="ID")
    add("job-id", "joins runs that belong together, on several testbeds (default: none)", metavar="ID")
