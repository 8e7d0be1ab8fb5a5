"""Where attached files lie, who may hand in which, and what acceptance asks about them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from postroom.domain.ids import IdMint
from postroom.domain.ports import Clock
from postroom.system.roster.config import ButlerConfig
from postroom.system.settings import Settings, SettingsError
from postroom.work.files.ownership import CarriedFiles
from postroom.work.files.taking import FileTaking
from postroom.world.files.folder import FolderFiles
from postroom.world.files.kept import KeptFiles
from postroom.world.files.safe_open import opened_below
from postroom.world.store.files.uploads import StoredUploads

if TYPE_CHECKING:
    from postroom.app.store import OpenedStore

__all__ = ["KeptFiles", "carried_files", "file_taking", "open_files"]


def open_files(settings: Settings) -> KeptFiles:
    """A store of S3's kind needs the extra `s3`; nothing is reached or made before it is used."""
    wanted = settings.messages.files
    if not wanted.startswith("s3://"):
        return FolderFiles(_folder(settings, Path(wanted)))
    try:
        from postroom.world.files.s3 import S3Account, S3Files
    except ImportError:
        raise SettingsError("messages.files: s3:// needs the extra: pip install 'postroom[s3]'.") from None
    place, chosen = urlsplit(wanted), settings.messages
    if not place.netloc:
        raise SettingsError("messages.files: s3:// must name a bucket, such as s3://household/files.")
    account = S3Account(
        bucket=place.netloc,
        prefix=place.path.strip("/"),
        endpoint_url=chosen.s3_endpoint_url or None,
        region=chosen.s3_region or None,
        access_key=chosen.s3_access_key.reveal() or None,
        secret_key=chosen.s3_secret_key.reveal() or None,
    )
    return S3Files(account, settings.home / "files")


def file_taking(
    settings: Settings, store: OpenedStore, roster: Iterable[ButlerConfig], clock: Clock, mint: IdMint
) -> FileTaking:
    return FileTaking(
        store=store.files,
        record=StoredUploads(store.database),
        open_outbox=opened_below,
        clock=clock,
        mint=mint.mint,
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
