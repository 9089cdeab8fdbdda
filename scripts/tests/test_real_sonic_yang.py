"""Configurations judged by YANG models; models, translation and test data are our own, so no checkout is needed."""
from __future__ import annotations

import copy
import json

import pytest

from scripts import real_sonic
from scripts.against_sonic import configurations, deviations, yang
from scripts.against_sonic.checkout import Checkout, CheckoutError
from scripts.against_sonic.configurations import ConfigSnapshot
from scripts.real_sonic import DIFFERS, EQUAL, REFUSED, main

for _package in yang.PACKAGES:
    pytest.importorskip(_package, reason="the extra `yang` is not installed")

PORTS = """
module sonic-port {
  yang-version 1.1;
  namespace "http://example.com/sonic-port";
  prefix port;
  import sonic-limits { prefix limits; }
  container sonic-port {
    container PORT {
      list PORT_LIST {
        key "name";
        leaf name { type string; }
        leaf mtu { type limits:mtu; }
        choice kind {
          leaf speed { type uint32; }
          leaf-list speeds { type uint32; default 7; }
        }
      }
    }
  }
}
"""
LIMITS = """
module sonic-limits {
  yang-version 1.1;
  namespace "http://example.com/sonic-limits";
  prefix limits;
  import ietf-inet-types { prefix inet; }
  typedef address { type inet:ip-address; }
  typedef mtu { type uint16 { range "68..{{ 9216 if yang_model_type == 'py' else 0 }}"; } }
}
"""
INTERFACES = """
module sonic-interface {
  yang-version 1.1;
  namespace "http://example.com/sonic-interface";
  prefix interface;
  import sonic-port { prefix port; }
  container sonic-interface {
    container INTERFACE {
      list INTERFACE_LIST {
        key "name prefix";
        leaf name { type leafref { path /port:sonic-port/port:PORT/port:PORT_LIST/port:name; } }
        leaf prefix { type string; }
        leaf gateway { type string; must "contains(., '.')"; }
      }
    }
  }
}
"""
TRANSLATION = '''
import json
from glob import glob

import libyang as ly


class SonicYangException(Exception):
    pass


class SonicYang:
    """Translates as SONiC's does: by the tree of the models."""

    def __init__(self, folder, print_log_enabled):
        self._folder, self.ctx = folder, ly.Context(folder)
        self.confDbYangMap, self.tablesWithOutYang, self.elementPath = {}, {}, []

    def loadYangModel(self):
        names = [self.ctx.parse_module(path, ly.IOType.FILEPATH, "yang").name() for path in glob(self._folder + "/*")]
        for name in names:
            for top in self.ctx.get_module(name).children(types=(ly.SNode.CONTAINER,)):
                for table in top.children(types=(ly.SNode.CONTAINER,)):
                    self.confDbYangMap[table.name()] = (name, next(table.children(types=(ly.SNode.LIST,))))

    def _xlateConfigDBtoYang(self, tables, result):
        for table, rows in tables.items():
            module, model = self.confDbYangMap[table]
            leaves = {leaf.name(): leaf for leaf in model.children(types=(ly.SNode.LEAF, ly.SNode.LEAFLIST))}
            keys = [leaf.name() for leaf in model.keys()]
            result[f"{module}:{module}"] = {table: {model.name(): [
                {**dict(zip(keys, key.split("|"), strict=True)),
                 **{name: int(value) if leaves[name].type().basename() == "uint32" else value
                    for name, value in row.items()}} for key, row in rows.items()]}}

    def loadData(self, config):
        self.tablesWithOutYang = {table: rows for table, rows in config.items() if table not in self.confDbYangMap}
        data = {}
        self._xlateConfigDBtoYang({table: config[table] for table in config if table in self.confDbYangMap}, data)
        try:
            self.ctx.parse_data_mem(json.dumps(data), "json", no_state=True, strict=True, json_string_datatypes=True)
        except Exception as error:
            raise SonicYangException(str(error))
'''
CONFIG = {"PORT": {"Ethernet0": {"mtu": "9100", "speed": "100000"}, "Ethernet4": {}},
          "INTERFACE": {"Ethernet0|10.0.0.1/24": {"gateway": "10.0.0.2"}, "Ethernet4|fc00::1/64": {}}}
