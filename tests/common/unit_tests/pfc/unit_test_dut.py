"""A switch is read in few calls. The commands run in a real shell, and print what a file of their name has."""

import pytest

from tests.common.pfc.lab.dut import Dut, Output, checked, run_batch
from tests.common.pfc.lab.observer import RunObserver, evidence_of
from tests.common.pfc.lab.reservation import Reservation, ReservationLost
from tests.common.pfc.model.errors import BatchBroken, QualificationError, SwitchUnreachable
from tests.common.unit_tests.pfc.shell_switch import ShellHost

STATUS = """\
  Interface        Lanes    Speed    MTU    FEC        Alias    Vlan    Oper    Admin    Type    Asym PFC
-----------  -----------  -------  -----  -----  -----------  ------  ------  -------  ------  ----------
  Ethernet1           65      25G   9100     rs       etp1b   trunk      up       up   QSFP28         N/A
 Ethernet10        66,67      N/A   9100    N/A      etp3c   routed    down     down      N/A         N/A
"""
PFC = """\
   Port {way}    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
----------  ------  ------  ------  ------  ------  ------  ------  ------
 Ethernet1       0       0       0   1,234       0       0       0       0
Ethernet10     N/A     N/A     N/A     N/A     N/A     N/A     N/A     N/A
"""
QUEUES = """\
      Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes
----------  -----  --------------  ---------------  -----------  ------------
 Ethernet1    UC3              10            10240            0             0
Ethernet10    UC3           7,000          7168000            0             0
"""
VERSION = "SONiC Software Version: SONiC.20260831.01\nHwSKU: from-version\nASIC: broadcom\nASIC Count: 1\n"
METADATA = '{"DEVICE_METADATA": {"localhost": {%s}}}'
PRINTED = {
    "show interfaces status": STATUS,
    "show pfc counters": f"{PFC.format(way='Rx')}\n{PFC.format(way='Tx')}",
    "show queue counters": QUEUES,
    "show queue counters Ethernet1": QUEUES,
    "show version": VERSION,
    "sonic-cfggen -d --print-data": METADATA % '"hwsku": "Arista-7060CX-32S-C32"',
    "sonic-db-cli CONFIG_DB KEYS PFC_WD|*": "PFC_WD|GLOBAL\nPFC_WD|Ethernet64\nPFC_WD|Ethernet1\n",
    "pfcwd show stats": "",
}
DLR = "sonic-db-cli STATE_DB HGET SWITCH_CAPABILITY|switch PFC_DLR_INIT_CAPABLE"
RECOVERY = "sonic-db-cli STATE_DB HGET PFC_WD_STATE_TABLE|PFC_WD RECOVERY_MECHANISM"


class Kept(RunObserver):
    """Keeps what it was told of commands."""

    def __init__(self):
        self.told = []

    def commands_run(self, device, commands, texts):
        self.told.append((device, dict(commands), dict(texts)))


class FileReservation(Reservation):
    """A switch is this run's for as long as it has a file."""

    def still_ours(self):
        return "cat ours"


@pytest.fixture
def switch(tmp_path):
    """A switch whose commands print files of their names."""
    (tmp_path / "bin").mkdir()
    for name in ("show", "sonic-db-cli", "sonic-cfggen", "pfcwd"):
        path = tmp_path / "bin" / name
        path.write_text('#!/bin/sh\nexec cat "${0##*/} $*"\n')
        path.chmod(0o755)
    host = ShellHost(tmp_path)
    for command, text in PRINTED.items():
        says(host, command, text)
    return host


def says(switch, command, text):
    """From now on a command prints this."""
    (switch.home / command).write_text(text)


class Answering:
    """A host that gives one answer, or raises it."""

    hostname = "vtb-t0-01"

    def __init__(self, answer):
        self.answer = answer

    def shell(self, command, **options):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def refusal(function, *arguments):
    """The sentence with which something is refused."""
    with pytest.raises(QualificationError) as error:
        function(*arguments)
    assert "\n" not in str(error.value), f"more than one sentence: {error.value}"
    return str(error.value)


