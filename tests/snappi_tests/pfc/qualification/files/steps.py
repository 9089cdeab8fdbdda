"""Steps that fixtures of the qualification share: which test case an item carries out, what its verdicts do to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import pytest

from tests.common.pfc.cases.plan import sweep_cases
from tests.common.pfc.cases.qualifier import Qualifier, broken_off
from tests.common.pfc.lab.dut import Dut, Host
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.record.case import Outcome, PlanCase, Target
from tests.common.pfc.record.errors import RecordError
from tests.snappi_tests.pfc.qualification.files.session import Session

SESSION_KEY = pytest.StashKey[Session]()
STANDALONE = find_spec("tests.common.standalone") is not None
"""Whether the fixtures around the suite are this project's own, not sonic-mgmt's."""


def case_of(item: Any) -> PlanCase | None:
    """The test case that an item carries out; None: it is none of ours."""
    marker = item.get_closest_marker("pfc_case")
    return marker.args[0] if marker is not None else None


def is_sweep(cases: Collection[PlanCase]) -> bool:
    """Whether no single port is under test."""
    return set(cases) <= set(sweep_cases())


@contextmanager
def one_sentence() -> Iterator[None]:
    """A refusal fails the test with its sentence."""
    cause = ""
    try:
        yield
    except (QualificationError, RecordError) as error:
        cause = str(error)
    if cause:  # outside the handler, or pytest prints every exception behind this one
        pytest.fail(cause, pytrace=False)


@contextmanager
def taken(request: pytest.FixtureRequest, hosts: Mapping[str, Host]) -> Iterator[dict[str, Dut]]:
    """Switches are this run's inside the `with` block. However it ends they are put back: after the last of our
    modules, in a sonic-mgmt tree after each, because other fixtures change them in between."""
    session = request.config.stash[SESSION_KEY]
    duts = session.take(hosts)
    try:
        yield duts
    finally:
        if not STANDALONE or _is_last(request):
            session.put_back()


def _is_last(request: pytest.FixtureRequest) -> bool:
    """Whether no other module's items of ours are to come."""
    last: Any = [item for item in request.session.items if case_of(item)][-1]
    return bool(last.module is request.node.obj)


def keep_each(
    request: pytest.FixtureRequest, qualifier: Qualifier, case: PlanCase, targets: Sequence[Target]
) -> dict[str, None]:
    """Carries a test case out for each target and keeps what came of it; of those that are not reached any more that
    they were not measured, so that no PASS of another one stands for them. Returns as `keep` does."""
    messages: dict[str, None] = {}
    for number, target in enumerate(targets):
        try:
            messages |= keep(request, qualifier.qualify(case, target))
        except BaseException:
            subject = qualifier.lab.subject
            cause = QualificationError(f"{subject.where()}: the run ended before it was measured")
            for left in targets[number:]:
                keep(request, broken_off(subject, case, left, cause))
            raise
    return messages


def keep(request: pytest.FixtureRequest, outcome: Outcome) -> dict[str, None]:
    """Keeps what came of a test case; returns what speaks against PASS of the test so far, each message once."""
    kept = request.config.stash[SESSION_KEY].keep(request.node.nodeid, outcome)
    return dict.fromkeys(message for verdict in kept for message in verdict.messages)


def fail_for(messages: Iterable[str]) -> None:
    """A test with a reason against PASS fails."""
    found = list(messages)
    if found:
        pytest.fail("\n".join(found), pytrace=False)
