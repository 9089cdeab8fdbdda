"""Faults from a file of one's own: how they are found, what is refused, and the example of the documentation."""
from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from virtual_testbed.dataplane.model.hooks import Fault, Scope
from virtual_testbed.faults import FaultError, absolute, parse_fault
from virtual_testbed.supervision import cli
from virtual_testbed.supervision.lifecycle import LifecycleError
from virtual_testbed.tests.dataplane.testbeds import SECOND, SWITCH, data, network, storm, switch_config

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs/faults.md"


HEAD = "from virtual_testbed.dataplane.model.hooks import Fault\n"
GOOD = HEAD + '''
class Deaf(Fault):
    name = "deaf"
    options = ("queue",)

    def shut_queues(self, priority, queues):
        return queues - {int(self.values.get("queue", 3))}
'''


@pytest.fixture
def write(tmp_path):
    def write(text, name="own.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path
    return write


def test_a_class_of_a_file(write):
    fault = parse_fault(f"{write(GOOD)}:Deaf@Ethernet8,queue=4,priority=4,from=1s")
    assert isinstance(fault, Fault) and fault.scope == Scope(None, "Ethernet8", 4, from_ps=SECOND)
    assert fault.shut_queues(4, frozenset({3, 4})) == frozenset({3})
    assert parse_fault(f"{write(GOOD)}:Deaf").scope == Scope()


def test_a_folder_may_be_called_anything(write, tmp_path):
    (tmp_path / "a@b, c:d").mkdir()
    assert parse_fault(f"{write(GOOD, 'a@b, c:d/own.py')}:Deaf@Ethernet8").scope == Scope(None, "Ethernet8")


def test_a_relative_path_is_the_callers(write, tmp_path, monkeypatch):
    write(GOOD)
    monkeypatch.chdir(tmp_path)
    assert absolute("own.py:Deaf@Ethernet8,queue=4") == f"{tmp_path}/own.py:Deaf@Ethernet8,queue=4"
    assert parse_fault("own.py:Deaf@Ethernet8").scope.port == "Ethernet8"
    for spec in ("pause-ignored@Ethernet8", "nonsense", f"{tmp_path}/own.py:Deaf", ""):
        assert absolute(spec) == spec


@pytest.mark.parametrize("text, name, sentence", [
    ("", "Deaf", "own.py has no class 'Deaf' (it has: none)"),
    (GOOD, "deaf", "own.py has no class 'deaf' (it has: Deaf)"),
    (GOOD, "", "own.py has no class '' (it has: Deaf)"),
    (GOOD, "HEAD", "own.py has no class 'HEAD'"),
    (GOOD, "Fault", "class Fault of {path} is not derived from virtual_testbed.faults.Fault"),
    ("class Deaf: pass", "Deaf", "class Deaf of {path} is not derived from virtual_testbed.faults.Fault"),
    ("import nowhere", "Deaf", "own.py cannot be imported: ModuleNotFoundError: No module named 'nowhere'"),
    ("class Deaf(", "Deaf", "own.py cannot be imported: SyntaxError: "),
    ("raise SystemExit", "Deaf", "own.py cannot be imported: SystemExit"),
    (GOOD.replace("name =", "title ="), "Deaf", "class Deaf of {path} has no name: expected a line such as name = "),
    (GOOD.replace('("queue",)', '"queue"'), "Deaf", "has options that are no tuple of texts"),
    (GOOD.replace("shut_queues", "shut_queue"), "Deaf", "'shut_queue' is no hook (docs/faults.md lists them)"),
    (HEAD + "class Deaf(Fault):\n    name = 'deaf'\n", "Deaf", "class Deaf of {path} overrides no hook"),
    (GOOD.replace('"queue",', '"from",'), "Deaf", "has an option 'from', which every fault has already"),
])
def test_a_file_that_cannot_be_used(write, text, name, sentence):
    path = write(text)
    with pytest.raises(FaultError) as caught:
        parse_fault(f"{path}:{name}@Ethernet8")
    assert str(caught.value).startswith(f"fault '{path}:{name}@Ethernet8': ")
    assert sentence.format(path=path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.fixture
def up(monkeypatch, tmp_path):
    """`virtual-testbed up vtb-t0` that starts nothing: what it said, and the faults it would start with."""
    started = []

    def bring_up(testbed, folder, options):
        started.extend(options.faults)
        raise LifecycleError("not started")

    monkeypatch.setattr(cli, "bring_up", bring_up)
    monkeypatch.chdir(tmp_path)

    def up(spec):
        started.clear()
        command = ["up", "vtb-t0", "--testbed-file", str(ROOT / "ansible/testbed.yaml"), "--fault", spec]
        return CliRunner().invoke(cli.main, command).output, list(started)
    return up


def test_the_engine_gets_an_absolute_path(up, write, tmp_path):
    write(GOOD)
    assert up("own.py:Deaf@Ethernet8,queue=4") == (
        "error: not started\n", [f"{tmp_path}/own.py:Deaf@Ethernet8,queue=4"])


@pytest.mark.parametrize("spec, sentence", [
    ("pause-ignored@*,speed=400G", "fault 'pause-ignored@*,speed=400G': testbed vtb-t0 has no link of 400000 Mb/s "
                                   "(it has: 100000)"),
    ("pause-ignored@Ethernet1", "fault 'pause-ignored@Ethernet1': no port Ethernet1 on vtb-t0-01"),
    ("pause-ignored@sw:*", "fault 'pause-ignored@sw:*': testbed vtb-t0 has no switch sw (it has: vtb-t0-01)"),
    ("own.py:Deaf", "own.py\n"),
])
def test_what_the_testbed_does_not_have_is_refused(up, spec, sentence):
    said, started = up(spec)
    assert said.startswith("error: fault ") and sentence in said and not started


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FaultError, match=f"there is no file {re.escape(str(tmp_path))}/own.py"):
        parse_fault(f"{tmp_path}/own.py:Deaf")


def test_options_of_an_own_class_are_checked(write):
    path = write(GOOD + "\n    def __init__(self, scope, **options):\n        super().__init__(scope, **options)\n"
                        "        int(options.get('queue', 3))\n")
    with pytest.raises(FaultError, match="own.py:Deaf@Ethernet8,queue=x': invalid literal for int"):
        parse_fault(f"{path}:Deaf@Ethernet8,queue=x")
    with pytest.raises(FaultError, match="has no option 'colour': expected priority, speed, from, until, queue"):
        parse_fault(f"{path}:Deaf@Ethernet8,colour=x")


def test_an_own_class_may_derive_from_a_built_in_one(write):
    path = write("from virtual_testbed.faults import BUILT_IN\n\n\n"
                 "class Fast(BUILT_IN['pause-leaks']):\n    name = 'fast'\n    defaults = {'period_ms': 1}\n")
    assert parse_fault(f"{path}:Fast").leak_period_ps(3, 0) == SECOND // 1000


def test_the_worked_example_of_the_documentation(tmp_path):
    """Its file through the specification and the data plane: the storm on 3 shuts queue 4, and is counted as 3."""
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "shifted.py").write_text(next(block for block in blocks if "class Shifted" in block), encoding="utf-8")

    def received(spec):
        fault = [parse_fault(f"{tmp_path}/{spec}")] if spec else []
        flows = [storm("storm", 0, {3: 0xFFFF}), data("three", 1, 0, [3], 3), data("four", 1, 0, [4], 4)]
        net = network(switch_config(2), flows, fault)
        net.start_flows(["storm"])
        net.advance_to(SECOND // 10)
        net.start_flows(["three", "four"])
        net.advance_to(SECOND // 5)
        port = net.switch_counters(SWITCH).ports["Ethernet0"]
        assert port.pfc_rx[3] > 500 and not any(port.pfc_rx[:3] + port.pfc_rx[4:])
        return [net.flow_counters(name).frames_rx for name in ("three", "four")]

    healthy = received(None)
    assert healthy[0] == 0 and healthy[1] > 500_000
    assert received("shifted.py:Shifted@Ethernet0,priority=3") == received("shifted.py:Shifted@dut:Ethernet0") == [
        healthy[1], 0]
    assert min(received("shifted.py:Shifted@Ethernet0,by=2")) > 500_000
    for elsewhere in ("Shifted@Ethernet4", "Shifted@Ethernet0,priority=4"):
        assert received(f"shifted.py:{elsewhere}") == healthy