CASES = {"GOOD": {"desc": "a port"}, "BAD": {"desc": "too long", "eStrKey": "Range"},
         "SEEN": {"desc": "a default", "eStrKey": "Verify", "verify": {"key": "speed"}}}


@pytest.fixture
def buildimage(tmp_path):
    """A checkout with three models, one of them a template."""
    models = tmp_path / "src/sonic-yang-models"
    texts = {"src/sonic-py-common/sonic_py_common/__init__.py": "", "src/sonic-yang-mgmt/sonic_yang.py": TRANSLATION,
             models / "yang-models/sonic-port.yang": PORTS, models / "yang-models/sonic-interface.yang": INTERFACES,
             models / "yang-templates/sonic-limits.yang.j2": LIMITS,
             models / "tests/yang_model_tests/tests/port.json": json.dumps(CASES),
             models / "tests/yang_model_tests/tests_config/port.json": json.dumps(
                 {"GOOD": _ports("9216"), "BAD": _ports("9217"), "SEEN": _ports("68")})}
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Checkout("sonic-buildimage", tmp_path)


def _ports(mtu):
    return {"sonic-port:sonic-port": {"PORT": {"PORT_LIST": [{"name": "Ethernet0", "mtu": mtu}]}}}


@pytest.fixture
def models(buildimage, tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    assert yang.write_models(buildimage, folder) == 3, sorted(folder.iterdir())
    assert '68..9216"' in (folder / "sonic-limits.yang").read_text(), "the template is rendered as SONiC's build does"
    return folder


def judged(buildimage, models, **changes):
    """What is found after the fields `table__key__field` were set."""
    config = copy.deepcopy(CONFIG)
    for place, value in changes.items():
        table, key, field = place.split("__")
        config.setdefault(table, {}).setdefault(key, {})[field] = value
    return yang.judge(buildimage, models, {"switch": config})["switch"]


def test_a_configuration_that_the_models_accept(buildimage, models):
    assert judged(buildimage, models) == yang.Judgement((), ())


@pytest.mark.parametrize(("place", "value", "violations"), [
    ("PORT__Ethernet0__mtu", "67", ['PORT|Ethernet0 mtu: Unsatisfied range - value "67" is out of the allowed range.']),
    ("PORT__Ethernet0__colour", "red", ["PORT|Ethernet0: cannot be translated: 'colour'",
                                        'INTERFACE|Ethernet0|10.0.0.1/24 name: Invalid leafref value "Ethernet0"']),
    ("INTERFACE__Ethernet8|10.1.0.1/24__gateway", "10.1.0.2",
     ['INTERFACE|Ethernet8|10.1.0.1/24 name: Invalid leafref value "Ethernet8"']),
    ("INTERFACE__Ethernet4|fc00::1/64__gateway", "fc00::2",
     ["INTERFACE|Ethernet4|fc00::1/64 gateway: Must condition \"contains(., '.')\" not satisfied."]),
    ("INTERFACE__Ethernet4__gateway", "1.1.1.1", ["INTERFACE|Ethernet4: cannot be translated: zip() argument 2"])])
def test_what_is_wrong_is_named_by_table_and_key(buildimage, models, place, value, violations):
    found = judged(buildimage, models, **{place: value}).violations
    assert len(found) == len(violations), found
    assert all(one.startswith(start) for one, start in zip(found, violations)), found


def test_all_that_is_wrong_is_found_at_once(buildimage, models):
    found = judged(buildimage, models, PORT__Ethernet0__mtu="1", PORT__Ethernet4__mtu="2", PORT__Ethernet8__tier="x",
                   COLOUR__red__shade="dark")
    assert len(found.violations) == 3 and found.without_model == ("COLOUR",), found


def test_samples_are_judged_as_their_tests_expect(buildimage, models):
    found = yang.judge_samples(buildimage, models)
    assert (found.cases, found.to_refuse, found.otherwise) == (3, 1, {}), found


def test_samples_that_are_judged_otherwise(buildimage, models):
    (buildimage.folder / "src/sonic-yang-models/tests/yang_model_tests/tests/port.json").write_text(
        json.dumps({"GOOD": {"eStr": ["no"]}, "BAD": {"eStrKey": "None"}}))
    found = yang.judge_samples(buildimage, models)
    assert sorted(found.otherwise) == ["BAD", "GOOD"] and "Unsatisfied range" in found.otherwise["BAD"], found


@pytest.mark.parametrize(("mtu", "status"), [("9100", EQUAL), ("9217", DIFFERS)])
def test_the_command(buildimage, monkeypatch, capsys, mtu, status):
    config = {**CONFIG, "PORT": {**CONFIG["PORT"], "Ethernet0": {"mtu": mtu}}}
    snapshot = ConfigSnapshot("vtb", "one", "deployed", config)
    monkeypatch.setattr(configurations, "switch_states", lambda: iter([snapshot]))
    monkeypatch.setattr(real_sonic, "VIOLATIONS", ())
    monkeypatch.setattr(real_sonic, "SAMPLES", {})
    assert main(["--buildimage", str(buildimage.folder)]) == status
    printed = capsys.readouterr().out
    assert "3 models; 3 cases, 1 of them to be refused; 0 judged otherwise" in printed, printed
    assert ("vtb one, deployed: PORT|Ethernet0 mtu: Unsatisfied range" in printed) == (status == DIFFERS), printed


def test_a_known_violation_is_known_only_while_it_is_met(buildimage, monkeypatch, capsys):
    state = ConfigSnapshot("vtb", "one", "deployed", {"PORT": {"Ethernet0": {"mtu": "1"}}})
    monkeypatch.setattr(configurations, "switch_states", lambda: iter([state]))
    monkeypatch.setattr(real_sonic, "SAMPLES", {})
    known = deviations.KnownViolation(r"PORT\|Ethernet0 mtu", "2026-11-24", "a reason")
    monkeypatch.setattr(real_sonic, "VIOLATIONS", (known,))
    assert main(["--buildimage", str(buildimage.folder)]) == EQUAL, capsys.readouterr().out
    state.config["PORT"]["Ethernet0"]["mtu"] = "100"
    assert main(["--buildimage", str(buildimage.folder)]) == DIFFERS
    assert "known since 2026-11-24, 0 times: a reason: take it out of the list" in capsys.readouterr().out


def test_packages_that_are_not_there(buildimage, monkeypatch, capsys):
    monkeypatch.setattr(yang, "PACKAGES", {**yang.PACKAGES, "no_such": "no-such"})
    monkeypatch.setattr(real_sonic, "PARTS", tuple(
        real_sonic.Against(part.needs, part.about, part.run, ("no_such",))
        for part in real_sonic.PARTS if part.packages))
    assert main(["--buildimage", str(buildimage.folder)]) == EQUAL
    assert capsys.readouterr().out.count("no-such not installed (extra `yang`)") == 2


def test_a_checkout_without_models(tmp_path, models, buildimage, capsys):
    (tmp_path / "src/sonic-yang-models").rename(tmp_path / "elsewhere")
    with pytest.raises(CheckoutError, match="has no src/sonic-yang-models"):
        yang.write_models(buildimage, models)
    assert main(["--buildimage", str(tmp_path)]) == REFUSED, capsys.readouterr().err


def test_models_that_are_none(buildimage, models):
    (models / "sonic-port.yang").write_text("module sonic-port {")
    with pytest.raises(CheckoutError, match="its YANG models cannot be asked: .*sonic-port.yang"):
        judged(buildimage, models)
