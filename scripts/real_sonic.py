"""Compares the virtual switch with SONiC's own code, as far as checkouts of it are given: `make real-sonic`.

    SWSS         sonic-swss: the watchdog's scripts decide as the data plane does by itself
    UTILITIES    sonic-utilities, with BUILDIMAGE (sonic-buildimage): its commands run on the virtual switch and print
                 what the virtual switch's own do; what its tests expect to be printed the suite reads or refuses
    BUILDIMAGE   its YANG models accept the CONFIG_DB of every switch of the virtual testbeds
    SONIC_MGMT   sonic-mgmt, with BUILDIMAGE: its modules that ask a switch for facts return what a virtual switch has

docs/real-sonic.md says what is compared and what came out. Nothing of SONiC is kept here.
Exit status: 0 nothing differs that is not known, 1 something does, 3 refused.
"""
from __future__ import annotations

import argparse
import datetime
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

# The path has to be there first.
from scripts.against_sonic import configurations, decisions, facts, literals, switches, tools, yang  # noqa: E402
from scripts.against_sonic.checkout import Checkout, CheckoutError, checkout  # noqa: E402
from scripts.against_sonic.deviations import DEVIATIONS, SAMPLES, VIOLATIONS  # noqa: E402
from scripts.against_sonic.environment import InstallationError  # noqa: E402
from scripts.against_sonic.field_bugs import field_bugs  # noqa: E402
from scripts.against_sonic.installation import Installation  # noqa: E402
from scripts.suite import REFUSED  # noqa: E402
from virtual_testbed.sonic.watchdog_scripts import ScriptError  # noqa: E402

EQUAL, DIFFERS = 0, 1
LANDMARKS = {"swss": ("sonic-swss", "orchagent"), "utilities": ("sonic-utilities", "scripts/pfcstat"),
             "buildimage": ("sonic-buildimage", "src/sonic-py-common/sonic_py_common"),
             "sonic_mgmt": ("sonic-mgmt", "ansible/library/sonic_basic_facts.py")}
"""What a checkout is one of, and what it has, by the option that names it."""


@dataclass(frozen=True)
class Against:
    """One comparison: which checkouts it needs, what it is about, and what runs it, printing what it finds; it returns
    how much differs.

    Attributes:
        packages: what it imports of the extra `yang`, which has no wheel for every machine.
    """

    needs: tuple[str, ...]
    about: str
    run: Callable[..., int]
    packages: tuple[str, ...] = ()


def judge(found: decisions.PlatformComparison) -> int:
    """Print what a platform came to; returns how much differs. Where nothing was decided nothing was compared."""
    print(f"  {found}", flush=True)
    decided = all(found.counts[event] for event in ("storm", "restore"))
    if not decided:
        print(f"  {found.platform}: no storm begins and ends in these: expected more of them")
    return len(found.differences) + (not decided)


def compare_decisions(options: argparse.Namespace, swss: Checkout) -> int:
    """Random histories, judged by both."""
    return sum(judge(decisions.compare(platform, swss.folder, options.histories, options.seed))
               for platform in decisions.platforms())


def compare_switches(options: argparse.Namespace, swss: Checkout) -> int:
    """Random testbeds, run both ways."""
    return sum(judge(switches.compare_testbeds(platform, swss.folder, options.testbeds))
               for platform in decisions.platforms())


def show_field_bugs(options: argparse.Namespace, swss: Checkout) -> int:
    """Bugs of the scripts show as they were reported."""
    found = list(field_bugs(swss.folder))
    for shown in found:
        print(f"  {shown.bug}: {shown.seen}: {'as reported' if shown.is_as_reported else 'NOT as reported'}")
    return sum(not shown.is_as_reported for shown in found)


def compare_commands(options: argparse.Namespace, utilities: Checkout, buildimage: Checkout) -> int:
    """sonic-utilities' commands and the virtual switch's own."""
    found = tools.compare_tools(Installation(utilities, buildimage))
    print(f"  {found.compared} outputs in seven states, {found.equal} equal, {len(found.differences)} differ")
    for deviation in DEVIATIONS:
        print(f"  known since {deviation.seen}, {found.known.get(deviation, 0)} outputs: {deviation.why}")
    for difference in found.differences:
        print(f"  {difference}")
    unmet = [deviation for deviation in DEVIATIONS if deviation not in found.known]
    for deviation in unmet:
        print(f"  nothing differs so any more: {deviation.why}: take it out of the list")
    return len(found.differences) + len(unmet)


def compare_readings(options: argparse.Namespace, utilities: Checkout) -> int:
    """What sonic-utilities' tests expect its commands to print."""
    found = literals.read_literals(utilities.folder)
    print(f"  {found.literals} texts, {found.numbers} numbers read; {len(found.broken)} times neither rightly read nor"
          " refused in one sentence")
    for name, count in found.understood.items():
        print(f"  understood as {name}: {count}")
    for sentence in found.broken:
        print(f"  {sentence}")
    return len(found.broken) + (found.numbers == 0)


