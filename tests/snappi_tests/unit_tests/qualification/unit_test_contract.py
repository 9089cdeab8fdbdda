"""The qualification asks sonic-mgmt only for what sonic-mgmt has: `upstream_contract.json` says which module has which
fixture, of which scope, asking for what, and what some of them look like, as facts of one commit."""

import ast
import json
import re
from pathlib import Path

import pytest

from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import connected_port
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.ports import ConnectedPort
from tests.common.unit_tests.pfc.fakes import FakeHost, FakeWorld

HERE = Path(__file__).resolve().parent
TESTS = HERE.parents[2]
SUITE = TESTS / "snappi_tests/pfc/qualification"
CONTRACT = json.loads((HERE / "upstream_contract.json").read_text(encoding="utf-8"))
ROOT_CONFTEST = "tests.conftest"
OF_PYTEST = {"request", "pytestconfig", "tmp_path", "caplog", "monkeypatch"}
SCOPES = ("function", "class", "module", "package", "session")
IN_SONIC_MGMT = not (TESTS / "common/standalone.py").exists()


def parsed(path):
    """A file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def scope_of(function):
    """The scope of a fixture, None for any other function. `name=` gives it another name, which is not ours to use."""
    for decorator in function.decorator_list:
        if "pytest.fixture" in ast.unparse(decorator):
            keywords = getattr(decorator, "keywords", [])
            return next((word.value.value for word in keywords if word.arg == "scope"), "function")
    return None


def fixtures_in(path):
    """Every fixture that a file defines: name -> (scope, the names that it asks for)."""
    functions = [node for node in parsed(path).body if isinstance(node, ast.FunctionDef)]
    found = {one.name: (scope_of(one), [argument.arg for argument in one.args.args]) for one in functions}
    return {fixture_name(one): found[one.name] for one in functions if found[one.name][0]}


def fixture_name(function):
    """The name of a fixture: its `name=`, else the function's."""
    keywords = [word for one in function.decorator_list for word in getattr(one, "keywords", [])]
    return next((word.value.value for word in keywords if word.arg == "name"), function.name)


def imported(path):
    """The fixtures that a file's top level imports from sonic-mgmt's modules, also under an `if`: name -> module."""
    nodes = [node for top in parsed(path).body if isinstance(top, ast.ImportFrom | ast.If) for node in ast.walk(top)]
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module in CONTRACT["fixtures"]]
    functions = {name for module in CONTRACT["functions"].values() for name in module}
    return {alias.name: node.module for node in froms for alias in node.names if alias.name not in functions}


def available():
    """The fixtures that the suite's tests find in a sonic-mgmt tree, with their scopes."""
    scopes = {name: fact["scope"] for name, fact in CONTRACT["fixtures"][ROOT_CONFTEST].items()}
    scopes["conn_graph_facts"] = "module"  # sonic-mgmt's tests/conftest.py imports this one for everybody
    for name, module in imported(SUITE / "conftest.py").items():
        scopes[name] = CONTRACT["fixtures"][module].get(name, {"scope": None})["scope"]
    return scopes


def asked_for():
    """(who asks, scope of who asks, what for) of every fixture and test of the suite."""
    for path in sorted(SUITE.rglob("*.py")):
        for name, (scope, names) in fixtures_in(path).items():
            yield from ((name, scope, one) for one in names)
        for node in parsed(path).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield from ((node.name, "function", argument.arg) for argument in node.args.args)


def test_every_fixture_that_is_asked_for_is_there_and_lives_long_enough():
    """The suite's own, pytest's, parameters, sonic-mgmt's conftest, and what the suite imports from its modules."""
    own = {name: scope for path in SUITE.rglob("*.py") for name, (scope, _) in fixtures_in(path).items()}
    parameters = dict.fromkeys([*CONTRACT["parameters"], "plan_case", "pfc_target"], "session")
    scopes = {**available(), **own, **parameters}
    asked = [one for one in asked_for() if one[2] not in OF_PYTEST]
    assert len(asked) > 8, f"too few were found to trust the search: {asked}"
    for who, scope, name in asked:
        assert scopes.get(name), f"{who} asks for the fixture {name}, which sonic-mgmt does not give it"
        longer = SCOPES.index(scopes[name]) >= SCOPES.index(scope)
        assert longer, f"{who} ({scope}) asks for {name}, which lives for a {scopes[name]} only"


def test_what_is_imported_finds_what_it_asks_for_in_turn():
    """sonic-mgmt's test modules import each fixture one by one, and those that these ask for."""
    scopes = available()
    for name, module in imported(SUITE / "conftest.py").items():
        assert name in CONTRACT["fixtures"][module], f"{module} has no fixture {name}"
        missing = set(CONTRACT["fixtures"][module][name]["asks_for"]) - set(scopes) - OF_PYTEST
        assert not missing, f"{name} asks for {sorted(missing)}, which the suite's conftest does not import"


def test_a_port_is_read_in_the_shape_that_the_fixture_has():
    """A row of `get_snappi_ports`, and its link in `conn_graph_facts`."""
    row = CONTRACT["shapes"]["get_snappi_ports"]
    port = connected_port(row)
    assert port == ConnectedPort("sonic-s6100-dut1", "Ethernet72", "10.36.78.53", "10.36.78.53;4;7", 100000), port
    links = CONTRACT["shapes"]["conn_graph_facts"]["device_conn"]
    assert int(links[port.device][port.port]["speed"]) == port.speed_mbps, "the link's speed is not the port's"