def test_each_command_of_a_batch_has_its_own_output_and_status(switch):
    """Whatever became of those before it: one that fails, ends its shell, goes elsewhere, prints no end of line or into
    stderr, or ends with a comment."""
    commands = {"one": "printf 1; exit 3", "two": "cd /; echo 2 >&2", "three": "ls ours",
                "four": "printf '4\\n\\n4' # 4", "none": "true"}
    (switch.home / "ours").touch()
    found = {name: (one.text.rstrip("\n"), one.status) for name, one in run_batch(switch, commands).items()}
    assert found == {"one": ("1", 3), "two": ("2", 0), "three": ("ours", 0), "four": ("4\n\n4", 0), "none": ("", 0)}, (
        found
    )


def test_a_command_that_failed_is_refused_with_its_first_line():
    outputs = {"pfc": Output("\n  Traceback ...\nline 2", 1), "ports": Output("as ever", 0)}
    host = Answering({})
    assert checked(host, "ports", outputs) == "as ever", "status 0"
    assert refusal(checked, host, "pfc", outputs) == "vtb-t0-01: `pfc` ended with status 1: Traceback ...", "the first"
    assert [one.shown for one in outputs.values()] == ["\n  Traceback ...\nline 2\nexit status 1", "as ever"], outputs


def test_a_batch_that_a_shell_does_not_get_through_is_refused(switch):
    """By the first command that did not end, and with what the shell said."""
    with pytest.raises(BatchBroken) as error:
        run_batch(switch, {"one": "echo 1", "two": "echo 'unclosed", "three": "echo 3"})
    assert error.value.said and error.value.name in ("one", "two"), vars(error.value)
    assert str(error.value).startswith("vtb-t0-01: the command `echo "), str(error.value)


@pytest.mark.parametrize(("answer", "said"), [
    ({"stdout": "", "stderr": "\nkilled\nby init", "rc": 137}, "killed"),
    ({"msg": "Timeout of 60 s exceeded", "failed": True}, "Timeout of 60 s exceeded"),
    ({"stdout": "half of it"}, "half of it"),
    ({}, "no output"),
])
def test_why_a_batch_did_not_end(answer, said):
    """What Ansible says where a shell says nothing."""
    sentence = refusal(run_batch, Answering(answer), {"pfc": " show pfc counters "})
    assert sentence == f"vtb-t0-01: the command `show pfc counters` did not end: {said}", sentence


@pytest.mark.parametrize(("error", "said"), [
    (ConnectionError("refused"), "vtb-t0-01: refused"),
    (RuntimeError("module shell failed:\n  vtb-t0-01 UNREACHABLE"), "module shell failed: vtb-t0-01 UNREACHABLE"),
    (TimeoutError(), "vtb-t0-01: TimeoutError"),
])
def test_a_switch_that_cannot_be_reached_is_named_once(error, said):
    """In one line, whichever exception the layer below has for it."""
    with pytest.raises(SwitchUnreachable) as found:
        run_batch(Answering(error), {"one": "true"})
    assert str(found.value) == said, str(found.value)


def test_what_a_switch_is(switch):
    """Its name of the hardware is that of CONFIG_DB; a port that says no speed has 0."""
    state = Dut(switch).state()
    assert (state.device, state.os_version, state.hwsku, state.asic, state.serial) == (
        "vtb-t0-01", "SONiC.20260831.01", "Arista-7060CX-32S-C32", "broadcom", ""
    ), state
    speeds = {name: (port.oper_up, port.speed_mbps) for name, port in state.interfaces.items()}
    assert speeds == {"Ethernet1": (True, 25000), "Ethernet10": (False, 0)}, speeds


