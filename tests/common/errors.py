"""Exceptions of the fixture layer. `str()` of each is one sentence for the user."""

from __future__ import annotations


class LabError(Exception):
    """The lab, or its description, keeps the tests from starting."""


class HostUnreachable(LabError):
    """A host does not answer over SSH."""


class RunAnsibleModuleFail(Exception):
    """An Ansible module ran on a host and failed."""
