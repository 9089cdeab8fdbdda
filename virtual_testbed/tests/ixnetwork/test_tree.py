"""The objects of a session: what is imported is there, under xpaths that are counted anew and addresses that stay."""
from __future__ import annotations

import pytest

from virtual_testbed.ixnetwork.session import empty_session
from virtual_testbed.ixnetwork.tree import ROOT, ObjectTree, UnknownNode, to_xpath, walk
from virtual_testbed.tests.ixnetwork.imported import DATA, STORM, configuration, host, item, multivalue

ITEMS = f"{ROOT}/traffic/trafficItem"


def made(*updates):
    """A session's tree with these imports."""
    tree = ObjectTree(empty_session({"10.0.0.9": [1]}))
    for update in updates or configuration([item(1, "Data"), item(2, "Storm", STORM, 1), item(3, "Later")]):
        tree.take_over(update)
    return tree


def names(tree):
    """The traffic items' names in order."""
    return [one["name"] for one in tree.root["traffic"]["trafficItem"]]


def asking(tree, start, *children):
    """A select: each child is a name, or with a filter: name, property, expression."""
    asked = [{"child": name, "properties": ["*"],
              "filters": [{"property": rest[0], "regex": rest[1]}] if rest else []} for name, *rest in children]
    return tree.select({"from": start, "properties": ["*"], "children": asked, "inlines": []})


@pytest.mark.parametrize("href, xpath", [
    (f"{ROOT}/vport/2/l1Config", "/vport[2]/l1Config"), (ROOT, "/"), ("/", "/"), ("/vport[2]", "/vport[2]"),
    (f"{ROOT}/traffic/trafficItem/12/configElement/1", "/traffic/trafficItem[12]/configElement[1]"),
])
def test_an_address_is_an_xpath(href, xpath):
    assert to_xpath(href) == xpath


def test_what_is_imported_is_there():
    tree = made()
    assert names(tree) == ["Data", "Storm", "Later"]
    assert tree.node("/vport[2]")["name"] == "tx"
    assert tree.node("/traffic/trafficItem[2]/configElement[1]/frameRate")["rate"] == 50.0
    assert tree.at(f"{ITEMS}/2")["name"] == "Storm"
    assert tree.at(f"{ITEMS}/2/configElement/1/frameSize/")["fixedSize"] == 1024
    assert tree.at("/traffic/trafficItem[3]")["name"] == "Later", "an xpath will do"


def test_a_second_import_changes_what_it_names_and_nothing_else():
    tree = made()
    tree.take_over({"xpath": "/traffic/trafficItem[1]/configElement[1]/frameRate", "rate": 10.0})
    tree.take_over({"xpath": "/", "traffic": {"xpath": "/traffic", "trafficItem": [
        {"xpath": "/traffic/trafficItem[3]", "suspend": True}, {"xpath": "/traffic/trafficItem[4]", "name": "New"}]}})
    assert names(tree) == ["Data", "Storm", "Later", "New"]
    assert tree.node("/traffic/trafficItem[1]/configElement[1]/frameRate")["type"] == "percentLineRate"
    assert tree.node("/traffic/trafficItem[1]/configElement[1]/frameRate")["rate"] == 10.0
    assert tree.at(f"{ITEMS}/4")["name"] == "New" and tree.at(f"{ITEMS}/3")["suspend"]


def test_an_import_makes_the_nodes_that_are_not_there():
    """One with a number and one without."""
    tree = made({"xpath": "/vport[1]", "name": "p1"}, {"xpath": "/vport[1]/l1Config", "currentType": "ethernet"},
                {"xpath": "/vport[1]/l1Config/ethernet", "speed": "speed100g"})
    assert tree.at(f"{ROOT}/vport/1/l1Config/ethernet")["speed"] == "speed100g"
    assert tree.root["vport"][0]["l1Config"]["ethernet"]["speed"] == "speed100g"


def test_an_import_below_what_does_not_exist_is_refused():
    with pytest.raises(UnknownNode, match="^/lag"):
        made({"xpath": "/lag[1]/protocolStack", "name": "x"})


@pytest.mark.parametrize("href", [f"{ITEMS}/9", "/vport[7]", f"{ROOT}/nothing"])
def test_an_object_that_is_not_there_is_refused(href):
    with pytest.raises(UnknownNode):
        made().at(href)


