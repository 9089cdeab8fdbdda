"""Names of folders."""
from __future__ import annotations

import pytest

from test_reporting.pfc.names import folder_name


@pytest.mark.parametrize("run_id", ["20260131T130000Z-1", "mock-case_20260131_13:00:00"])
def test_a_plain_run_id_is_its_folder(run_id):
    assert folder_name(run_id) == run_id


@pytest.mark.parametrize("run_id", ["../../etc", ".", "..", "a/b", "a b", "x" * 300, "\0", "\u05d0", "\ud800"])
def test_any_run_id_has_a_folder_of_its_own(tmp_path, run_id):
    name = folder_name(run_id)
    assert "/" not in name and not name.startswith(".") and len(name) <= 100
    assert name != folder_name(run_id + "x")
    (tmp_path / name).mkdir()
