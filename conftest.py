"""What holds for all of the project's own tests. (The suite runs from the folder tests/, and does without.)"""

import os
import signal

pytest_plugins = ["scripts.tests.fork_guard"]

# A shell's background job is started with these signals ignored, and so is all that it starts: a test that interrupts a
# process would wait for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGQUIT) == signal.SIG_IGN:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def pytest_collection_finish() -> None:
    """Keep hypothesis's plugin, which takes most of a second, out of each pytest that a test starts."""
    os.environ["PYTEST_ADDOPTS"] = f"{os.environ.get('PYTEST_ADDOPTS', '')} -p no:hypothesispytest".strip()
