"""sonic-mgmt's options of pytest in a run without it: `--topology` has its meaning, those about its own checks of a
testbed have none here, and are taken so that a command line can stay as it is.

An option that would change what is measured or where it is looked for is not among them: pytest refuses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

WITHOUT_MEANING = "sonic-mgmt's options that have no meaning here: they are taken, and nothing follows from them"
FLAGS = (
    "--allow_recover", "--collect_db_data", "--disable_loganalyzer", "--disable_memory_utilization",
    "--disable_sai_validation", "--enable-snappi-dynamic-ports", "--enable_pre_sanity", "--force_load_err_list",
    "--gnmi_insecure", "--ignore-conditional-mark", "--ignore_la_failure", "--loganalyzer_rotate_logs", "--post_check",
    "--public_docker_registry", "--skip-yang", "--skip_post_check", "--skip_pre_sanity", "--skip_sanity",
    "--skip_yang", "--store_la_logs", "--trim_inv",
)
WITH_A_VALUE = (
    "--bug_handler_params", "--ceos_neighbor_lacp_multiplier", "--check_items", "--collect_techsupport",
    "--completeness_level", "--customize_inventory_file", "--dpu-pattern", "--gnmi_port", "--kube_master",
    "--mark-conditions-files", "--neighbor_type", "--post_check_items", "--py_saithrift_url", "--qos_swap_syncd",
    "--recover_method",
)


def add_options(parser: pytest.Parser) -> None:
    """Adds them to pytest's."""
    parser.getgroup("testbed").addoption(
        "--topology", metavar="NAMES", help="run only tests that are marked for one of these, e.g. tgen (default: all)"
    )
    group = parser.getgroup("sonic-mgmt", WITHOUT_MEANING)
    for name in FLAGS:
        group.addoption(name, action="store_true", dest=destination(name))
    for name in WITH_A_VALUE:
        group.addoption(name, action="append", metavar="TEXT", dest=destination(name))


def destination(option: str) -> str:
    """The name that an option's value has in `config.option`: one that nothing else has."""
    return f"sonic_mgmt_{option.lstrip('-').replace('-', '_')}"


def deselect_other_topologies(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests that are not marked for what `--topology` names.

    Raises:
        pytest.UsageError: none is.
    """
    named = config.getoption("topology")
    if named is None:
        return
    wanted = {name.strip() for name in named.split(",")}
    left = [item for item in items if not wanted & set(topologies(item))]
    there = sorted({name for item in items for name in topologies(item)})
    if items and len(left) == len(items):
        raise pytest.UsageError(f"--topology: no test is marked for '{named}'; there are tests for {', '.join(there)}")
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


def topologies(item: Any) -> Sequence[str]:
    """The topologies that a test is marked for, by the nearest mark."""
    marker = item.get_closest_marker("topology")
    return tuple(marker.args) if marker is not None else ()