@pytest.mark.parametrize(("own", "traits", "asic"), [
    ("", {}, "broadcom"),
    ('"platform": "x86_64-arista_7800r3_48cq2_lc", "switch_type": "voq"', {},
     "broadcom voq x86_64-arista_7800r3_48cq2_lc"),
    ('"platform": "none-such"', {DLR: "true", RECOVERY: "Hardware"}, "broadcom none-such dlr:true recovery:hardware"),
    ("", {DLR: "None", RECOVERY: ""}, "broadcom"),
])
def test_all_that_tells_an_asic_is_in_its_name(switch, own, traits, asic):
    """In the order of the deviations' parts; what a switch does not say is left out."""
    says(switch, "sonic-cfggen -d --print-data", METADATA % own)
    for command, text in traits.items():
        says(switch, command, text)
    state = Dut(switch).state()
    assert (state.asic, state.hwsku) == (asic, "from-version"), state


@pytest.mark.parametrize(("count", "said"), [
    ("1", None), ("0", None), ("N/A", None), ("2", "vtb-t0-01: it has 2 ASICs, each with databases of its own; expected"
                                                   " one"),
])
def test_how_many_asics_a_switch_has(switch, count, said):
    """Some images do not know."""
    says(switch, "show version", VERSION.replace("Count: 1", f"Count: {count}"))
    if said is None:
        assert Dut(switch).state().device == "vtb-t0-01", "it can be read"
    else:
        assert refusal(Dut(switch).state) == said, "several"


@pytest.mark.parametrize(("command", "text", "said"), [
    ("sonic-cfggen -d --print-data", "Traceback ...\nline 2",
     "vtb-t0-01: `sonic-cfggen -d --print-data` printed no JSON object: 'Traceback ...'"),
    ("sonic-cfggen -d --print-data", "", "vtb-t0-01: `sonic-cfggen -d --print-data` printed no JSON object: ''"),
    ("sonic-cfggen -d --print-data", "[]", "vtb-t0-01: `sonic-cfggen -d --print-data` printed no JSON object: '[]'"),
    ("show interfaces status", "no table", "`show interfaces status` printed no port: 'no table'"),
])
def test_a_state_that_cannot_be_read_is_refused(switch, command, text, said):
    says(switch, command, text)
    seen = refusal(Dut(switch).state)
    assert seen == said, seen


def test_counters_of_ports_and_queues(switch):
    """A port whose counters are N/A is absent; the queues are those of the port itself, not of Ethernet10; the global
    row of the watchdog is no port."""
    found = Dut(switch).counters(["Ethernet1"])
    assert found.pfc_rx == found.pfc_tx == {"Ethernet1": (0, 0, 0, 1234, 0, 0, 0, 0)}, found
    assert found.queues == {"Ethernet1": {3: 10}}, found.queues
    assert (found.watchdog, found.watchdog_ports) == ({}, ("Ethernet1", "Ethernet64")), found
    both = Dut(switch).counters(["Ethernet1", "Ethernet10"]).queues
    assert both == {"Ethernet1": {3: 10}, "Ethernet10": {3: 7000}}, both
    assert Dut(switch).counters().queues == {}, "none is asked for"


@pytest.mark.parametrize(("ports", "command"), [
    ((), None), (("Ethernet1",), "show queue counters Ethernet1"), (("Ethernet1", "Ethernet10"), "show queue counters"),
])
def test_all_counters_are_read_in_one_call(switch, ports, command):
    """The watchdog's first, then what else is asked for; of several ports the queues of all are asked for at once."""
    seen = Kept()
    found = Dut(switch, [seen]).counters(ports, {"rates": "echo 7"}, "pfcwd show stats; echo")
    [(device, commands, texts)] = seen.told
    assert device == "vtb-t0-01" and list(commands)[:2] == ["watchdog", "rates"], commands
    assert commands.get("queues") == command and commands["watchdog"] == "pfcwd show stats; echo", commands
    assert found.printed["rates"].strip() == texts["rates"].strip() == "7", found.printed


