"""The comparison with SONiC's own code finds what differs; the scripts here are our own, so nothing of SONiC is needed.
"""
from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from scripts import real_sonic
from scripts.against_sonic import decisions, literals, switches
from scripts.against_sonic.checkout import CheckoutError, checkout
from scripts.real_sonic import DIFFERS, EQUAL, REFUSED, main

PLATFORM = "cisco-8000"
WALK = """
redis.call('SELECT', ARGV[1])
local poll = ARGV[3] * 1000
for _, key in ipairs(KEYS) do
  local queue = ARGV[2] .. ':' .. key
  local get = function(field) return redis.call('HGET', queue, field) end
  local runs = get('PFC_WD_STATUS') == 'operational' or get('PFC_WD_ACTION') == 'alert'
  local whole = tonumber(get('%(time)s'))
  if not get('BIG_RED_SWITCH_MODE') and runs == %(runs)s and whole then
    local left = tonumber(get('%(left)s') or whole)
    if get('SAI_QUEUE_ATTR_PAUSE_STATUS') ~= '%(status)s' then
      if runs and get('PFC_WD_STATUS') ~= 'operational' then
        redis.call('PUBLISH', 'PFC_WD_ACTION', '["' .. key .. '","restore"]')
      end
      left = whole
    elseif left %(compared)s poll then
      redis.call('PUBLISH', 'PFC_WD_ACTION', '["' .. key .. '","%(event)s"]')
      left = whole
    else
      left = left - poll
    end
    redis.call('HSET', queue, '%(left)s', left)
  end
end
"""
"""Both scripts of a platform that goes by the state of a queue at a poll."""


@pytest.fixture(autouse=True)
def fewer_queues(monkeypatch):
    monkeypatch.setattr(decisions, "PORTS", decisions.PORTS[:25])


@pytest.fixture
def swss(tmp_path):
    """Write a checkout; `compared`: how the rest of the detection time is compared with an interval."""
    def write(compared="<="):
        (tmp_path / "orchagent").mkdir(exist_ok=True)
        detect = WALK % {"time": "PFC_WD_DETECTION_TIME", "left": "PFC_WD_DETECTION_TIME_LEFT", "runs": "true",
                         "status": "true", "event": "storm", "compared": compared}
        restore = WALK % {"time": "PFC_WD_RESTORATION_TIME", "left": "PFC_WD_RESTORATION_TIME_LEFT", "runs": "false",
                          "status": "false", "event": "restore", "compared": "<="}
        (tmp_path / "orchagent" / f"pfc_detect_{PLATFORM}.lua").write_text(detect)
        (tmp_path / "orchagent" / f"pfc_restore_{PLATFORM}.lua").write_text(restore)
        return tmp_path
    return write


def test_histories_that_are_judged_alike(swss):
    found = decisions.compare(PLATFORM, swss(), 200)
    assert not found.differences, str(found)
    assert found.counts["histories"] == 200 and min(found.counts["storm"], found.counts["restore"]) > 100, found.counts


def test_a_poll_more_or_less_is_found(swss):
    found = decisions.compare(PLATFORM, swss("<"), 200)
    assert len(found.differences) > 20, str(found)
    assert "model storm, scripts nothing; operational" in found.differences[0], found.differences[0]


def test_testbeds_that_run_alike(swss):
    found = switches.compare_testbeds(PLATFORM, swss(), 4)
    assert not found.differences, str(found)
    assert found.counts["storm"] > 3, found.counts


def test_testbeds_that_do_not(swss):
    found = switches.compare_testbeds(PLATFORM, swss("<"), 4)
    assert found.differences and "model" in found.differences[0], str(found)


def test_what_needs_a_checkout_is_left_out_by_name_without_it(capsys):
    assert main([]) == EQUAL, "nothing was compared, so nothing differs"
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.startswith("skipped: ")]) == len(real_sonic.PARTS), lines
    assert all(line.endswith("=<checkout>)") for line in lines if line.startswith("skipped: ")), lines


