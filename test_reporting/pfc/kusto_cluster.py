"""Records that go straight into an Azure Data Explorer (Kusto) cluster, by Microsoft's SDK (the extra `kusto`).

They are ingested by streaming: the cluster answers when it has them. (A queued ingestion answers at once, and what
became of it shows minutes later, to nobody.) A stream that broke off after the cluster had taken it comes again, so
`TestMetricsOnce` of `kql/setup.kql` is what shows each record once.
"""
from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence

from azure.core.exceptions import AzureError
from azure.identity import DefaultAzureCredential
from azure.kusto.data import DataFormat, KustoConnectionStringBuilder
from azure.kusto.data.exceptions import KustoError
from azure.kusto.ingest import IngestionProperties, KustoStreamingIngestClient

from tests.common.pfc.record.records import Record
from tests.common.pfc.record.run import Run

from .errors import StoreError
from .kusto import line

TABLE = "TestMetrics"
MAPPING = "TestMetricsMappingV1"
MOST_BYTES = 3 << 20
"""Of one stream, before it is compressed. A cluster takes 4 MB."""
REASON_LENGTH = 300
URL = re.compile(r"kusto\+(?P<address>https?://[^/?#@]+)/(?P<database>[^/?#]+)")
FORM = "kusto+https://CLUSTER/DATABASE, or kusto+http://127.0.0.1:PORT/DATABASE for an emulator, without a login"


class KustoCluster:
    """The table `TestMetrics` of a database."""

    def __init__(self, url: str) -> None:
        """Nothing is sent yet.

        Over `https` Azure's default credentials are used: those of the environment (`AZURE_CLIENT_ID`,
        `AZURE_TENANT_ID`, `AZURE_CLIENT_SECRET`), a managed identity, or `az login`.

        Raises:
            StoreError: the URL names no database of a cluster.
        """
        found = URL.fullmatch(url)
        if found is None:
            raise StoreError(f"'{url}' names no database of a Kusto cluster; it must be {FORM}")
        self.url = url
        self._sent: set[tuple[str, str]] = set()
        address = found["address"]
        connection = (KustoConnectionStringBuilder.with_azure_token_credential(address, DefaultAzureCredential())
                      if address.startswith("https") else KustoConnectionStringBuilder(address))
        self._client = KustoStreamingIngestClient(connection)
        self._properties = IngestionProperties(found["database"], TABLE, data_format=DataFormat.MULTIJSON,
                                               ingestion_mapping_reference=MAPPING)

    def deliver(self, run: Run, records: Sequence[Record]) -> int:
        """Send the records that this process has not sent yet; returns how many those were.

        Raises:
            StoreError: not all of them were taken.
        """
        new = [record for record in records if (run.run_id, record.record_id) not in self._sent]
        lines = [line(run, record) for record in new]
        try:
            for stream in streams(lines):
                self._client.ingest_from_stream(io.BytesIO(stream), self._properties)
        except (KustoError, AzureError, OSError, ValueError) as error:  # ValueError: an address that the SDK refuses
            reason = " ".join(str(error).split())[:REASON_LENGTH]
            raise StoreError(f"{self.url} cannot be written: {reason}") from error
        self._sent.update((run.run_id, record.record_id) for record in new)
        return len(new)


def streams(lines: Sequence[bytes]) -> Iterator[bytes]:
    """Lines together, as many as one stream may have."""
    waiting: list[bytes] = []
    for text in lines:
        if waiting and sum(map(len, waiting)) + len(text) > MOST_BYTES:
            yield b"".join(waiting)
            waiting = []
        waiting.append(text)
    if waiting:
        yield b"".join(waiting)
