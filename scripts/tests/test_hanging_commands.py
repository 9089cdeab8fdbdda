"""A command that hangs on a switch which answers SSH does not hold a run for ever."""
from types import SimpleNamespace

import pytest

from tests.common.devices import sonic
from tests.common.devices.ansible_hosts import AnsibleHosts
from tests.common.devices.sonic import SonicHost
from tests.common.pfc.lab.dut import run_batch
from tests.common.pfc.model.errors import BatchBroken


@pytest.fixture(name="host")
def this_machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> SonicHost:
    """This machine as the switch, with little patience."""
    monkeypatch.setattr(sonic, "LONGEST_S", 1)
    monkeypatch.setattr(request.config.option, "ansible_inventory", "")
    controller = AnsibleHosts(request.config).controller()
    return SonicHost(SimpleNamespace(switch=lambda name: controller), "vtb-t0-01")


def test_a_command_that_does_not_end_is_ended(host: SonicHost) -> None:
    """The sentence names it; those before it have been carried out, and others can be after it."""
    with pytest.raises(BatchBroken, match="sleep 60.*it did not end within 1 s"):
        run_batch(host, {"first": "echo there", "hangs": "sleep 60", "last": "echo never"})
    found = run_batch(host, {"one": "echo 'it''s \"there\"'; exit 3"})["one"]
    assert (found.text.strip(), found.status) == ('its "there"', 3)
