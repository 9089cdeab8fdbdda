"""The role and the module that run the generator on a host."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pfctest import options as pfctest_options
from pfctest.frame import decode
from pfctest.tests.namespace import WHY_NOT, namespace, way
from scripts.build_pfctest import build

ANSIBLE = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
STORM = ["--device=eth9", "--duration=60"]
STAND_IN = """
import json, signal, sys, time
if "--dry-run" in sys.argv:
    sys.exit("error: no such option" if "--nonsense" in sys.argv else 0)
if "--refused" in sys.argv:
    sys.exit("error: interface eth9 has a default route")
ended = []
signal.signal(signal.SIGTERM, lambda *_: ended.append(1) if "--deaf" not in sys.argv else None)
while not ended:
    time.sleep(0.01)
print(json.dumps({"open_share": float(sys.argv[-1]) if sys.argv[-1][0].isdigit() else None, "max_open_share": 0.01}))
if "--short" in sys.argv:
    sys.exit("error: the storm is too short to be judged")
"""


@pytest.fixture
def generator(library, tmp_path, monkeypatch):
    """Runs the module on a stand-in for the generator, which sends nothing and ends when it is told to."""
    module, started = library("pfc_generator"), []
    popen = module.subprocess.Popen
    monkeypatch.setattr(module.subprocess, "Popen", lambda *words, **how: started.append(popen(*words, **how))
                        or started[-1])
    (tmp_path / "pfctest.pyz").write_text(STAND_IN)

    def run(state, options=(), check_mode=False):
        return module.run_module({"state": state, "folder": str(tmp_path), "options": list(options)}, check_mode)

    run.module, run.folder = module, tmp_path
    yield run
    if module.InstalledGenerator(str(tmp_path)).is_running():
        module.InstalledGenerator(str(tmp_path)).stop()
    for process in started:
        process.wait()


def test_a_storm_is_started_once_replaced_and_stopped(generator):
    assert generator("started", STORM, check_mode=True) == {"changed": True, "running": False, "report": None}
    assert generator("started", [*STORM, "0.001"]) == {"changed": True, "running": True, "report": None}
    first = generator.module.InstalledGenerator(str(generator.folder)).run
    assert not generator("started", [*STORM, "0.001"])["changed"]
    assert generator("checked") == {"changed": False, "running": True, "report": None}
    assert generator("started", [*STORM, "0.002"])["changed"]
    assert generator.module._started(first["pid"]) != first["started"], "one storm at a time"
    assert generator("stopped", check_mode=True)["running"]
    report = {"open_share": 0.002, "max_open_share": 0.01}
    assert generator("stopped") == {"changed": True, "running": False, "report": report}
    assert generator("stopped") == generator("checked") == {"changed": False, "running": False, "report": report}


def test_a_storm_that_is_slow_to_load_can_be_stopped_as_soon_as_it_is_started(generator):
    (generator.folder / "pfctest.pyz").write_text("import time; time.sleep(1)" + STAND_IN)
    generator("started", [*STORM, "0.001"])
    assert generator("stopped")["report"] == {"open_share": 0.001, "max_open_share": 0.01}


@pytest.mark.parametrize("state, options, sentence", [
    ("started", ["--device=eth9"], "the options have no --duration: a storm needs an end of its own"),
    ("started", [*STORM, "--nonsense"], "error: no such option"),
    ("started", [*STORM, "--refused"], "error: interface eth9 has a default route"),
    ("checked", [], "no storm runs, and none has reported"),
])
def test_what_is_wrong_is_one_sentence(generator, state, options, sentence):
    with pytest.raises(generator.module.GeneratorError) as caught:
        generator(state, options)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("last, sentence", [
    ("0.25", "left the queue open for 25.0000 % of its time, as seen at the sender: expected at most 1 %"),
    ("--short", "the storm is too short to be judged"),
])
def test_a_storm_that_left_the_queue_open_does_not_pass(generator, last, sentence):
    generator("started", [*STORM, last])
    generator("stopped")
    with pytest.raises(generator.module.GeneratorError, match=sentence):
        generator("checked")


def test_a_storm_that_is_to_keep_nothing_shut_is_not_judged_by_a_share(generator):
    generator("started", [*STORM, "--quanta=0", "--rate=9"])
    generator("stopped")
    assert generator("checked")["report"]["open_share"] is None


@pytest.mark.parametrize("wrong, sentence", [
    ([*STORM, "--nonsense"], "no such option"),
    (["--device=eth9"], "the options have no --duration: a storm needs an end of its own"),
    ([*STORM, "--refused"], "interface eth9 has a default route"),
])
def test_no_check_takes_the_storm_before_for_one_that_was_refused(generator, wrong, sentence):
    generator("started", [*STORM, "0.001"])
    generator("stopped")
    with pytest.raises(generator.module.GeneratorError, match=sentence):
        generator("started", wrong)
    for state in ("checked", "stopped", "checked"):
        if state == "stopped":
            generator(state)
            continue
        with pytest.raises(generator.module.GeneratorError) as caught:
            generator(state)
        assert str(caught.value) == f"the last start was refused: {sentence}"
    generator("started", [*STORM, "0.002"])
    assert generator("checked")["running"]


def test_wrong_options_leave_a_running_storm_alone(generator):
    generator("started", [*STORM, "0.001"])
    before = generator.module.InstalledGenerator(str(generator.folder)).run
    with pytest.raises(generator.module.GeneratorError) as caught:
        generator("started", [*STORM, "--nonsense"])
    assert str(caught.value) == "error: no such option"
    assert generator.module.InstalledGenerator(str(generator.folder)).run == before
    with pytest.raises(generator.module.GeneratorError) as caught:
        generator("checked")
    assert str(caught.value) == (
        "the last start was refused (the storm before it still runs): no such option")
    assert generator("started", [*STORM, "0.001"]) == {"changed": False, "running": True, "report": None}
    assert generator("checked")["running"]
    assert generator("stopped")["report"]["open_share"] == 0.001


def test_a_storm_that_was_stopped_for_one_that_fails_is_told(generator):
    generator("started", [*STORM, "0.001"])
    with pytest.raises(generator.module.GeneratorError) as caught:
        generator("started", [*STORM, "--refused"])
    assert str(caught.value) == "error: interface eth9 has a default route; the storm before was stopped"
    assert generator("stopped") == {"changed": False, "running": False, "report": None}


@pytest.mark.parametrize("last", ["SIGTERM", "SIGKILL"])
def test_a_storm_that_ends_just_before_the_signal_has_ended(generator, monkeypatch, last):
    generator("started", [*STORM, "--deaf"])
    kill, pid = os.kill, generator.module.InstalledGenerator(str(generator.folder)).run["pid"]

    def late(number, sent):
        if sent.name == last:
            kill(number, signal.SIGKILL)
            os.waitpid(number, 0)
        kill(number, sent)

    monkeypatch.setattr(generator.module, "STOP_S", 0.1)
    monkeypatch.setattr(generator.module.os, "kill", late)
    assert generator("stopped") == {"changed": True, "running": False, "report": None}
    assert generator.module._started(pid) is None


def test_a_storm_that_does_not_end_is_killed_and_told(generator, monkeypatch):
    monkeypatch.setattr(generator.module, "STOP_S", 0.2)
    generator("started", [*STORM, "--deaf"])
    with pytest.raises(generator.module.GeneratorError, match="did not end within 0.2 s and was killed"):
        generator("stopped")


def test_another_process_with_the_same_number_is_left_alone(generator):
    (generator.folder / "run.json").write_text(json.dumps({"pid": os.getpid(), "started": "1", "options": STORM}))
    assert generator("stopped") == {"changed": False, "running": False, "report": None}


def test_without_the_file_it_says_so(generator):
    (generator.folder / "pfctest.pyz").unlink()
    with pytest.raises(generator.module.GeneratorError, match="holds no pfctest.pyz: copy it there first"):
        generator("started", STORM)


SETTINGS = [
    ({}, ["--priority=3", "--quanta=65535", "--max-open=1"]),
    ({"pfc_generator_rate": 20000}, ["--priority=3", "--quanta=65535", "--max-open=1", "--rate=20000"]),
    ({"pfc_generator_global": True, "pfc_generator_oversample": 4, "pfc_generator_speed": "100G"},
     ["--global", "--quanta=65535", "--max-open=1", "--oversample=4", "--speed=100G"]),
    ({"pfc_generator_priorities": [], "pfc_generator_quanta": "", "pfc_generator_options": ["--p3", "--q3=9"]},
     ["--max-open=1", "--p3", "--q3=9"]),
    ({"pfc_generator_quanta": 0, "pfc_generator_options": ["--rate=max"]},
     ["--priority=3", "--quanta=0", "--max-open=1", "--rate=max"]),
]


@pytest.mark.slow("a playbook for each kind of storm")
def test_the_settings_of_the_role_are_options_that_go_together(tmp_path):
    archive, folder, play = tmp_path / "pfctest.pyz", tmp_path / "there", tmp_path / "play.yml"
    archive.write_text(STAND_IN)
    tasks = [{"include_role": {"name": "pfc_generator", "apply": {"check_mode": True}}},
             {"assert": {"that": ["not pfc_generator_result.running", f"'{folder}' is not exists"]}}]
    for number, (settings, _) in enumerate(SETTINGS):
        tasks += [{"include_role": {"name": "pfc_generator"}, "vars": settings},
                  {"copy": {"src": folder / "run.json", "dest": tmp_path / f"{number}.json"}}]
    tasks.append({"include_role": {"name": "pfc_generator"}, "vars": {"pfc_generator_state": "absent"}})
    setting = {"ansible_python_interpreter": sys.executable, "pfc_generator_archive": archive,
               "pfc_generator_folder": folder, "pfc_generator_interfaces": ["eth9"]}
    play.write_text(yaml.safe_dump(json.loads(json.dumps(
        [{"hosts": "localhost", "connection": "local", "gather_facts": False, "vars": setting, "tasks": tasks}],
        default=str))))
    done = subprocess.run([BIN / "ansible-playbook", "-i", "localhost,", play], capture_output=True, text=True,
                          env={**os.environ, "ANSIBLE_CONFIG": str(ANSIBLE / "ansible.cfg"),
                               "ANSIBLE_HOME": str(tmp_path / "home")}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for number, (_, wanted) in enumerate(SETTINGS):
        found = json.loads((tmp_path / f"{number}.json").read_text())["options"]
        assert sorted(found) == sorted(["--device=eth9", "--duration=60", *wanted])
        pfctest_options.read(found)
    assert not folder.exists()


PLAY = """
- hosts: localhost
  connection: local
  gather_facts: false
  vars: {{ansible_python_interpreter: {python}, pfc_generator_archive: {archive}, pfc_generator_folder: {folder},
          pfc_generator_interfaces: [near, near2], pfc_generator_priorities: [3, 4], pfc_generator_max_open: 100}}
  tasks:
    - include_role: {{name: pfc_generator}}
    - assert: {{that: pfc_generator_result.changed and pfc_generator_result.running}}
    - include_role: {{name: pfc_generator}}
      vars: {{pfc_generator_state: absent}}
    - assert: {{that: pfc_generator_result.report.ended_by == "SIGTERM" and pfc_generator_result.report.released}}
"""


@pytest.mark.skipif(way() is None, reason=WHY_NOT)
def test_the_role_on_a_host_with_two_cables(tmp_path):
    build(tmp_path / "pfctest.pyz")
    folder, play = tmp_path / "there", tmp_path / "play.yml"
    play.write_text(PLAY.format(python=sys.executable, archive=tmp_path / "pfctest.pyz", folder=folder))
    with namespace() as place:
        place.add_cable(("near", "far"), ("near2", "far2"))
        with place.receiving("far") as first, place.receiving("far2") as second:
            done = place.run("env", f"ANSIBLE_CONFIG={ANSIBLE / 'ansible.cfg'}", f"ANSIBLE_HOME={tmp_path / 'home'}",
                             BIN / "ansible-playbook", "-i", "localhost,", play, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
            for frames in (first.data(), second.data()):
                assert {tuple(decode(data).pauses.items()) for data in frames[:-3]} == {((3, 65535), (4, 65535))}
                assert [decode(data).pauses for data in frames[-3:]] == [{3: 0, 4: 0}] * 3
    assert not folder.exists()
