"""The pipelines, the container and the hooks: what they run is there, and is what the documentation says.

No Docker daemon, no GitHub and no Azure is here: that an image builds, and that a pipeline is green there, is not
shown.
"""
from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / ".github" / "workflows" / "ci.yml"
AZURE = ROOT / "azure-pipelines.yml"
HOOKS = ROOT / ".pre-commit-config.yaml"
DOCKERFILE = ROOT / "Dockerfile"
DEVCONTAINER = ROOT / ".devcontainer" / "devcontainer.json"
TWO_COMMANDS = {"make test", "make qualify"}
IN_THE_IMAGE = {"apt-get", "rm", "useradd", "make"}


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(document: Any) -> Iterator[dict[str, Any]]:
    """The steps of all jobs of a pipeline."""
    jobs = document["jobs"]
    for job in jobs.values() if isinstance(jobs, dict) else jobs:
        yield from job["steps"]


def commands(path: Path) -> list[str]:
    """What a pipeline runs in a shell."""
    return [step[name] for step in steps(loaded(path)) for name in ("run", "script") if name in step]


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, each on one line."""
    text = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in text.splitlines() if line.strip())]


@pytest.mark.parametrize("path", [GITHUB, AZURE], ids=["github", "azure"])
def test_a_pipeline_runs_the_two_commands(path: Path) -> None:
    found = commands(path)
    assert set(found) >= TWO_COMMANDS
    for command in found:
        words = shlex.split(command)
        if words[0] == "make":
            subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, capture_output=True, check=True)
        else:
            assert (ROOT / words[0]).stat().st_mode & 0o111, f"{words[0]} can be run"


@pytest.mark.parametrize("path", [GITHUB, AZURE], ids=["github", "azure"])
def test_every_job_ends_by_itself_and_keeps_what_was_measured(path: Path) -> None:
    document = loaded(path)
    jobs = document["jobs"].values() if isinstance(document["jobs"], dict) else document["jobs"]
    assert all({"timeout-minutes", "timeoutInMinutes"} & job.keys() for job in jobs)
    qualify, = [job for job in jobs if "make qualify" in {step.get("run", step.get("script")) for step in job["steps"]}]
    kept = [step for step in qualify["steps"] if "results" in json.dumps([step.get("with"), step.get("publish")])]
    assert len(kept) == 1 and "always()" in (kept[0].get("if"), kept[0].get("condition")), "also of a FAIL"


def test_github_pins_its_actions_and_may_change_nothing() -> None:
    document = loaded(GITHUB)
    used = [step["uses"] for step in steps(document) if "uses" in step]
    assert used and all(re.fullmatch(r"actions/[\w-]+@v\d+", one) for one in used)
    assert document["permissions"] == {"contents": "read"}
    assert document[True].keys() >= {"push", "pull_request"}, "YAML takes `on` for true"


def test_the_pythons_are_those_that_the_package_names() -> None:
    versions = set(re.findall(r"Python :: (3\.\d+)", (ROOT / "setup.cfg").read_text(encoding="utf-8")))
    matrix = loaded(GITHUB)["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert set(matrix) == versions
    assert {step["inputs"]["versionSpec"] for step in steps(loaded(AZURE)) if "versionSpec" in step.get("inputs", {})
            } <= versions
    base, = [rest for name, rest in instructions() if name == "FROM"]
    assert base.split(":")[1].split("-")[0] in versions


def test_the_image_runs_nothing_as_root_but_the_packages() -> None:
    found = instructions()
    names = [name for name, _ in found]
    assert names[0] == "FROM" and names.index("USER") < names.index("COPY") < names.index("CMD")
    for name, rest in found:
        if name == "RUN":
            assert {part.split()[0] for part in rest.split("&&")} <= IN_THE_IMAGE, rest
    install, = [rest for name, rest in found if name == "RUN" and "apt-get install" in rest]
    assert {"git", "make", "openssh-client"} <= set(install.split())
    command, = [json.loads(rest) for name, rest in found if name == "CMD"]
    assert command == ["make", "qualify"]


def test_the_image_has_no_results_and_no_environment_of_the_host() -> None:
    ignored = set((ROOT / ".dockerignore").read_text(encoding="utf-8").split())
    assert ignored >= {".venv", "results", ".virtual_testbed", "**/__pycache__"}
    assert not ignored & {".git", "ansible", "tests", "docs"}, "a page names the commit"


def test_the_targets_of_make_that_image_and_container_name_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    container = json.loads(DEVCONTAINER.read_text(encoding="utf-8"))
    built = [rest for name, rest in instructions() if name == "RUN" and "make ." in rest]
    named = [container["postCreateCommand"], *built]
    for command in named:
        target = shlex.split(command)[-1].replace(".venv", "$(VENV)")
        assert f"\n{target}: " in makefile, command
    assert (DEVCONTAINER.parent / container["build"]["dockerfile"]).resolve() == DOCKERFILE
    assert container["remoteUser"] == next(rest for name, rest in instructions() if name == "USER")


def test_hooks_run_what_is_there_in_the_project_s_own_environment() -> None:
    document = loaded(HOOKS)
    hooks = [hook for repo in document["repos"] for hook in repo["hooks"]]
    assert {repo["repo"] for repo in document["repos"]} == {"local"}, "nothing is fetched"
    assert len({hook["id"] for hook in hooks}) == len(hooks) >= 3
    for hook in hooks:
        assert hook.keys() >= {"id", "name", "entry", "language"} and hook["language"] == "system"
        program, *arguments = shlex.split(hook["entry"])
        assert program.startswith(".venv/bin/")
        assert all((ROOT / one).is_file() for one in arguments if one.endswith(".py"))
    pattern = re.compile(next(hook["files"] for hook in hooks if hook["id"] == "pipelines"))
    for path in (GITHUB, AZURE, DOCKERFILE, DEVCONTAINER, HOOKS):
        assert pattern.match(path.relative_to(ROOT).as_posix()), path


def test_contributing_says_what_is_not_shown_here() -> None:
    text = " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    for name in ("ci.yml", "azure-pipelines.yml", "Dockerfile", ".devcontainer", "pre-commit", "not been built"):
        assert name in text, name
