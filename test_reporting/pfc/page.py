"""The page of runs: of those that a user names, and of a run that has just ended, in its folder."""
from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from .database import SQLITE_FILE, Urls, open_store
from .errors import ReportingError, StoreError
from .names import PAGE

if TYPE_CHECKING:
    from .html_report.report import Written


def write_page(directory: Path, run_id: str, is_stored: bool, urls: Urls = None) -> Path:
    """Write the page of a run into its folder: from the database, which knows the runs before it, or, where that does
    not have all of it, from the folder's own records.

    Args:
        directory: the run's folder.
        run_id: its id.
        is_stored: whether every database has the whole run.
        urls: as `database_urls` takes them.

    Raises:
        RecordError, OSError: it cannot be written; the run's records are as they were.
    """
    page = directory / PAGE
    if is_stored:
        with suppress(StoreError):
            page_of([run_id], None, page, directory.parent, urls)
            return page
    from .sync import deliver_folder
    with TemporaryDirectory() as folder:
        url = f"{SQLITE_FILE}{folder}/run.db"
        deliver_folder(directory, open_store(url))
        page_of([run_id], None, page, directory.parent, url)
    return page


def page_of(names: Sequence[str], baseline: str | None, output: Path | None, results: Path, urls: Urls) -> Written:
    """Write the page of some runs that a database has; arguments but the last as of `html_report.write_report`.

    Raises:
        ReportingError: it cannot be written.
    """
    with open_store(urls, must_exist=True).reading() as connection:
        try:
            from .html_report import write_report
        except ImportError as error:
            raise ReportingError(f"no HTML report can be written: Jinja2 is not installed ({error})") from error
        return write_report(connection, names, baseline, output, results)
