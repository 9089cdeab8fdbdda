"""The vendors' commands that switch the aging of held frames off, as the suite runs them, and what the agent makes of
them.
"""
import re

import pytest

from tests.common.pfc.aging import spectrum, vendors
from virtual_testbed.faults import parse_fault
from virtual_testbed.sonic.agent import SonicAgent
from virtual_testbed.tests.sonic.conftest import HWSKU, NAME

KINDS = {"mellanox": "mellanox", "broadcom": "broadcom broadcom-dnx voq", "cisco-8000": "cisco-8000"}


@pytest.fixture(params=KINDS)
def switch(request, run, agent):
    """A switch of each vendor's: runs a command, and knows how it ages."""
    version = run.root / "etc/sonic/sonic_version.yml"
    found = version.read_text()
    version.write_text(re.sub("asic_type: .*", f"asic_type: '{request.param}'", found))
    run("sonic-db-cli CONFIG_DB HSET 'DEVICE_METADATA|localhost' switch_type voq")
    run.aging = vendors.aging_of(KINDS[request.param])
    yield run
    version.write_text(found)


def is_off(agent, network):
    agent.apply_configuration()
    return network.configs[-1].aging_off


def test_it_is_on_switched_off_and_brought_back(switch, agent, network):
    aging = switch.aging
    found = switch(aging.read)
    assert aging.lasts(found) and not is_off(agent, network)
    switch(aging.off)
    assert not aging.lasts(switch(aging.read)) and is_off(agent, network)
    switch(aging.off)
    for _ in range(2):
        switch(aging.on(found))
        assert aging.lasts(switch(aging.read)) and not is_off(agent, network)
    assert vendors.aging_of(switch(vendors.KIND)) in (None, aging)


@pytest.mark.parametrize("switch", ["mellanox"], indirect=True)
def test_every_lifetime_comes_back_as_it_was(switch):
    """Also those that were not the SDK's own."""
    first = switch(spectrum.run())
    odd = first.replace('"sll": 4294967', '"sll": 77')
    assert odd != first
    switch(spectrum.back(odd))
    found = switch(spectrum.run())
    assert '"sll": 77' in found and spectrum.ages(found)
    switch(spectrum.run(spectrum.LONGEST))
    assert not spectrum.ages(switch(spectrum.run()))
    switch(spectrum.back(found))
    assert switch(spectrum.run()) == found


def test_a_command_that_does_not_work_is_noticed(switch, redis, network, agent):
    """It fails, or says why not, or nothing has changed."""
    agent.close()
    network.configs.clear()
    broken = SonicAgent(NAME, redis.socket, HWSKU, network, [parse_fault("aging-stays-on")])
    switch("sonic-db-cli CONFIG_DB HSET 'DEVICE_METADATA|localhost' switch_type voq")
    try:
        off = switch.aging.off.replace(f"tries={vendors.TRIES}", "tries=1")
        said = switch(off, status=1)
        if switch.aging.key == "packet-aging":
            assert said == "sx_api_port_sll_set of NVIDIA's SDK ended with 1\n"
        if switch.aging.key == "credit-watchdog":
            assert said == "SAI_SWITCH_ATTR_CREDIT_WD in ASIC_DB is not false\n"
            switch(switch.aging.on(""))
        if switch.aging.key == "voq-watchdog":
            with pytest.raises(ValueError):
                switch.aging.lasts(switch(switch.aging.read))
        assert not is_off(broken, network)
    finally:
        broken.close()


def test_other_switches_have_none_of_it(run):
    """An image for another chip has no such tools."""
    assert vendors.aging_of(run(vendors.KIND)) is None
    assert "No such command" in run("show platform npu global", status=1)
    assert "sx_api_open of NVIDIA's SDK ended with 1" in run(spectrum.run(), status=1)
    assert "No such container: x" in run("docker exec x python3 -V", status=1)
    assert "executable file not found" in run("docker exec syncd cp", status=127)
    assert "usage: docker exec" in run("docker inspect", status=1) + run("docker exec syncd", status=1)
    shown = run("docker ps --format '{{.Image}}/{{.Names}}'").split()
    assert "docker-fpm-frr:latest/bgp" in shown and "docker-syncd:latest/syncd" in shown, "what `show` looks for"