@pytest.mark.parametrize(("compared", "status"), [("<=", EQUAL), ("<", DIFFERS)])
def test_the_command(swss, monkeypatch, capsys, compared, status):
    monkeypatch.setattr(decisions, "platforms", lambda: (PLATFORM,))
    monkeypatch.setattr(real_sonic, "PARTS", real_sonic.PARTS[:2])  # the third needs a platform's real scripts
    assert main(["--swss", str(swss(compared)), "--histories", "200", "--testbeds", "3"]) == status
    printed = capsys.readouterr().out
    assert "sonic-swss: no git" in printed and "200 histories" in printed, printed


def a_test_with(folder, **texts):
    """A checkout one of whose tests has these texts."""
    (folder / "tests").mkdir()
    lines = [f"{name} = {text!r}" for name, text in texts.items()]
    (folder / "tests/some_test.py").write_text("\n".join(lines) + "\n")
    return folder


STATS = """\
      QUEUE    STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP    TX LAST OK/DROP    RX LAST OK/DROP
-----------  --------  -------------------------  ------------  ------------  -----------------  -----------------
Ethernet0:3   stormed                        1/0           2/3           4/5                2/3                4/5
"""


def test_texts_of_tests_are_understood_or_refused(tmp_path, monkeypatch):
    checkout_of_tests = a_test_with(tmp_path, shown=STATS, other="Name  Value\n----  -----\na         1\n", line="none")
    found = literals.read_literals(checkout_of_tests)
    assert (found.literals, found.understood["pfcwd show stats"], found.broken) == (2, 1, []), found
    assert found.numbers == 10, "two in each column"
    assert found.understood["show interfaces status"] == 0, "it is refused"
    reader = literals.READERS["pfcwd show stats"]
    monkeypatch.setitem(literals.READERS, "pfcwd show stats", replace(reader, read=lambda text, port: {}["column"]))
    broken = literals.read_literals(tmp_path).broken
    assert len(broken) == 2 and "some_test.py:1: pfcwd show stats of Ethernet0: KeyError" in broken[0], broken


PFC_ROWS = """\
      Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
-------------  ------  ------  ------  ------  ------  ------  ------  ------
    Ethernet0     101     102     103   1,104     105     106     107     108
 Ethernet-BP4       1       2       3       4       5       6       7       8
Ethernet-IB0      N/A     N/A     N/A     N/A     N/A     N/A     N/A     N/A
"""
QUEUES_OF_TWO = """\
For namespace asic0:
        Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes    Trim/pkts
------------  -----  --------------  ---------------  -----------  ------------  -----------
   Ethernet0    UC3           2,003               30            4             5          N/A
   Ethernet0   ALL8               8               80            9            90            0

For namespace asic1:
        Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes    Trim/pkts
------------  -----  --------------  ---------------  -----------  ------------  -----------
Ethernet-BP4    UC3              31               30            4             5          N/A
Ethernet-BP4    MC9              77               30            4             5            6
"""
GROUPS_OF_TWO = """\
Ingress PG dropped packets:
          Port    PG3    PG4
--------------  -----  -----
     Ethernet0    300    N/A
Ethernet-BP256      3      4
"""
STATUS_OF_TWO = """\
     Interface    Lanes    Speed    MTU    FEC           Alias             Vlan    Oper    Admin    Type    Asym PFC
--------------  -------  -------  -----  -----  --------------  ---------------  ------  -------  ------  ----------
     Ethernet0    33,34      40G   9100    N/A     Ethernet1/1  PortChannel1002      up       up     N/A         off
  Ethernet-BP0    93,94      N/A   9100    N/A    Ethernet-BP0           routed    down       up     N/A         off
"""
VOQS = """\
              Port    Voq    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes    Credit-WD-Del/pkts
------------------  -----  --------------  ---------------  -----------  ------------  --------------------
  testsw|Ethernet0   VOQ0              11               22            3             4                    10
"""


