"""The comparison with SONiC's own code finds what differs; the scripts here are our own, so nothing of SONiC is needed.
"""
from __future__ import annotations

import subprocess
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


def test_texts_of_tests_are_understood_or_refused(tmp_path, monkeypatch):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/watchdog_test.py").write_text('''shown = """\\
      QUEUE    STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP    TX LAST OK/DROP    RX LAST OK/DROP
-----------  --------  -------------------------  ------------  ------------  -----------------  -----------------
Ethernet0:3   stormed                        1/0           2/3           4/5                2/3                4/5
"""
other = """\\
Name  Value
----  -----
a         1
"""
line = "no table"
''')
    found = literals.read_literals(tmp_path)
    assert (found.literals, found.understood["pfcwd show stats"], found.broken) == (2, 1, []), found
    assert found.understood["show interfaces status"] == 0, "it is refused"
    monkeypatch.setitem(literals.READERS, "pfcwd show stats", lambda text, port: {}["column"])
    broken = literals.read_literals(tmp_path).broken
    assert len(broken) == 2 and "watchdog_test.py:1: pfcwd show stats of Ethernet0: KeyError" in broken[0], broken


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