def test_options_that_are_read_are_the_suites_or_sonic_mgmts():
    """`getoption` names an option of the suite's own, of sonic-mgmt or of pytest-xdist with a default."""
    nodes = [node for path in sorted(SUITE.rglob("*.py")) for node in ast.walk(parsed(path))]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    read = {ast.literal_eval(node.args[0]) for node in calls if getattr(node.func, "attr", "") == "getoption"
            and len(node.args) == 1 and isinstance(node.args[0], ast.Constant)}
    unknown = {name for name in read if not name.startswith("pfc_")} - set(CONTRACT["options"])
    assert "testbed" in read and not unknown, f"{sorted(unknown)} may be unknown in a sonic-mgmt tree"


def test_markers_are_the_suites_pytests_or_sonic_mgmts():
    """A misspelt one would do nothing."""
    nodes = [node for path in sorted(SUITE.glob("test_*.py")) for node in ast.walk(parsed(path))]
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pytest.mark"}
    unknown = {name for name in used if not name.startswith("pfc_")} - {"parametrize"} - set(CONTRACT["markers"])
    assert "topology" in used and not unknown, f"{sorted(unknown)} may mean nothing in a sonic-mgmt tree"


def test_sonic_mgmt_is_as_the_contract_says_of_markers():
    """They are in the `pytest.ini` around the suite."""
    declared = set(re.findall(r"^ +(\w+)", (TESTS / "pytest.ini").read_text(encoding="utf-8"), re.MULTILINE))
    missing = set(CONTRACT["markers"]) - declared
    assert not missing, f"tests/pytest.ini declares no {sorted(missing)}"


@pytest.mark.skipif(not IN_SONIC_MGMT, reason="there is no telemetry but sonic-mgmt's own")
@pytest.mark.parametrize("method", CONTRACT["telemetry"])
def test_sonic_mgmt_is_as_the_contract_says_of_telemetry(method):
    """In a sonic-mgmt tree: reporter and gauge take what the suite gives them."""
    class_name, name = method.split(".")
    telemetry = TESTS / "common/telemetry"
    found = [node for path in (telemetry / "base.py", telemetry / "metrics/gauge.py") for top in parsed(path).body
             if isinstance(top, ast.ClassDef) and top.name == class_name for node in top.body
             if isinstance(node, ast.FunctionDef) and node.name == name]
    arguments = [argument.arg for node in found for argument in node.args.args[1:]]
    assert arguments == CONTRACT["telemetry"][method], f"{method} takes {arguments}"


@pytest.mark.skipif(not IN_SONIC_MGMT, reason="the functions around the suite are this project's own, not sonic-mgmt's")
@pytest.mark.parametrize("module", CONTRACT["functions"])
def test_sonic_mgmt_is_as_the_contract_says_of_functions(module):
    """In a sonic-mgmt tree: each takes what the contract says."""
    top = parsed(TESTS.parent / f"{module.replace('.', '/')}.py").body
    found = {one.name: [argument.arg for argument in one.args.args] for one in top if isinstance(one, ast.FunctionDef)}
    for name, arguments in CONTRACT["functions"][module].items():
        assert found.get(name) == arguments, f"{name} of {module} takes {found.get(name)}"


@pytest.mark.skipif(not IN_SONIC_MGMT, reason="the fixtures around the suite are this project's own, not sonic-mgmt's")
@pytest.mark.parametrize("module", CONTRACT["fixtures"])
def test_sonic_mgmt_is_as_the_contract_says(module):
    """In a sonic-mgmt tree: the fixtures are where the contract has them, and ask for what it says."""
    found = fixtures_in(TESTS.parent / f"{module.replace('.', '/')}.py")
    for name, fact in CONTRACT["fixtures"][module].items():
        assert name in found, f"{module} has no fixture {name} (any more)"
        assert found[name][0] == fact["scope"], f"{name} of {module} is of scope {found[name][0]}"
        more = set(found[name][1]) - set(fact.get("asks_for", found[name][1]))
        assert not more, f"{name} of {module} asks for {sorted(more)} too: the suite's conftest has to import that"


@pytest.mark.skipif(not IN_SONIC_MGMT, reason="the host objects around the suite are this project's own")
def test_sonic_mgmt_is_as_the_contract_says_of_several_asics():
    """In a sonic-mgmt tree: the host object's `shell` reaches the switch itself, which says how many ASICs it has."""
    pytest.importorskip("tests.common.devices.multi_asic", exc_type=ImportError)
    from tests.common.devices.multi_asic import MultiAsicSonicHost

    class Switch(FakeHost):
        def shell(self, command, **options):
            answer = super().shell(command, **options)
            return {**answer, "stdout": answer["stdout"].replace("ASIC Count: 1", "ASIC Count: 3")}

    host = object.__new__(MultiAsicSonicHost)
    host.sonichost = Switch(FakeWorld())
    host.hostname = Switch.hostname
    with pytest.raises(QualificationError, match="it has 3 ASICs, each with databases of its own; expected one"):
        Dut(host).state()
