"""The examples that the commands' `--help` ends with: each is parsed as it stands."""
from __future__ import annotations

import re
import shlex

import pytest

from scripts.campaign.__main__ import EXAMPLES as OF_CAMPAIGN, parser as campaign_parser
from scripts.qualifying.options import EXAMPLES, parse
from scripts.sweep import EXAMPLES as OF_SWEEP, parser


def typed(text: str) -> list[list[str]]:
    """The words of each example, without the name of the command."""
    lines = [line.strip() for line in text.splitlines() if line.startswith("  pfc-")]
    return [shlex.split(re.split(r"\s{3,}", line)[0])[1:] for line in lines]


def test_those_of_a_qualification() -> None:
    examples = typed(EXAMPLES)
    assert len(examples) == 5 and all(parse(words, "").testbed for words in examples)


def test_those_of_a_sweep() -> None:
    examples = typed(OF_SWEEP)
    assert len(examples) == 5 and all(parser().parse_args(words) for words in examples)


def test_those_of_a_campaign() -> None:
    examples = typed(OF_CAMPAIGN)
    assert len(examples) == 4 and all(campaign_parser().parse_args(words) for words in examples)


def test_the_help_has_them(capsys: pytest.CaptureFixture[str]) -> None:
    for read, text in (
        (lambda: parse(["--help"], ""), EXAMPLES), (lambda: parser().parse_args(["--help"]), OF_SWEEP),
        (lambda: campaign_parser().parse_args(["--help"]), OF_CAMPAIGN),
    ):
        with pytest.raises(SystemExit):
            read()
        assert text.strip() in capsys.readouterr().out
