"""Where a path lies, by its words alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.domain.file_ports import OutboxRefusal
from postroom.work.files.outbox_path import OutboxPlace, places

OUTBOX = [Path("/srv/outbox"), Path("/srv/ann/out")]


def test_an_absolute_path_names_its_folder_and_another_may_lie_below_any() -> None:
    assert places("/srv/ann/out/a/b.txt", OUTBOX) == [OutboxPlace(OUTBOX[1], ("a", "b.txt"))]
    assert places("a/b.txt", OUTBOX) == [OutboxPlace(one, ("a", "b.txt")) for one in OUTBOX]


@pytest.mark.requirement("content:files-outbox-only")
@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/etc/passwd", "outside_outbox"),
        ("/srv/outbox", "outside_outbox"),
        ("/srv/outbox-other/a", "outside_outbox"),
        ("/srv/outbox/../secret", "outside_outbox"),
        ("../a", "outside_outbox"),
        ("a/../../b", "outside_outbox"),
        (".ssh/id_rsa", "hidden_file"),
        ("/srv/outbox/a/.env", "hidden_file"),
        (".", "outside_outbox"),
    ],
)
def test_everything_else_is_refused(path: str, code: str) -> None:
    with pytest.raises(OutboxRefusal) as refusal:
        places(path, OUTBOX)
    assert refusal.value.code == code


def test_without_an_outbox_no_path_is_taken() -> None:
    with pytest.raises(OutboxRefusal) as refusal:
        places("a.txt", [])
    assert refusal.value.code == "no_outbox"
