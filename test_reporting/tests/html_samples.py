"""Reports that the tests make, and what is in them."""
from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from test_reporting.tests.samples import RUN, parsed, started, verdict

MARKUP = "<script>window.harmed = 1</script>"
HOSTILE = (MARKUP, "\"'><img src=x onerror=window.harmed=1>", f"</script>{MARKUP}", "\0\x1b[2J",
           "\u202e\u05e9\u05dc\u05d5\u05dd", "x" * 10_240, "{{ 7 * 7 }}${window.harmed=1}", "]]>--><!--",
           "a'b\"c&amp;<b>")
APART = frozenset({"td", "th", "dt", "dd"})
"""Elements whose texts are apart although nothing is between them."""
VOID = frozenset({"meta", "input", "br", "link", "img"})


@dataclass
class Element:
    """An element of a page, with the text in it and below it."""

    name: str
    attributes: dict[str, str | None]
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, name: str) -> list[Element]:
        """The elements of a name below this one."""
        found = [child for child in self.children if child.name == name]
        return found + [one for child in self.children for one in child.all(name)]

    @property
    def words(self) -> str:
        """Its text with single spaces."""
        return " ".join(self.text.split())


class Page(HTMLParser):
    """A page taken apart; elements that are not closed, or closed twice, are refused."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.root = Element("", {})
        self._open = [self.root]
        self.feed(self.source)
        self.close()
        assert self._open == [self.root], f"{[one.name for one in self._open]} are not closed"
        self.by_id = {one.attributes["id"]: one for one in self._every(self.root) if "id" in one.attributes}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        element = Element(tag, dict(attrs))
        self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        """An element ends."""
        assert self._open[-1].name == tag, f"</{tag}> closes <{self._open[-1].name}>"
        self._open.pop()
        self.handle_data(" " if tag in APART else "")

    def handle_data(self, data: str) -> None:
        """A text is in all the elements that are open."""
        for element in self._open:
            element.text += data

    def unpacked(self, name: str) -> Any:
        """A block of packed data."""
        return json.loads(zlib.decompress(base64.b64decode(self.by_id[name].text)))

    def records(self, port: int = 0) -> list[dict[str, Any]]:
        """The records of a port, the fields by their names."""
        index, data = json.loads(self.by_id["index"].text), self.unpacked(f"d{port}")
        found = [dict(zip(index["record"], row, strict=True)) for row in data["records"]]
        for record in found:
            record["checks"] = None if record["checks"] is None else [
                dict(zip(index["check"], data["checks"][number], strict=True)) for number in record["checks"]]
            record["labels"] = data["labels"][record["labels"]]
            record["case"], record["metric"] = index["cases"][record["case"]], index["metrics"][record["metric"]]
        return found

    def matrix(self) -> list[list[str]]:
        """The rows of all matrices: port, then the words of each cell."""
        return [[cell.words for cell in row.children] for row in self.root.all("tr") if "data-port" in row.attributes]

    def section(self, name: str) -> str:
        """The words of a section."""
        return self.by_id[name].words

    def _every(self, element: Element) -> list[Element]:
        return [one for child in element.children for one in [child, *self._every(child)]]


def timeline(leak: int = 0) -> dict[str, Any]:
    """Five readings, a storm between the second and the fourth in which `leak` frames pass."""
    return {"readings_s": [0.0, 0.5, 1.0, 1.5, 2.0],
            "frames_rx": {"priority 3 (test)": [0, 500, 500, 500 + leak, 1000], "priority 0": [0, 100, 200, 300, 400]},
            "frames_tx": {"priority 3 (test)": [0, 500, 510, 520, 1000]},
            "storms": [{"label": "PFC on priority 3", "priorities": [3], "begin_s": 0.5, "end_s": 1.5}],
            "pfc_counters": [{"device": "vtb-t0-01", "at_s": [0, 1.25, 2.0],
                              "rx": {"Ethernet0 priority 3": [0, 600, 900]},
                              "tx": {"Ethernet4 priority 3": [0, 20, 20]}}]}


def hostile_run(folder: Path, url: str) -> None:
    """Store a run whose texts are all hostile, each in every place that takes a text."""
    run = {**RUN, "run_id": folder.name, "job_id": HOSTILE[0], "remarks": HOSTILE[1], HOSTILE[2]: "x",
           "expected": [["vtb-t0-01", HOSTILE[6], "pfc.lossy"]]}
    writer = started(folder, url, run=run)
    for number, text in enumerate(HOSTILE):
        check = {"name": text, "status": "FAIL", "expected": text, "seen": {text: text}, "where": text, "message": text}
        drawn = {**timeline(), "storms": [{"label": text, "begin_s": 0, "end_s": 1}],
                 "pfc_counters": [{"device": text, "at_s": [0, 1], "rx": {text: [0, 1]}, "tx": {text: [0, 1]}}]}
        writer.write(parsed(verdict(
            number, "FAIL", run_id=folder.name, port_id=text, cause=text, scenario=text, plan_id=text, checks=[check],
            labels={text: text}, deviations=[text], on_behalf_of=text, os_version=text, hwsku=text,
            evidence={text: text, "timeline": drawn, "files": [text, "evidence/a.pcap"]})))
    writer.finish()