def judge_samples(options: argparse.Namespace, buildimage: Checkout) -> int:
    """The data of SONiC's tests of its YANG models: that it is judged as they expect says that this judge is one."""
    with tempfile.TemporaryDirectory() as folder:
        models = yang.write_models(buildimage, Path(folder))
        found = yang.judge_samples(buildimage, Path(folder))
    print(f"  {models} models; {found.cases} cases, {found.to_refuse} of them to be refused; "
          f"{len(found.otherwise)} judged otherwise")
    for name, what in found.otherwise.items():
        print(f"  {name}: {'known, ' + SAMPLES[name] if name in SAMPLES else what}")
    unmet = [name for name in SAMPLES if name not in found.otherwise]
    for name in unmet:
        print(f"  {name} is judged as expected: take it out of the list")
    unknown = [name for name in found.otherwise if name not in SAMPLES]
    return len(unknown) + len(unmet) + (found.to_refuse == 0)


def judge_configurations(options: argparse.Namespace, buildimage: Checkout) -> int:
    """CONFIG_DB of the virtual switches, by SONiC's models."""
    with tempfile.TemporaryDirectory() as folder:
        yang.write_models(buildimage, Path(folder))
        states = {str(state): state.config for state in configurations.switch_states()}
        found = yang.judge(buildimage, Path(folder), states)
    tables = {table for config in states.values() for table in config}
    unmodelled = {table for judgement in found.values() for table in judgement.without_model}
    violations = [f"{name}: {violation}" for name, judgement in found.items() for violation in judgement.violations]
    print(f"  {len(found)} configurations with {len(tables)} tables, {len(violations)} violations, "
          f"{len(unmodelled)} tables without a model{': ' if unmodelled else ''}{', '.join(sorted(unmodelled))}")
    for known in VIOLATIONS:
        met = [violation for violation in violations if known.concerns(violation)]
        print(f"  known since {known.seen}, {len(met)} times: {known.why}"
              f"{'' if met else ': take it out of the list'}")
    unknown = [violation for violation in violations if not any(known.concerns(violation) for known in VIOLATIONS)]
    for violation in unknown:
        print(f"  {violation}")
    unmet = [known for known in VIOLATIONS if not any(map(known.concerns, violations))]
    return len(unknown) + len(unmet) + len(unmodelled) + (not found)


def compare_facts(options: argparse.Namespace, sonic_mgmt: Checkout, buildimage: Checkout) -> int:
    """sonic-mgmt's modules on the virtual switches."""
    found = facts.compare_facts(sonic_mgmt, buildimage)
    modules = {module.name for module in facts.MODULES}
    print(f"  {len(modules)} modules ran {found.runs} times and returned {found.facts} facts, "
          f"{len(found.differences)} differences")
    for difference in found.differences:
        print(f"  {difference}")
    return len(found.differences) + (not found.facts)


PARTS = (
    Against(("swss",), "the watchdog's scripts and the data plane judge the same random histories", compare_decisions),
    Against(("swss",), "random testbeds with the scripts and without, all counters", compare_switches),
    Against(("swss",), "field bugs of the watchdog's scripts", show_field_bugs),
    Against(("utilities", "buildimage"), "sonic-utilities' commands on the virtual switch", compare_commands),
    Against(("utilities",), "what sonic-utilities' tests expect to be printed, read by the suite", compare_readings),
    Against(("buildimage",), "the data of SONiC's tests of its YANG models", judge_samples, tuple(yang.PACKAGES)),
    Against(("buildimage",), "CONFIG_DB of the virtual testbeds' switches by SONiC's YANG models", judge_configurations,
            tuple(yang.PACKAGES)),
    Against(("sonic_mgmt", "buildimage"), "sonic-mgmt's modules for facts on the virtual testbeds' switches",
            compare_facts),
)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, (repository, _) in LANDMARKS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", default="", metavar="CHECKOUT", help=f"of {repository}")
    parser.add_argument("--histories", type=int, default=10_000, help="of each platform (default: %(default)s)")
    parser.add_argument("--testbeds", type=int, default=50, help="of each platform (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the first histories (default: %(default)s)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs all parts whose checkout is given; returns the exit status."""
    options = parse(arguments)
    try:
        given = {name: checkout(repository, getattr(options, name), landmark)
                 for name, (repository, landmark) in LANDMARKS.items() if getattr(options, name)}
        print(f"{datetime.date.today().isoformat()}")
        for found in given.values():
            print(f"{found.repository}: {found.commit()}")
        return DIFFERS if sum(run(part, given, options) for part in PARTS) else EQUAL
    except (CheckoutError, InstallationError, ScriptError) as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED


def run(part: Against, given: dict[str, Checkout], options: argparse.Namespace) -> int:
    """Runs a part, or says which checkout is missing; returns how much differs."""
    missing = [name for name in part.needs if name not in given]
    if missing:
        wanted = " and ".join(f"{LANDMARKS[name][0]} ({name.upper()}=<checkout>)" for name in missing)
        print(f"skipped: {part.about}: no checkout of {wanted}")
        return 0
    absent = [yang.PACKAGES[name] for name in part.packages if importlib.util.find_spec(name) is None]
    if absent:
        print(f"skipped: {part.about}: {' and '.join(absent)} not installed (extra `yang`)")
        return 0
    print(f"{part.about}:", flush=True)
    return part.run(options, *(given[name] for name in part.needs))


if __name__ == "__main__":
    sys.exit(main())
