"""A session of IxNetwork's API: what it answers, what it does to the traffic generator, and what it refuses by name."""
from __future__ import annotations

import asyncio
import json

import pytest
from aiohttp.test_utils import TestClient, TestServer

from virtual_testbed.ixnetwork.chassis import TakenStatistics
from virtual_testbed.ixnetwork.front import IxNetworkFront
from virtual_testbed.ixnetwork.statistics import PORT_COLUMNS, PORTS, view_file
from virtual_testbed.ixnetwork.tree import ROOT, SESSION
from virtual_testbed.tests.ixnetwork.imported import STORM, host, item
from virtual_testbed.tests.ixnetwork.kept_otg import ROUTER
from virtual_testbed.tests.ixnetwork.served import ITEMS, ServedSession

UNMODELLED = ("pauseStatelessTraffic", "duplicate", "convertToRaw", "startApplicationTraffic", "add")


@pytest.fixture(name="served")
def fixture_served():
    """A session with data as item 1 and a storm as item 2, a host behind each port."""
    return ServedSession().configure([item(1, "Data"), item(2, "Storm", STORM, 1)], [host(1), host(2)])


def macs(served):
    """What each host knows of its gateway."""
    return [one["deviceGroup"][0]["ethernet"][0]["ipv4"][0]["resolvedGatewayMac"]
            for one in served.session.tree.root["topology"]]


@pytest.mark.parametrize("operation", UNMODELLED)
def test_an_operation_that_is_not_modelled_is_refused_by_name(served, operation):
    status, sentence = served.refusal(served.ask(operation, [f"{ITEMS}/1"], at=ITEMS))
    assert (status, sentence) == (400, f"{ITEMS}/operations/{operation}: the operation {operation.lower()} is not"
                                       " modelled")
    assert not served.otg.told()


@pytest.mark.parametrize("operation", ["generate", "takeCsvSnapshot", "connectPorts", "clearOwnership"])
def test_an_operation_that_has_nothing_to_do_here_succeeds(served, operation):
    assert served.do(operation, [f"{ROOT}/vport/1"]) is None


@pytest.mark.parametrize("method, path", [("GET", f"{ROOT}/traffic/nothing"), ("PATCH", f"{ROOT}/vport/7"),
                                          ("DELETE", f"{ROOT}/traffic/trafficItem/9/x/1"), ("POST", f"{ROOT}/vport")])
def test_an_object_that_does_not_exist_is_not_found(served, method, path):
    status, sentence = served.refusal(served.session.request(method, path, "", {}))
    assert status == 404 and sentence.startswith(f"{method} {path}: no object ")


def test_a_start_of_an_item_that_does_not_exist_is_not_found(served):
    answer = served.ask("startStatelessTrafficBlocking", [f"{ITEMS}/7"], at=ITEMS)
    assert served.refusal(answer)[0] == 404 and not served.otg.told()


def test_what_cannot_be_translated_is_refused_when_it_is_applied():
    served = ServedSession()
    with pytest.raises(AssertionError, match="rates of type bitsPerSecond are not modelled"):
        served.configure([item(1, "Data", frameRate={"type": "bitsPerSecond", "rate": 1})])
    assert not served.otg.configs


def test_there_is_one_session_for_everybody():
    served = ServedSession()
    for method, path in (("GET", "/api/v1/sessions"), ("POST", "/api/v1/sessions"), ("GET", SESSION)):
        answer = served.session.request(method, path, "", None)
        assert (answer.status, answer.content["id"], answer.content["state"]) == (200, 1, "ACTIVE")
    assert served.session.request("POST", "/api/v1/auth/session", "", {}).content == {"apiKey": "key"}


def test_objects_are_read_and_changed(served):
    assert served.session.request("GET", f"{ROOT}/vport/1", "", None).content["name"] == "rx"
    assert served.session.request("PATCH", f"{ROOT}/traffic", "", {"enableMinFrameSize": True}).status == 204
    assert served.session.request("GET", f"{ROOT}//traffic", "", None).content["enableMinFrameSize"] is True


def test_an_import_answers_as_its_kind_wants(served):
    assert served.do("importConfig", ROOT, "[]") == []
    body = {"arg1": ROOT, "arg2": "[]", "arg3": False, "arg4": "x", "arg5": True}
    answer = served.session.request("POST", f"{ROOT}/resourceManager/operations/importConfig", "", body)
    assert answer.content["result"] == {"errata": []}


def test_a_port_is_up_where_there_is_one():
    served = ServedSession()
    ports = [{"xpath": f"/vport[{number}]", "name": f"p{number}", "location": f"10.0.0.9;1;{number}"}
             for number in (1, 7)]
    served.do("importConfig", ROOT, json.dumps(ports))
    assert [one["connectionState"] for one in served.session.tree.root["vport"]] == [
        "connectedLinkUp", "assignedInUseByOther"]


