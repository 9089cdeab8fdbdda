"""What SONiC's Python packages of a switch say of it, as programs of others on the switch ask them."""
from __future__ import annotations

import json
import os

import pytest

from virtual_testbed.tests.sonic.conftest import HWSKU, MAC

ASK = "import json, os; from sonic_py_common import device_info, multi_asic; print(json.dumps({}))"
PLATFORM = "x86_64-arista_7060_cx32s"


def asked(run, expression):
    """What Python on the switch says; an error is a line of text."""
    return json.loads(run(f'python3 -c "{ASK.format(expression)}"'))


def test_the_platform_is_that_of_the_configuration_and_the_image(run):
    version = (run.root / "etc/sonic/sonic_version.yml").read_text()
    found = asked(run, "device_info.get_platform_info()")
    assert (found["platform"], found["hwsku"], found["asic_count"]) == (PLATFORM, HWSKU, 1)
    assert "switch_type" not in found and f"asic_type: '{found['asic_type']}'" in version
    assert asked(run, "device_info.get_platform_and_hwsku()") == [PLATFORM, HWSKU]
    assert asked(run, "device_info.get_sonic_version_info()")["branch"] == "202505"
    run("sonic-db-cli CONFIG_DB HSET 'DEVICE_METADATA|localhost' hwsku another")
    assert asked(run, "device_info.get_hwsku()") == "another", "as CONFIG_DB has it, not as it was made"


def test_folders_are_those_of_the_platform(run):
    folder, sku = asked(run, "[os.listdir(path) for path in device_info.get_paths_to_platform_and_hwsku_dirs()]")
    assert HWSKU in folder and "platform.json" in folder and "port_config.ini" in sku
    assert asked(run, "device_info.get_platform_json_data()")["chassis"] == {"name": HWSKU}


@pytest.mark.parametrize("switch_type, asic_type, is_card", [
    ("", "broadcom", False), ("voq", "broadcom", False), ("voq", "vs", True), ("chassis-packet", "broadcom", True)])
def test_a_switch_may_be_a_card_of_a_chassis(run, switch_type, asic_type, is_card):
    version = run.root / "etc/sonic/sonic_version.yml"
    before = version.read_text()
    version.write_text(f"asic_type: '{asic_type}'\n")
    try:
        if switch_type:
            run(f"sonic-db-cli CONFIG_DB HSET 'DEVICE_METADATA|localhost' switch_type {switch_type}")
        assert asked(run, "device_info.is_chassis()") is is_card
        assert asked(run, "device_info.get_platform_info().get('switch_type', '')") == switch_type
    finally:
        version.write_text(before)


def test_what_a_switch_is_not(run):
    names = ("is_multi_npu", "is_supervisor", "is_smartswitch", "is_dpu")
    assert asked(run, f"[getattr(device_info, name)() for name in {names}]") == [False] * len(names)
    assert asked(run, "device_info.is_chassis_config_absent()") is True


def test_one_asic_in_the_default_namespace_has_all_ports(run):
    found = asked(run, "[multi_asic.is_multi_asic(), multi_asic.get_namespace_list(), multi_asic.get_num_asics(),"
                       " multi_asic.get_asic_presence_list(), multi_asic.is_port_channel_internal('PortChannel1')]")
    assert found == [False, [""], 1, [0], False]
    ports = asked(run, "multi_asic.get_port_table(namespace='')")
    assert len(ports) == 32 and ports["Ethernet4"]["alias"] == "Ethernet2/1"
    assert asked(run, "multi_asic.get_asic_id_from_name('asic3')") == "3"


def test_config_db_is_tables_of_rows(run):
    run("sonic-db-cli CONFIG_DB HSET 'VLAN_MEMBER|Vlan10|Ethernet4' tagging_mode tagged")
    read = ("from swsscommon.swsscommon import ConfigDBConnector, SonicDBConfig; found = ConfigDBConnector();"
            " found.connect(); SonicDBConfig.load_sonic_db_config(); print(SonicDBConfig.isInit(),"
            " found.get_table('VLAN_MEMBER'), found.get_entry('VLAN_MEMBER', ('Vlan10', 'Ethernet4')),"
            " found.get_entry('DEVICE_METADATA', 'localhost')['mac'], found.get_table('NONE'))")
    row = "{'tagging_mode': 'tagged'}"
    assert run(f'python3 -c "{read}"').strip() == f"True {{('Vlan10', 'Ethernet4'): {row}}} {row} {MAC} {{}}"


def test_what_is_not_there_is_named(run):
    said = run('python3 -c "from sonic_py_common import device_info; device_info.get_system_mac()"', status=1)
    assert "has no attribute 'get_system_mac'" in said


def test_a_switch_with_a_root_view_has_a_python_where_an_image_has_it(switch):
    if switch.ready["root_view"] != "namespace":
        pytest.skip("no root view, so /usr/bin is the host's")
    command = "/usr/bin/python -c 'import os; print(sorted(os.listdir(\"/sys/class/net\"))[0])'"
    assert switch.output(command) == "Ethernet0\n", "the switch's files"
    if not os.path.lexists("/usr/bin/python"):
        asked_for = "/usr/bin/python -c 'from sonic_py_common import multi_asic; print(multi_asic.get_num_asics())'"
        assert switch.output(asked_for) == "1\n"
        assert switch.output("env sort /dev/null; perl -e 'print 1'; ls /usr/bin | grep -c '^sort$'") == "11\n"
    assert switch.run("touch /usr/bin/sentinel").returncode != 0 and not os.path.lexists("/usr/bin/sentinel")