def test_what_is_removed_is_gone_and_those_behind_it_move_up():
    """By xpath. An address stays that of its object, and no other gets one that was used."""
    tree = made()
    tree.remove(f"{ITEMS}/2")
    assert names(tree) == ["Data", "Later"]
    assert tree.node("/traffic/trafficItem[2]")["name"] == "Later"
    assert tree.node("/traffic/trafficItem[2]/configElement[1]")["stack"][0]["xpath"] == (
        "/traffic/trafficItem[2]/configElement[1]/stack[@alias = 'ethernet-1']")
    assert tree.at(f"{ITEMS}/3")["name"] == "Later" and tree.at(f"{ITEMS}/1")["name"] == "Data"
    with pytest.raises(UnknownNode):
        tree.node("/traffic/trafficItem[3]")
    tree.take_over({"xpath": "/traffic/trafficItem[3]", "name": "New"})
    assert tree.at(f"{ITEMS}/4")["name"] == "New" and tree.at(f"{ITEMS}/3")["name"] == "Later"


def test_all_children_of_a_name_are_removed():
    tree = made()
    tree.remove(ITEMS)
    assert names(tree) == []
    with pytest.raises(UnknownNode):
        tree.at("/traffic/trafficItem[1]/configElement[1]")
    tree.take_over(configuration([item(1, "Again")])[-1])
    assert tree.node("/traffic/trafficItem[1]")["name"] == "Again"


def test_nothing_that_is_asked_for_is_left_out_after_a_removal():
    """Every node is found under its xpath and its address."""
    tree = made(*configuration([item(1, "Data"), item(2, "Storm", STORM, 1)], [host(1), host(2)]))
    tree.remove(f"{ROOT}/topology/1")
    for node in walk(tree.root):
        assert tree.node(node["xpath"]) is node and tree.at(node["href"]) is node


def test_a_select_has_attributes_and_those_children_alone_that_are_asked_for():
    tree = made()
    found = asking(tree, "/", ("traffic",), ("trafficItem",))
    assert "vport" not in found and found["href"] == ROOT
    items = found["traffic"]["trafficItem"]
    assert [(one["name"], one["href"], one["id"]) for one in items] == [
        ("Data", f"{ITEMS}/1", 1), ("Storm", f"{ITEMS}/2", 2), ("Later", f"{ITEMS}/3", 3)]
    assert "configElement" not in items[0]


def test_a_child_is_an_expression():
    tree = made()
    found = asking(tree, f"{ITEMS}/1", ("(?i)^(configelement|framerate|framesize)$",))
    assert set(found["configElement"][0]) >= {"frameRate", "frameSize"}
    assert "stack" not in found["configElement"][0] and "endpointSet" not in found


@pytest.mark.parametrize("expression, found", [
    ("^Data$", ["Data"]), ("^(Data|Later)$", ["Data", "Later"]), ("a", ["Data", "Later"]), ("^nothing$", None)])
def test_a_filter_is_an_expression_of_an_attribute(expression, found):
    traffic = asking(made(), "/traffic", ("trafficItem", "name", expression))
    assert [one["name"] for one in traffic["trafficItem"]] == found if found else "trafficItem" not in traffic


def test_a_filter_may_be_a_truth_value():
    tree = made()
    for one in tree.root["traffic"]["trafficItem"]:
        one["enabled"] = one["name"] != "Storm"
    traffic = asking(tree, "/traffic", ("trafficItem", "enabled", True))
    assert [one["name"] for one in traffic["trafficItem"]] == ["Data", "Later"]


def test_a_value_of_a_host_is_read_by_an_address_of_its_own():
    tree = made(*configuration([], [host(1)]))
    network = asking(tree, f"{ROOT}/topology/1/deviceGroup/1/ethernet/1", ("ipv4",))["ipv4"][0]
    assert network["address"].startswith(f"{ROOT}/multivalue/") and network["address"] != network["gatewayIp"]
    value = asking(tree, network["address"])
    assert (value["pattern"], value["count"], value["href"]) == ("singleValue", 1, network["address"])
    assert value["singleValue"]["value"] == "192.168.0.2"
    again = asking(tree, f"{ROOT}/topology/1/deviceGroup/1/ethernet/1", ("ipv4",))["ipv4"][0]
    assert again["address"] == network["address"], "the same value has the same address"


def test_a_value_of_a_host_that_is_imported_anew_is_another():
    tree = made(*configuration([], [host(1)]))
    tree.take_over({"xpath": "/topology[1]/deviceGroup[1]/ethernet[1]/ipv4[1]", "address": multivalue("x", "10.0.0.1")})
    network = asking(tree, f"{ROOT}/topology/1/deviceGroup/1/ethernet/1", ("ipv4",))["ipv4"][0]
    assert tree.multivalue(network["address"])["singleValue"]["value"] == "10.0.0.1"


def test_headers_are_children_although_they_have_no_number():
    """`stack[@alias = 'ipv4-2']`."""
    tree = made(*configuration([item(1, "Data", DATA)]))
    found = asking(tree, f"{ITEMS}/1/configElement/1", ("stack",), ("field",))
    assert [one["href"].rpartition("/")[2] for one in found["stack"]] == ["1", "2", "3"]
    assert len(found["stack"][1]["field"]) == 3
