"""Runs the command again and again in one process: a line of JSON in (the arguments), one out (what came of it)."""
from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout

from pfctest.cli import main


def run(arguments: list[str]) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of `pfctest` with these arguments."""
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            status = main(arguments)
        except SystemExit as ended:
            status = int(ended.code or 0)
    return status, output.getvalue(), errors.getvalue()


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
