"""Where attached files lie, who may hand in which, and what acceptance asks about them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from postroom.domain.clock import Clock
from postroom.domain.ids import IdMint
from postroom.domain.retention import DAY_US
from postroom.system.roster.config import ButlerConfig
from postroom.system.settings import Settings
from postroom.work.files.ownership import CarriedFiles
from postroom.work.files.taking import FileTaking
from postroom.world.files.folder import FolderFiles
from postroom.world.files.safe_open import opened_below
from postroom.world.store.files.uploads import StoredUploads

if TYPE_CHECKING:
    from postroom.app.store import OpenedStore


def open_files(settings: Settings) -> FolderFiles:
    """Nothing is made before it is used."""
    return FolderFiles(_folder(settings, Path(settings.messages.files)))


def file_taking(
    settings: Settings, store: OpenedStore, roster: Iterable[ButlerConfig], clock: Clock, mint: IdMint
) -> FileTaking:
    return FileTaking(
        store=store.files,
        record=StoredUploads(store.database),
        open_outbox=opened_below,
        clock=clock,
        mint=mint.mint,
        arrived_life_us=settings.retention.question_days * DAY_US,
        most_bytes_a_day=settings.messages.file_megabytes_per_day * 1_000_000,
        outbox=_folders(settings, settings.messages.outbox),
        outboxes={config.name: _folders(settings, config.butler.messages.outbox) for config in roster},
    )


def carried_files(store: OpenedStore, clock: Clock) -> CarriedFiles:
    return CarriedFiles(record=StoredUploads(store.database), store=store.files, clock=clock)


def _folders(settings: Settings, given: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(_folder(settings, one) for one in given)


def _folder(settings: Settings, given: Path) -> Path:
    return Path(settings.home / given.expanduser()).absolute()
