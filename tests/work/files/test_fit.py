"""How many files go with a message, and how large they may be."""

from __future__ import annotations

import pytest

from postroom.domain.capabilities import Capabilities
from postroom.domain.errors import ValidationError
from postroom.work.files.fit import MOST_FILE_BYTES, check_fit

SMALL = Capabilities(files=True, most_files=2, most_file_bytes=100, most_files_bytes=150)


@pytest.mark.requirement("content:files-limits-first")
@pytest.mark.parametrize(
    ("sizes", "can", "field", "code"),
    [
        ([1], Capabilities(), "attachments", "no_files"),
        ([1, 1, 1], SMALL, "attachments", "too_many_files"),
        ([1, 101], SMALL, "attachments[1]", "too_large"),
        ([100, 51], SMALL, "attachments", "too_large"),
        ([MOST_FILE_BYTES + 1], None, "attachments[0]", "too_large"),
        ([MOST_FILE_BYTES] * 3, None, "attachments", "too_large"),
        ([1] * 11, Capabilities(files=True), "attachments", "too_many_files"),
    ],
)
def test_too_much_is_refused_with_the_field(sizes: list[int], can: Capabilities | None, field: str, code: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        check_fit(sizes, "pigeon", can)

    assert [(one.field, one.code) for one in refusal.value.fields] == [(field, code)]


def test_what_fits_passes() -> None:
    check_fit([100, 50], "pigeon", SMALL)
    check_fit([], "pigeon", Capabilities())
    check_fit([MOST_FILE_BYTES], "auto", None)