def test_tables_of_switches_with_several_asics_are_read_by_their_columns(tmp_path):
    """Tables by namespace, ports of the backplane and of an inband link, virtual output queues."""
    found = literals.read_literals(a_test_with(
        tmp_path, pfc=PFC_ROWS, queues=QUEUES_OF_TWO, groups=GROUPS_OF_TWO, status=STATUS_OF_TWO, voqs=VOQS))
    assert not found.broken, found.broken
    understood = {name for name, times in found.understood.items() if times}
    assert understood == {
        "show pfc counters, Rx", "show queue counters", "show queue counters, drops", "show interfaces status",
        "all counters, queues", "all counters, groups", "show priority-group drop counters",
        "show priority-group watermark headroom", "show queue watermark unicast"}, found
    assert found.numbers == 16 + 3 + 3 + 6 + 6 + 3 + 9, "each number of each reader that took it"


@pytest.mark.parametrize(("name", "text"), [
    ("show pfc counters, Rx", PFC_ROWS), ("show queue counters", QUEUES_OF_TWO),
    ("all counters, queues", QUEUES_OF_TWO), ("all counters, groups", GROUPS_OF_TWO),
    ("show interfaces status", STATUS_OF_TWO), ("pfcwd show stats", STATS),
])
def test_a_table_that_lacks_a_column_is_read_without_it_or_refused(tmp_path, name, text):
    """Whichever it is: no error of another kind, and no number under another name."""
    header = next(line for line in text.splitlines() if "  " in line)
    words = re.findall(r"\S+(?: \S+)*", header)
    without = {f"text{number}": text.replace(word, "-" * len(word)) for number, word in enumerate(words)}
    found = literals.read_literals(a_test_with(tmp_path, **without))
    assert found.literals == len(words) and not found.broken, found.broken
    assert literals.READERS[name].read(text, "Ethernet0")


@pytest.mark.parametrize(("replaced", "sentence"), [
    ({("Ethernet0", 3): 4}, "Ethernet0 3: read 4, the text has [1104]"),
    ({("Ethernet0", 3): None}, "Ethernet0 3: read None, the text has [1104]"),
    ({("Ethernet8", 3): 7}, "Ethernet8 3: read 7, the text has no number"),
])
def test_a_wrong_number_is_found(tmp_path, monkeypatch, replaced, sentence):
    reader = literals.READERS["show pfc counters, Rx"]

    def wrong(text, port):
        """As read, but for one number."""
        counts = {**reader.read(text, port), **replaced}
        return {key: value for key, value in counts.items() if value is not None}

    monkeypatch.setitem(literals.READERS, "show pfc counters, Rx", replace(reader, read=wrong))
    broken = literals.read_literals(a_test_with(tmp_path, pfc=PFC_ROWS)).broken
    assert [line.split(": ", 3)[2:] for line in broken] == [sentence.split(": ", 1)], broken


def test_a_number_that_a_text_has_twice_is_no_number(tmp_path):
    """Of one port in two tables it cannot be told which one holds."""
    twice = PFC_ROWS + "\n" + PFC_ROWS.replace("1,104", "1,105")
    broken = literals.read_literals(a_test_with(tmp_path, pfc=twice)).broken
    assert broken and broken[0].endswith("Ethernet0 3: read 1105, the text has [1104, 1105]"), broken


def test_no_checkout(tmp_path, capsys):
    assert main(["--swss", str(tmp_path)]) == REFUSED
    assert "has no orchagent: expected a checkout of sonic-swss" in capsys.readouterr().err


def test_a_checkout_says_what_it_is(tmp_path):
    def git(*words):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True,
                       capture_output=True)
    git("init")
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "-m", "first")
    found = checkout("sonic-swss", str(tmp_path), "file")
    assert len(found.commit().split(" of ")[0]) == 40, found.commit()
    (Path(tmp_path) / "file").write_text("2")
    assert found.commit().endswith(", changed since"), found.commit()
    with pytest.raises(CheckoutError):
        checkout("sonic-swss", str(tmp_path), "orchagent")
