"""Faults a virtual testbed can be given: built-in ones, and classes from a user's file (docs/faults.md).

A fault is a small class at the named hooks of `virtual_testbed/dataplane/model/hooks.py`; a specification says which
one, where and when. Every fault says which port it is about: the port that receives the pause for pauses, the port that
data leaves by for drops, the congested data's ingress port for XOFF and headroom.
"""
from __future__ import annotations

from virtual_testbed.dataplane.model.hooks import Fault, Hooks, Scope, covers
from virtual_testbed.faults.built_in import BUILT_IN
from virtual_testbed.faults.specification import FaultError, absolute, by_file_name, parse_fault

__all__ = ["BUILT_IN", "Fault", "FaultError", "Hooks", "Scope", "absolute", "by_file_name", "covers", "parse_fault"]
