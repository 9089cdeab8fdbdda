"""What is known to be wrong, and whose it is: kept in the database, so that a page says so of what it finds again."""
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timezone

from sqlalchemy import Connection, delete, insert, select

from . import schema
from .errors import ReportingError
from .sql_rows import digest, sql_text

LINK = re.compile(r"https?://[^\s<>\"']+")


@dataclass(frozen=True)
class Defect:
    """A known defect.

    Attributes:
        title, owner, link: what it is, who sees to it, and where more of it stands (`https://...`; empty: nowhere).
        check_name, plan_id, device_id, hwsku, os_version: what it is known of; empty: of any.
    """

    title: str
    owner: str
    link: str = ""
    check_name: str = ""
    plan_id: str = ""
    device_id: str = ""
    hwsku: str = ""
    os_version: str = ""

    @property
    def defect_id(self) -> str:
        """Its key: short, and the same for the same defect."""
        return digest([getattr(self, field.name) for field in fields(self)])[:8]

    def covers(self, check_name: str, plan_ids: Sequence[str], device_id: str, hwsku: str, os_version: str) -> bool:
        """Whether failures of a check are of this kind: in all of these test cases, on this device and build."""
        return (self.check_name in ("", check_name) and all(self.plan_id in ("", one) for one in plan_ids)
                and self.device_id in ("", device_id) and self.hwsku in ("", hwsku)
                and self.os_version in ("", os_version))


def check_defect(defect: Defect) -> None:
    """Refuse a defect that says nothing, or too little to be told from others.

    Raises:
        ReportingError: one sentence that says what is missing.
    """
    if not defect.title or not defect.owner:
        raise ReportingError("a known defect needs a title and an owner")
    if defect.link and not LINK.fullmatch(defect.link):
        raise ReportingError(f"the link of a known defect is '{defect.link}'; it must begin with https:// or http://")
    if not (defect.check_name or defect.plan_id):
        raise ReportingError("a known defect needs --check or --plan-id: without one it would cover every failure")


def add(connection: Connection, defect: Defect) -> bool:
    """Store a defect; returns whether it was not there yet."""
    table = schema.defects.c
    row = {name: sql_text(value) for name, value in asdict(defect).items()}
    if connection.scalar(select(table.defect_id).where(table.defect_id == defect.defect_id)):
        return False
    now = datetime.now(timezone.utc)
    connection.execute(insert(schema.defects).values(defect_id=defect.defect_id, added=now, **row))
    return True


def remove(connection: Connection, defect_id: str) -> bool:
    """Remove a defect; returns whether it was there."""
    return bool(connection.execute(delete(schema.defects).where(schema.defects.c.defect_id == defect_id)).rowcount)


def known(connection: Connection) -> list[Defect]:
    """All defects, the newest first: of several that cover a failure that one speaks."""
    table = schema.defects.c
    columns = [table[field.name] for field in fields(Defect)]
    found = connection.execute(select(*columns).order_by(table.added.desc(), table.defect_id)).mappings()
    return [Defect(**row) for row in found]
