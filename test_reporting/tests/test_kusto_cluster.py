"""Records that are streamed into a Kusto cluster by Microsoft's SDK: what arrives at one that the tests play, which
takes rows as `kql/setup.kql` has its table and mapping."""
from __future__ import annotations

import gzip
import io
import json
import re
import sys
import threading
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.common.pfc.record.parsing import parse_line
from tests.common.pfc.record.records import encode_line
from tests.common.pfc.record.run_reading import run_of
from test_reporting.pfc import kusto
from test_reporting.pfc.cli import main
from test_reporting.pfc.database import open_sink
from test_reporting.pfc.errors import StoreError
from test_reporting.tests.samples import RUN, RUN_ID, verdict

kusto_cluster = pytest.importorskip("test_reporting.pfc.kusto_cluster", reason="the extra kusto is not installed")

SCRIPT = (Path(kusto.__file__).parent / "kql" / "setup.kql").read_text(encoding="utf-8")
TYPES = {"string": str, "datetime": datetime.fromisoformat, "int": int, "real": float, "dynamic": lambda value: value}
DATABASE = "SonicTestData"


class Cluster:
    """A cluster on a free port of loopback with one database, set up by the script: table, mapping, streaming."""

    def __init__(self):
        table = re.search(r"\.create-merge table (\w+) \((.*?)\n\)", SCRIPT, re.DOTALL)
        mapping = re.search(r"ingestion json mapping '(\w+)' (.*?\n    '\]')", SCRIPT, re.DOTALL)
        streamed = re.search(r"^\.alter table (\w+) policy streamingingestion enable$", SCRIPT, re.MULTILINE)
        self.columns = dict(column.split(": ") for column in " ".join(table[2].split()).split(", "))
        self.paths = {one["column"]: one["Properties"]["path"].removeprefix("$.")
                      for one in json.loads("".join(re.findall(r"'(.*)'", mapping[2])))}
        self.accepts = (f"/v1/rest/ingest/{DATABASE}/{streamed[1]}",
                        {"streamFormat": ["multijson"], "mappingName": [mapping[1]]})
        assert streamed[1] == table[1]
        self.rows = []
        self.sizes = []
        self.broken = ""
        cluster = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.answer(404, {})  # /v1/rest/auth/metadata: an emulator has none

            def do_POST(self):
                where = urlsplit(self.path)
                body = cluster.read(self)
                if cluster.broken:
                    self.answer(400, {"error": {"code": "BadRequest", "message": cluster.broken, "@permanent": True}})
                elif (where.path, parse_qs(where.query)) != cluster.accepts:
                    self.answer(404, {"error": {"code": "NotFound", "message": self.path}})
                else:
                    count = {"ColumnName": "ConsumedRecordsCount", "DataType": "Int64", "ColumnType": "long"}
                    self.answer(200, {"Tables": [{"TableName": "Table_0", "Columns": [count],
                                                  "Rows": [[cluster.take(body)]]}]})

            def answer(self, status, document):
                text = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                """Nothing is printed."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"kusto+http://127.0.0.1:{self._server.server_port}/{DATABASE}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    @staticmethod
    def read(request):
        """A body, by its length or in chunks."""
        if "Content-Length" in request.headers:
            body = request.rfile.read(int(request.headers["Content-Length"]))
        else:
            chunks = io.BytesIO()
            while size := int(request.rfile.readline(), 16):
                chunks.write(request.rfile.read(size))
                request.rfile.readline()
            request.rfile.readline()
            body = chunks.getvalue()
        return gzip.decompress(body) if request.headers.get("Content-Encoding") == "gzip" else body

    def take(self, body):
        """Rows by the mapping, each value of its column's type; returns how many came."""
        self.sizes.append(len(body))
        for text in body.splitlines():
            document = json.loads(text)
            assert set(document) == set(self.paths.values())
            self.rows.append({column: None if document[path] is None else TYPES[self.columns[column]](document[path])
                              for column, path in self.paths.items()})
        return len(body.splitlines())

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def cluster():
    started = Cluster()
    yield started
    started.close()


def records(*documents):
    return [parse_line(encode_line(document)) for document in documents]


def test_what_is_streamed_fits_the_table_that_the_script_creates(cluster):
    sink = open_sink(cluster.url)
    assert sink.deliver(run_of(RUN), records(verdict(1, "FAIL"), verdict(2))) == 2
    first, second = cluster.rows
    assert (first["ReportId"], first["Result"], first["MetricType"], first["Value"]) == (RUN_ID, "FAIL", "verdict", 1.0)
    assert first["Timestamp"] < second["Timestamp"] and first["Evidence"] == {"frames": {"sent": 1000, "received": 12}}


def test_what_was_sent_is_not_sent_again_and_what_was_refused_is(cluster):
    sink = open_sink(cluster.url)
    assert sink.deliver(run_of(RUN), records(verdict(1))) == 1
    cluster.broken = "the disk is full"
    with pytest.raises(StoreError, match=rf"^kusto\+http://.*/{DATABASE} cannot be written: .*the disk is full"):
        sink.deliver(run_of(RUN), records(verdict(1), verdict(2)))
    cluster.broken = ""
    assert sink.deliver(run_of(RUN), records(verdict(1), verdict(2))) == 1
    assert [row["Timestamp"].microsecond for row in cluster.rows] == [1, 2]


def test_a_stream_is_not_larger_than_a_cluster_takes(cluster, monkeypatch):
    monkeypatch.setattr(kusto_cluster, "MOST_BYTES", 4000)
    many = records(*(verdict(number) for number in range(1, 12)))
    assert open_sink(cluster.url).deliver(run_of(RUN), many) == 11
    assert len(cluster.rows) == 11 and len(cluster.sizes) > 1 and max(cluster.sizes) <= 4000


def test_a_run_reaches_it_by_the_command_line(cluster, tmp_path, database, url):
    from test_reporting.tests.samples import parsed, started
    writer = started(database.parent / RUN_ID, [url], lambda _: None)
    writer.write(parsed(verdict(1)))
    writer.finish()
    assert main(["--db", cluster.url, "sync", "--results", str(database.parent)]) == 0
    assert [row["Result"] for row in cluster.rows if row["MetricType"] == "verdict"] == ["PASS"]


def test_a_cluster_that_is_away_is_named():
    with pytest.raises(StoreError, match=r"^kusto\+http://127.0.0.1:1/x cannot be written: "):
        open_sink("kusto+http://127.0.0.1:1/x").deliver(run_of(RUN), records(verdict(1)))


@pytest.mark.parametrize("url", ["kusto+http://127.0.0.1:1", "kusto+https://cluster/a/b", "kusto+ftp://cluster/db"])
def test_a_wrong_url_is_refused(url):
    with pytest.raises(StoreError, match="names no database of a Kusto cluster; it must be kusto"):
        open_sink(url)


def test_no_stranger_gets_records(monkeypatch):
    """The SDK refuses addresses that are none of Kusto's."""
    with pytest.raises(StoreError, match="cannot be written: .*attacker.example"):
        open_sink("kusto+http://attacker.example/db").deliver(run_of(RUN), records(verdict(1)))


def test_without_the_extra_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "test_reporting.pfc.kusto_cluster", None)
    with pytest.raises(StoreError, match="kusto.* cannot be used: the extra kusto is not installed"):
        open_sink("kusto+https://help.kusto.windows.net/db")