def test_the_state_of_a_link_is_looked_at(served):
    asked = {"child": "vport", "properties": ["*"], "filters": []}
    body = {"selects": [{"from": "/", "properties": [], "children": [asked], "inlines": []}]}

    def states():
        answer = served.session.request("POST", f"{ROOT}/operations/select", "xpath=true", body)
        return [one["connectionState"] for one in answer.content[0]["vport"]]

    assert states() == ["connectedLinkUp", "connectedLinkUp"]
    served.do("linkUpDn", [f"{ROOT}/vport/2"], "down", at=f"{ROOT}/vport")
    assert served.otg.down == {"tx"} and states() == ["connectedLinkUp", "connectedLinkDown"]
    served.do("linkUpDn", [f"{ROOT}/vport/2"], "up", at=f"{ROOT}/vport")
    assert states() == ["connectedLinkUp", "connectedLinkUp"]


def test_hosts_know_their_gateways_while_protocols_run(served):
    assert macs(served) == [["Unresolved"], ["Unresolved"]]
    served.otg.unresolved = ("ethernet 2",)
    served.do("startAllProtocols", "sync")
    assert macs(served) == [[ROUTER], ["Unresolved"]]
    assert served.session.tree.node("/globals/topology")["status"] == "started"
    served.do("stopAllProtocols", "sync")
    assert macs(served) == [["Unresolved"], ["Unresolved"]]


def test_traffic_is_loaded_once_until_it_changes(served):
    before = len(served.otg.configs)
    served.do("apply", f"{ROOT}/traffic")
    served.do("startAllProtocols", "sync")
    served.start(1)
    assert len(served.otg.configs) == before, "nothing has changed"
    served.session.request("DELETE", f"{ITEMS}/2", "", None)
    served.do("apply", f"{ROOT}/traffic")
    assert [flow["name"] for flow in served.otg.configs[-1]["flows"]] == ["Data"]


def test_an_item_that_was_not_applied_is_unapplied():
    served = ServedSession().configure([])
    served.do("importConfig", ROOT, json.dumps({"traffic": {"xpath": "/traffic", "trafficItem": [item(1, "Data")]}}))
    assert served.states() == ["unapplied"]
    served.do("apply", f"{ROOT}/traffic")
    assert served.states() == ["stopped"]


def test_whether_traffic_runs_is_said_of_all_together(served):
    """However it is asked for."""
    asked = {"child": "traffic", "properties": ["state"], "filters": []}
    body = {"selects": [{"from": "/", "properties": [], "children": [asked], "inlines": []}]}

    def state():
        return served.session.request("POST", f"{ROOT}/operations/select", "", body).content[0]["traffic"]["state"]

    assert state() == "stopped"
    served.start(2)
    assert state() == "started"
    served.otg.counted["Storm"]["transmit"] = "stopped"
    assert state() == "stopped"


def test_all_traffic_stops_where_no_item_is_named(served):
    served.start(1, 2)
    served.do("stopStatelessTrafficBlocking", f"{ROOT}/traffic", at=f"{ROOT}/traffic")
    assert served.otg.told()[-1] == ("stop", ["Data", "Storm"]) and served.states() == ["stopped", "stopped"]


@pytest.mark.parametrize("end", ["delete", "new"])
def test_a_session_that_ends_leaves_no_traffic_behind(served, end):
    served.start(2)
    if end == "delete":
        assert served.session.request("DELETE", SESSION, "", None).status == 200
    else:
        served.do("newConfig")
    assert served.otg.told()[-1] == ("stop", ["Storm"])
    root = served.session.tree.root
    assert not root["vport"] and not root["topology"] and not root["traffic"]["trafficItem"]


def test_statistics_are_there_once_traffic_was_applied():
    served = ServedSession()
    assert served.session.tree.root["statistics"]["view"] == []
    served.configure([item(1, "Data")])
    views = served.session.tree.root["statistics"]["view"]
    assert {view["caption"] for view in views} == {"Flow Statistics", "Traffic Item Statistics", "Port Statistics"}
    assert all(view["data"]["isReady"] for view in views)
    served.do("apply", f"{ROOT}/traffic")
    assert len(served.session.tree.root["statistics"]["view"]) == 3, "once"


def test_a_view_of_traffic_items(served):
    served.otg.counted["Data"] |= {"frames_tx": 100, "frames_rx": 75, "frames_tx_rate": 12.5}
    data, storm = served.rows("Traffic Item Statistics")
    assert (data["Traffic Item"], data["Tx Port"], data["Rx Port"]) == ("Data", "tx", "rx")
    assert (data["Tx Frames"], data["Rx Frames"], data["Loss %"]) == ("100", "75", "25.0")
    assert data["Tx Frame Rate"] == "12.5"
    assert (storm["Traffic Item"], storm["Loss %"]) == ("Storm", "0.0")


