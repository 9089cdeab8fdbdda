"""Where a run without sonic-mgmt keeps its files."""
import os

import pytest

from tests.common.clone import KEPT, RESULTS, keep_in_clone


@pytest.mark.parametrize(("named", "kept"), [
    ("", f"sqlite:///{RESULTS}/pfc.db"),
    ("sqlite:///results/pfc.db", "sqlite:///{here}/results/pfc.db"),
    ("sqlite:///a b.db?timeout=3 kusto:///out postgresql://pfc@db/pfc",
     "sqlite:///{here}/a b.db?timeout=3 kusto:///{here}/out postgresql://pfc@db/pfc"),
    ("sqlite:////srv/pfc.db kusto:////srv/kusto", "sqlite:////srv/pfc.db kusto:////srv/kusto"),
    ("sqlite:///:memory:", "sqlite:///:memory:"),
])
def test_databases_are_those_of_the_current_folder(monkeypatch, tmp_path, named, kept):
    """Also for children, which run in other folders."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PFC_REPORT_DB", named)
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, "/home/somebody")
    keep_in_clone()
    assert os.environ["PFC_REPORT_DB"] == kept.format(here=tmp_path), os.environ["PFC_REPORT_DB"]
    keep_in_clone()
    assert os.environ["PFC_REPORT_DB"] == kept.format(here=tmp_path), "expected the same the second time"
    assert os.environ["XDG_CACHE_HOME"] == str(KEPT / "cache"), os.environ["XDG_CACHE_HOME"]
