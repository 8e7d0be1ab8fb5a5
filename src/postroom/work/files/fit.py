"""How many files, and how large: ours for every message, and the channel's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from postroom.domain.capabilities import Capabilities
from postroom.domain.errors import FieldError, ValidationError

MOST_FILES: Final = 10
MOST_FILE_BYTES: Final = 50 * 1000 * 1000
MOST_FILES_BYTES: Final = 100 * 1000 * 1000
MOST_DATA_BYTES: Final = 256 * 1024
ATTACHMENTS: Final = "attachments"


def check_fit(sizes: Sequence[int], channel: str, can: Capabilities | None) -> None:
    """Raises ValidationError; `can` is None while the channel is not chosen yet."""
    if not sizes:
        return
    if can is not None and not can.files:
        raise refused(ATTACHMENTS, f"{channel} carries no files", "no_files")
    most, each, together = _limits(can)
    where = f" on {channel}" if can is not None else ""
    if len(sizes) > most:
        raise refused(ATTACHMENTS, f"at most {most} files go with one message{where}", "too_many_files")
    for index, size in enumerate(sizes):
        if size > each:
            told = f"has {size:,} bytes; at most {each:,} are carried{where}"
            raise refused(f"{ATTACHMENTS}[{index}]", told, "too_large")
    if sum(sizes) > together:
        told = f"have {sum(sizes):,} bytes together; at most {together:,} are carried{where}"
        raise refused(ATTACHMENTS, told, "too_large")


def refused(field: str, error: str, code: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, code)])


def _limits(can: Capabilities | None) -> tuple[int, int, int]:
    own = (can.most_files, can.most_file_bytes, can.most_files_bytes) if can else (None, None, None)
    ours = (MOST_FILES, MOST_FILE_BYTES, MOST_FILES_BYTES)
    most, each, together = (min(limit, theirs or limit) for limit, theirs in zip(ours, own, strict=True))
    return most, each, together
