"""One qualification, end to end: bring the testbed up, deploy it, test it, print the verdicts, leave nothing running.

`make qualify` calls this. A virtual testbed (`virtual: true` in its testbed entry) is brought up and taken down here;
hardware is used as it stands and deployed only with `--deploy`.
Exit status: 0 for PASS, 1 for FAIL or ERROR, 2 for a refusal.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.testbeds import (  # noqa: E402  (the path has to be there first)
    ROOT,
    TESTBED_FILE,
    Refusal,
    TestbedFiles,
    adopt_orphans,
    catch_signals,
    deploy,
    end_orphans,
    environment,
    hardware_testbed,
    read_entry,
    run,
    shown,
    step,
    virtual_testbed,
)
from tests.common.pfc.cases.plan import parse_set, select  # noqa: E402
from tests.common.pfc.model.errors import QualificationError  # noqa: E402
from virtual_testbed.faults import absolute  # noqa: E402

PASS, NOT_PASS, REFUSED = 0, 1, 2


def check_selection(scenarios: Sequence[str], sets: Sequence[str]) -> None:
    """Refuse test cases that are not in the plan, and sets of priorities that are none, before anything is started."""
    try:
        select(",".join(scenarios).replace(" ", "").split(","))
        for one in sets:
            parse_set(one)
    except QualificationError as error:
        raise Refusal(str(error)) from error


def run_tests(testbed: TestbedFiles, options: argparse.Namespace, results: Path, run_id: str) -> int:
    """Run the qualification suite as sonic-mgmt does, from `tests/`; returns pytest's exit status."""
    command = [sys.executable, "-m", "pytest", "-c", "pytest.ini", "snappi_tests/pfc/qualification",
               "--testbed", testbed.name, "--testbed_file", str(testbed.testbed_file),
               "--inventory", str(testbed.inventory), "--host-pattern", "all",
               "--pfc-ip-version", options.ip_version, "--pfc-results", str(results), "--pfc-run-id", run_id,
               f"--junit-xml={results / 'junit.xml'}"]
    if options.port:
        command += ["--pfc-port", options.port]
    command += [f"--pfc-scenario={names}" for names in options.scenario]
    command += [f"--pfc-set={priorities}" for priorities in options.set]
    if options.change_config:
        command.append("--pfc-change-config")
    if options.same_generator:
        command.append("--pfc-same-generator")
    return run(command, ROOT / "tests")


def qualify(options: argparse.Namespace) -> int:
    """Run all steps; returns the exit status."""
    began = time.monotonic()
    testbed_file = Path(options.testbed_file).resolve()
    entry = read_entry(options.testbed, testbed_file)
    is_virtual = bool(entry.get("virtual"))
    if options.fault and not is_virtual:
        raise Refusal(f"testbed '{options.testbed}' is hardware: FAULT= is for virtual testbeds only")
    check_selection(options.scenario, options.set)
    environment(ROOT / "results")
    run_id = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ") + f"-{os.getpid()}"
    results = ROOT / "results" / run_id
    with contextlib.ExitStack() as stack:
        if is_virtual:
            step(f"virtual testbed {options.testbed} up" + "".join(f", fault {fault}" for fault in options.fault))
            testbed = stack.enter_context(virtual_testbed(options.testbed, testbed_file, options.fault))
        else:
            testbed = hardware_testbed(options.testbed, entry, testbed_file)
        results.mkdir(parents=True)
        if is_virtual or options.deploy:
            step("Ansible deploys the testbed")
            deploy(testbed, results / "deploy.log")
        step("qualification")
        status = run_tests(testbed, options, results, run_id)
    print(f"== {'PASS' if status == 0 else 'not PASS'} after {time.monotonic() - began:.0f} s\n"
          f"   verdicts, evidence and logs: {shown(results)}\n"
          f"   reporting database: {os.environ['PFC_REPORT_DB']}", flush=True)
    return PASS if status == 0 else NOT_PASS


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="qualify", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--testbed", default="vtb-t0", metavar="NAME", help="testbed to qualify (default: %(default)s)")
    parser.add_argument("--testbed-file", default=str(TESTBED_FILE), metavar="FILE",
                        help="testbed file (default: ansible/testbed.yaml)")
    parser.add_argument("--port", metavar="PORT", help="port under test (default: Ethernet0)")
    parser.add_argument("--fault", action="append", default=[], metavar="FAULT", type=absolute,
                        help="break the virtual switch, for instance pause-ignored@Ethernet0; may be repeated")
    parser.add_argument("--scenario", action="append", default=[], metavar="CASE",
                        help="test case of the plan, by id or name, for instance PFC-1,global-pause; may be repeated "
                             "(default: the whole plan)")
    parser.add_argument("--set", action="append", default=[], metavar="PRIORITIES",
                        help="priorities to pause together, for instance 3,4; may be repeated (default: all lossless "
                             "ones, all lossy ones)")
    parser.add_argument("--ip-version", choices=["4", "6"], default="4", help="of the data (default: %(default)s)")
    parser.add_argument("--change-config", action="store_true",
                        help="also the test cases that change a hardware switch's configuration and put it back (a "
                             "virtual one's always run)")
    parser.add_argument("--same-generator", action="store_true",
                        help="data may also enter by a port on the port under test's own traffic generator")
    parser.add_argument("--deploy", action="store_true", help="deploy a hardware testbed too (a virtual one always is)")
    return parser.parse_args(arguments)


def main() -> int:
    """Entry point: one sentence and status 2 for a refusal, no traceback."""
    catch_signals()
    adopt_orphans()
    try:
        return qualify(parse())
    except Refusal as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return REFUSED
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        print("error: interrupted; the testbed was taken down", file=sys.stderr)
        return NOT_PASS
    finally:
        end_orphans()


if __name__ == "__main__":
    sys.exit(main())
