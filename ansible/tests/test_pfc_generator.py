"""The role and the module that run the generator on a host."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

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
    sys.exit("error: interface eth9 does not exist")
ended = []
signal.signal(signal.SIGTERM, lambda *_: ended.append(1) if "--deaf" not in sys.argv else None)
while not ended:
    time.sleep(0.01)
print(json.dumps({"open_share": float(sys.argv[-1]) if sys.argv[-1][0].isdigit() else None, "max_open_share": 0.01}))
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
    if module.Generator(str(tmp_path)).is_running():
        module.Generator(str(tmp_path)).stop()
    for process in started:
        process.wait()


def test_a_storm_is_started_once_replaced_and_stopped(generator):
    assert generator("started", STORM, check_mode=True) == {"changed": True, "running": False, "report": None}
    assert generator("started", [*STORM, "0.001"]) == {"changed": True, "running": True, "report": None}
    first = generator.module.Generator(str(generator.folder)).run
    assert not generator("started", [*STORM, "0.001"])["changed"]
    assert generator("checked") == {"changed": False, "running": True, "report": None}
    assert generator("started", [*STORM, "0.002"])["changed"]
    assert generator.module._started(first["pid"]) != first["started"], "one storm at a time"
    assert generator("stopped", check_mode=True)["running"]
    report = {"open_share": 0.002, "max_open_share": 0.01}
    assert generator("stopped") == {"changed": True, "running": False, "report": report}
    assert generator("stopped") == generator("checked") == {"changed": False, "running": False, "report": report}


@pytest.mark.parametrize("state, options, sentence", [
    ("started", ["--device=eth9"], "the options have no --duration: a storm needs an end of its own"),
    ("started", [*STORM, "--nonsense"], "error: no such option"),
    ("started", [*STORM, "--refused"], "error: interface eth9 does not exist"),
    ("checked", [], "no storm runs, and none has reported"),
])
def test_what_is_wrong_is_one_sentence(generator, state, options, sentence):
    with pytest.raises(generator.module.GeneratorError) as caught:
        generator(state, options)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("last, seen", [("0.25", "25.0000 %"), ("--unknown", "an unknown share")])
def test_a_storm_that_left_the_queue_open_does_not_pass(generator, last, seen):
    generator("started", [*STORM, last])
    generator("stopped")
    with pytest.raises(generator.module.GeneratorError, match=f"left the queue open for {seen} of its time, as seen at "
                                                              "the sender: expected at most 1 %"):
        generator("checked")


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