def test_further_commands_have_names_of_their_own(switch):
    with pytest.raises(AssertionError, match="names of further commands that are taken: pfc"):
        Dut(switch).counters(also={"pfc": "true"})


@pytest.mark.parametrize("command", ["show pfc counters", "pfcwd show stats", "sonic-db-cli CONFIG_DB KEYS PFC_WD|*"])
def test_counters_that_a_command_does_not_print_are_refused(switch, command):
    """Never taken for 0, nor for a watchdog that is stopped. Observers know what it printed, and how it ended."""
    (switch.home / command).unlink()
    seen = Kept()
    said = refusal(Dut(switch, [seen]).counters)
    name = {"show": "pfc", "pfcwd": "watchdog", "sonic-db-cli": "rows"}[command.split()[0]]
    assert said.startswith(f"vtb-t0-01: `{name}` ended with status 1: "), said
    assert seen.told[0][2][name].endswith("exit status 1"), seen.told


def test_a_switch_that_was_lost_to_another_run_is_told_before_anything_else(switch):
    """Not as the failure of a command that came of it; the look at the reservation is nothing that observers see."""
    (switch.home / "ours").write_text("run-1")
    seen = Kept()
    dut = Dut(switch, [seen], FileReservation(watchdog={}))
    assert dut.ask({"one": "printf 1"}) == {"one": "1"}, "it is this run's"
    (switch.home / "ours").unlink()
    with pytest.raises(ReservationLost, match="^vtb-t0-01: this run has not the switch any more: .*ours"):
        dut.ask({"one": "exit 7"})
    assert [list(texts) for _, _, texts in seen.told] == [["one"], ["one"]], seen.told


def test_what_changes_a_switch_is_done_only_while_it_is_this_runs(switch):
    """Without a reservation there is nothing to ask."""
    dut = Dut(switch, reservation=FileReservation(watchdog={}))
    for has_it in (False, True):
        if has_it:
            (switch.home / "ours").touch()
        status = run_batch(switch, {"change": dut.guarded("touch changed")})["change"].status
        assert ((switch.home / "changed").exists(), status == 0) == (has_it, has_it), f"this run's: {has_it}"
    assert Dut(switch).guarded("touch changed") == "touch changed", "nobody is asked"


def test_rows_are_kept_as_they_were_first_found():
    """A second change of one is not what was found; one that was not there (None) is kept too."""
    kept = Reservation(watchdog={"GLOBAL": {"POLL_INTERVAL": "200"}})
    kept.keep({"PORT": {"Ethernet0": {"speed": "100000"}}, "QUEUE": {"Ethernet0|3": None}})
    kept.keep({"PORT": {"Ethernet0": {"speed": "40000"}, "Ethernet4": {"speed": "25000"}}})
    kept.keep({"QUEUE": {"Ethernet0|3": {"scheduler": "scheduler.1"}}})
    assert kept.rows == {
        "PORT": {"Ethernet0": {"speed": "100000"}, "Ethernet4": {"speed": "25000"}}, "QUEUE": {"Ethernet0|3": None},
    }, kept.rows
    assert kept.remedy == "PFC_WD has to be {'GLOBAL': {'POLL_INTERVAL': '200'}} again, by hand", kept.remedy


def test_evidence_of_all_who_look_on():
    """Each is asked for the flows of one port; who keeps nothing has none."""
    class Frames(RunObserver):
        """Keeps flows."""

        def evidence(self, flows_of=""):
            return {"frames": [name for name in ("A Ethernet0", "B Ethernet4") if name.endswith(flows_of)]}

    assert evidence_of([RunObserver(), Frames()], "Ethernet4") == {"frames": ["B Ethernet4"]}, "of one port"
    assert evidence_of([Frames()]) == {"frames": ["A Ethernet0", "B Ethernet4"]}, "of all ports"
    assert evidence_of([]) == {}, "nobody looks on"
