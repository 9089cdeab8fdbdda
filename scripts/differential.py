"""Random testbeds run by the data plane and by the frame-by-frame oracle: every counter must be equal.

Prints cases that differ, with the seed that makes them again (`make_case(SEED)` in
`virtual_testbed/tests/dataplane/differential_cases.py`), and what the cases went through. Exit status 0: all equal.
"""
from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context

from virtual_testbed.dataplane.network import Network
from virtual_testbed.tests.dataplane.differential import run_case
from virtual_testbed.tests.dataplane.differential_cases import FAMILIES, make_case
from virtual_testbed.tests.dataplane.oracle import Oracle

CASES, PROCESSES, SHOWN = 2000, 2, 4
COUNTED = {"frames_tx": "frames sent", "detected": "storms detected", "restored": "storms restored"}


@dataclass
class CaseResult:
    """What a case came to: the differences found, and counts of what it went through, by name."""

    seed: int
    family: str
    differences: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def run_seed(seed: int, family: str | None, compiled: bool) -> CaseResult:
    """Run the case of a seed; an exception is a difference too. `compiled`: compiled code steps whenever it can."""
    case = make_case(seed, family)
    result = CaseResult(seed, case.family)
    begun = time.process_time()
    try:
        result.differences, net, oracle = run_case(case, compiled)
    except Exception as error:  # whatever it is: the case is reported and counts as a mismatch
        result.differences = [f"{type(error).__name__}: {error}"]
    else:
        result.counts = skips_of(net) + events_of(oracle)
    result.counts["CPU ms"] = round((time.process_time() - begun) * 1000)
    return result


def skips_of(net: Network) -> Counter[str]:
    """Cases with a skip of each kind that the data plane counts."""
    found = net.statistics()
    kinds = {"jumps": "that skipped cycles of a recurrence", "regenerations": "that skipped regeneration points",
             "sessions_apart": "with components advanced apart"}
    skipped = found.picoseconds_skipped or found.picoseconds_apart
    return Counter({f"cases {name}": 1 for key, name in kinds.items() if getattr(found, key)}
                   | {"cases that skipped nothing": int(not skipped), "compiled events": found.compiled_events})


def events_of(oracle: Oracle) -> Counter[str]:
    """What the oracle counted: drops by reason, pauses and their ends, storms, frames."""
    found: Counter[str] = Counter()
    for key, value in oracle.read().items():
        if key[0] == "drops":
            found[f"dropped: {key[-1]}"] += value
        elif key[-1] in COUNTED and key[0] in ("flow", "watchdog"):
            found[COUNTED[key[-1]]] += value
        elif key[-1] == "pfc_on2off":
            found["pauses ended at switch ports"] += sum(value)
        elif key[-1] == "pfc_tx":
            found["pause frames sent by switches"] += sum(value)
    found["pauses ended at generator ports (XON cycles)"] = sum(
        sum(end.pauses.on2off) for end in oracle.by_name.values())
    return found


def report(results: Iterable[CaseResult]) -> bool:
    """Print what differs as it comes, then the sums; True when nothing differs."""
    sums: Counter[str] = Counter()
    cases: Counter[str] = Counter()
    wrong: list[CaseResult] = []
    for result in results:
        cases[result.family] += 1
        sums += result.counts
        if result.differences:
            wrong.append(result)
            shown = "\n    ".join(result.differences[:SHOWN])
            print(f"seed {result.seed}, family {result.family}: {len(result.differences)} differences\n    {shown}")
    print("cases", sum(cases.values()), dict(cases))
    for name, number in sorted(sums.items()):
        print(f"  {name:46} {number:12}")
    by_family = dict(Counter(result.family for result in wrong))
    print("mismatches", len(wrong), by_family or "", [result.seed for result in wrong[:50]] or "")
    return bool(cases) and not wrong


def main() -> int:
    """Run the cases that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=CASES, help=f"how many (default {CASES})")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first one (default 0)")
    parser.add_argument("--family", choices=list(FAMILIES), help="only cases of this family")
    parser.add_argument("--compiled", action="store_true", help="compiled code steps whenever it can, else never")
    parser.add_argument("--processes", type=int, default=PROCESSES, help=f"how many at once (default {PROCESSES})")
    parser.add_argument("--show", action="store_true", help="print the first case in full and run nothing")
    asked = parser.parse_args()
    if asked.cases < 1 or asked.processes < 1:
        parser.error(f"--cases {asked.cases} --processes {asked.processes}: expected 1 or more of each")
    if asked.show:
        print(make_case(asked.seed, asked.family).describe())
        return 0
    seeds = range(asked.seed, asked.seed + asked.cases)
    with ProcessPoolExecutor(asked.processes, get_context("spawn")) as pool:
        run = partial(run_seed, family=asked.family, compiled=asked.compiled)
        return 0 if report(pool.map(run, seeds, chunksize=4)) else 1


if __name__ == "__main__":
    sys.exit(main())
