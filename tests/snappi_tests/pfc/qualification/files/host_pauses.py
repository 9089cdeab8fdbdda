"""The hosts that pauses come from in place of the traffic generator: a plugin of the option `host_pauses`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.common.pfc.lab.lab import HostOf
from tests.snappi_tests.pfc.qualification.files.extension import Extension
from tests.snappi_tests.pfc.qualification.files.steps import SESSION_KEY, STANDALONE


def extend(config: Any) -> Extension:
    """Nothing for the session."""
    return Extension(config.stash[SESSION_KEY], config.getoption)


@pytest.fixture(scope="module")
def pfc_host(request: pytest.FixtureRequest) -> HostOf:
    """Makes the host object of a host of the inventory that is no switch under test."""
    if STANDALONE:
        from tests.common.standalone import lab_of

        return lab_of(request.config).host
    from tests.common.devices.base import AnsibleHostBase

    return lambda name: AnsibleHostBase(request.getfixturevalue("ansible_adhoc"), name)