def test_a_view_of_ports(served):
    served.otg.down = {"tx"}
    found = [(row["Port Name"], row["Stat Name"], row["Link State"]) for row in served.rows("Port Statistics")]
    assert found == [("rx", "10.0.0.9/Card01/Port01", "Link Up"), ("tx", "10.0.0.9/Card01/Port02", "Link Down")]


@pytest.mark.parametrize("location, name", [
    ("10.0.0.9;12;3", "10.0.0.9/Card12/Port03"), ("10.0.0.9/4.1", "10.0.0.9/4.1"), ("a;b;c", "a;b;c")])
def test_a_port_is_called_after_its_card(location, name):
    """But for one whose location has no card."""
    row = dict.fromkeys(PORT_COLUMNS.values(), 0) | {"location": location, "link": "up"}
    lines = view_file(PORTS, TakenStatistics({}, {"rx": row}), {}).decode().splitlines()
    assert lines[1].split(",")[0] == name


def test_a_comma_in_a_name_breaks_a_row():
    """As it does for IxNetwork's own clients."""
    served = ServedSession().configure([item(1, "Data, again")])
    head, row = served.file("/root/Traffic-Item-Statistics.csv").content.decode().splitlines()
    assert row.startswith("Data, again,tx,rx,") and row.count(",") == head.count(",") + 1


def test_a_view_that_does_not_exist_is_an_empty_file(served):
    assert served.file("/root/Nothing.csv").content == b""


def test_captures_are_files_of_ports_that_have_one(served):
    served.session.request("PATCH", f"{ROOT}/vport/1/capture", "", {"hardwareEnabled": True})
    served.otg.captured = b"frames"
    served.do("startCapture")
    told = [one["port"]["capture"] for one in served.otg.controls if one["choice"] == "port"]
    assert told == [{"state": "start", "port_names": ["rx"]}]
    served.do("stop", f"{ROOT}/vport/1/capture", at=f"{ROOT}/vport/1/capture")
    told = [one["port"]["capture"] for one in served.otg.controls if one["choice"] == "port"]
    assert told[-1] == {"state": "stop", "port_names": ["rx"]}
    assert served.file("/root/rx_HW.cap").content == b"frames"
    status, sentence = served.refusal(served.file("/root/tx_HW.cap"))
    assert (status, sentence) == (404, "/root/tx_HW.cap: no such file")


def test_files_are_somewhere(served):
    assert served.session.request("GET", f"{ROOT}/files", "", None).content == {"absolute": "/root"}
    assert served.session.request("DELETE", f"{ROOT}/files", "filename=x.csv", None).status == 204


async def exchange(served, requests):
    """Sends requests over HTTP; returns status, type and body of each answer, and which of them changed something."""
    changes = []

    async def compute(operation, publishes):
        changes.append(publishes)
        return operation()

    client = TestClient(TestServer(IxNetworkFront(served.session, compute).application()))
    await client.start_server()
    try:
        answers = []
        for method, path, body in requests:
            async with client.request(method, path, json=body) as answer:
                answers.append((answer.status, answer.content_type, await answer.read()))
        return answers, changes
    finally:
        await client.close()


def test_over_http(served):
    select = {"selects": [{"from": "/globals", "properties": [], "children": [], "inlines": []}]}
    requests = [("GET", f"{ROOT}/globals", None), ("POST", f"{ROOT}/operations/select", select),
                ("POST", f"{ITEMS}/operations/startStatelessTrafficBlocking", {"arg1": [f"{ITEMS}/1"]}),
                ("PATCH", f"{ROOT}/traffic", {"useRfc5952": True}),
                ("GET", f"{ROOT}/files?filename=Port-Statistics.csv", None),
                ("POST", f"{ROOT}/operations/duplicate", {}), ("POST", f"{ROOT}/operations/select", {})]
    answers, changes = asyncio.run(exchange(served, requests))
    assert [status for status, _, _ in answers] == [200, 200, 202, 204, 200, 400, 500]
    assert json.loads(answers[0][2])["persistencePath"] == json.loads(answers[1][2])[0]["persistencePath"] == "/root"
    assert answers[4][1] == "application/octet-stream" and answers[4][2].startswith(b"Stat Name,")
    assert "duplicate is not modelled" in json.loads(answers[5][2])["errors"][0]["detail"]
    assert "KeyError: 'selects'" in json.loads(answers[6][2])["errors"][0]["detail"], "a client learns of a defect"
    assert changes == [False, False, True, False, False, True, False], "databases are written after what acts"
    assert served.otg.told() == [("start", ["Data"])]
