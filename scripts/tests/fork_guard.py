"""A pytest plugin: a test fails if this process is forked while it runs, and Python goes on in what was forked.

gRPC has threads and does not survive a fork: what is forked aborts in it, now and then. (A program that is started
with nothing to do before its exec is no such fork: `subprocess` uses vfork then.)
"""
from __future__ import annotations

import os
import traceback
from collections.abc import Generator

import pytest


class ForkGuard:
    """Notes forks, and fails the phase of the test, or the collection, that they happened in."""

    def __init__(self) -> None:
        """Notes from now on."""
        self._stacks: list[str] = []
        os.register_at_fork(before=self._note)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, None, None]:
        """What is done to find the tests."""
        result = yield
        if self._stacks:
            raise pytest.UsageError(self._said())
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        """Fixtures."""
        return (yield from self._watch())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        """The test."""
        return (yield from self._watch())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Generator[None, None, None]:
        """Fixtures again."""
        return (yield from self._watch())

    def _watch(self) -> Generator[None, None, None]:
        self._stacks.clear()
        result = yield
        if self._stacks:
            pytest.fail(self._said(), pytrace=False)
        return result

    def _said(self) -> str:
        return f"this process was forked, which gRPC does not survive, here:\n{self._stacks[0]}"

    def _note(self) -> None:
        self._stacks.append("".join(traceback.format_stack()))


def pytest_configure(config: pytest.Config) -> None:
    """Registers the guard."""
    config.pluginmanager.register(ForkGuard(), "fork-guard")
