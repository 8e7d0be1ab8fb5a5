"""`postroom prune`: remove what is settled and old."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from postroom.cli.output import Database, Home, Json, say, say_json
from postroom.cli.progress import ShowDone, bar
from postroom.domain.retention import DAY_US, read_span, retention
from postroom.domain.settings_error import SettingsError
from postroom.system.settings import Settings
from postroom.system.settings.load import from_process


def prune(
    older_than: Annotated[
        str | None, typer.Option("--older-than", help="Settled before that: 12h, 90d, 4w (retention.settled_days).")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go; change nothing.")] = False,
    batch_size: Annotated[int | None, typer.Option("--batch-size", min=1, help="Deliveries per transaction.")] = None,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Remove settled deliveries, logs, sessions, read notes and old questions' words."""
    overrides = {"home": home, "database_url": database, "retention.batch_size": batch_size}
    settings, _ = from_process(overrides)
    settled = _span("--older-than", older_than) or settings.retention.settled_days * DAY_US
    counts = asyncio.run(_prune(settings, settled, dry_run=dry_run, quiet=json))
    if json:
        say_json({"dry_run": dry_run, "pruned": counts})
        return
    for line in summary(counts, dry_run=dry_run):
        say(line)


def summary(counts: dict[str, int], *, dry_run: bool) -> list[str]:
    verb = "would go" if dry_run else "gone"
    told = [f"  {number:>9,}  {name} {verb}" for name, number in counts.items() if number]
    return told or ["Nothing is old enough to go."]


def _span(option: str, text: str | None) -> int | None:
    try:
        return None if text is None else read_span(text)
    except ValueError as error:
        raise SettingsError(f"{option} {text}: {error}.") from None


async def _prune(settings: Settings, settled_us: int, *, dry_run: bool, quiet: bool) -> dict[str, int]:
    from postroom.app.store import connect_store
    from postroom.system.clock import SystemClock
    from postroom.world.store.engine.migrate import known_revision
    from postroom.world.store.retention.pruning import Pruner

    store = connect_store(settings)
    words_us, audit_us = settings.retention.question_days * DAY_US, settings.retention.audit_days * DAY_US
    keep = retention(SystemClock().now_us(), settled_us, words_us, audit_us)
    try:
        await store.database.read(known_revision)
        with bar("Pruning", quiet=quiet or dry_run) as show:
            gone = _Gone(show)
            batch = settings.retention.batch_size
            pruner = Pruner(database=store.database, batch=batch, tell=gone.more, files=store.files)
            counts = await pruner.estimate(keep)
            gone.of(sum(counts.values()))
            return counts if dry_run else await pruner.prune(keep)
    finally:
        await store.database.close()


class _Gone:
    """How many rows of all kinds have gone."""

    def __init__(self, show: ShowDone) -> None:
        self._show, self._done, self._total = show, 0, 0

    def of(self, total: int) -> None:
        self._total = total
        self._show(0, total)

    def more(self, _kind: str, number: int) -> None:
        self._done += number
        self._show(self._done, max(self._total, self._done))
