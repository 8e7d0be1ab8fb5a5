"""Files below an outbox folder: what is opened is what lies there, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postroom.domain.file_ports import OutboxRefusal
from postroom.world.files import safe_open
from postroom.world.files.safe_open import opened_below


@pytest.fixture
def outbox(tmp_path: Path) -> Path:
    (tmp_path / "outbox" / "sub").mkdir(parents=True)
    (tmp_path / "outbox" / "sub" / "report.txt").write_text("fine")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.txt").write_text("secret")
    return tmp_path / "outbox"


def test_a_regular_file_is_read(outbox: Path) -> None:
    with opened_below(outbox, ("sub", "report.txt")) as file:
        assert (file.size, file.source.read(), file.unchanged()) == (4, b"fine", True)


def link_file(outbox: Path) -> None:
    (outbox / "sub" / "x").symlink_to(outbox.parent / "secret" / "key.txt")


def hard_link(outbox: Path) -> None:
    os.link(outbox.parent / "secret" / "key.txt", outbox / "sub" / "x")


def folder(outbox: Path) -> None:
    (outbox / "sub" / "x").mkdir()


def pipe(outbox: Path) -> None:
    os.mkfifo(outbox / "sub" / "x")


def link_folder(outbox: Path) -> None:
    (outbox / "sub").rename(outbox / "real")
    (outbox / "sub").symlink_to(outbox.parent / "secret")
    (outbox.parent / "secret" / "x").write_text("secret")


def foreign(outbox: Path) -> None:
    (outbox / "sub" / "x").write_text("theirs")
    os.chown(outbox / "sub" / "x", 12345, 12345)


def nothing(outbox: Path) -> None:
    return None


@pytest.mark.requirement("content:files-opened-safely")
@pytest.mark.parametrize(
    ("make", "code"),
    [
        (link_file, "link"),
        (link_folder, "link"),
        (hard_link, "several_names"),
        (folder, "not_a_file"),
        (pipe, "not_a_file"),
        (nothing, "not_found"),
        pytest.param(
            foreign, "foreign_owner", marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root gives away")
        ),
    ],
)
def test_whatever_is_no_plain_file_of_ours_is_refused(outbox: Path, make: Callable[[Path], None], code: str) -> None:
    make(outbox)

    with pytest.raises(OutboxRefusal) as refusal, opened_below(outbox, ("sub", "x")):
        pass
    assert refusal.value.code == code


@pytest.mark.parametrize("parts", [("..", "secret", "key.txt"), ("sub/../../secret", "key.txt"), ("",), (), (".",)])
def test_no_part_leads_out(outbox: Path, parts: tuple[str, ...]) -> None:
    with pytest.raises(OutboxRefusal) as refusal, opened_below(outbox, parts):
        pass
    assert refusal.value.code == "outside_outbox"


def test_an_outbox_that_is_a_link_is_none(outbox: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(tmp_path / "secret")

    with pytest.raises(OutboxRefusal) as refusal, opened_below(tmp_path / "alias", ("key.txt",)):
        pass
    assert refusal.value.code == "outbox_unavailable"


def test_a_folder_that_is_swapped_for_a_link_while_it_is_opened_leads_nowhere_else(
    outbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is already open when its name begins to lead elsewhere: what is read still lies in the old one."""
    real_open = os.open
    (outbox.parent / "secret" / "report.txt").write_text("secret")

    def swapping(name: str, flags: int, *more: Any, **named: Any) -> int:
        if name == "report.txt":
            (outbox / "sub").rename(outbox / "moved")
            (outbox / "sub").symlink_to(outbox.parent / "secret")
        return real_open(name, flags, *more, **named)

    monkeypatch.setattr(safe_open.os, "open", swapping)

    with opened_below(outbox, ("sub", "report.txt")) as file:
        assert file.source.read() == b"fine"


def test_a_file_that_grows_while_it_is_read_is_noticed(outbox: Path) -> None:
    with opened_below(outbox, ("sub", "report.txt")) as file:
        with (outbox / "sub" / "report.txt").open("a") as writer:
            writer.write("more")

        assert not file.unchanged()
