"""Buttons under a notice: the same for the same notice, and no one else can make them."""

from __future__ import annotations

import pytest

from postroom.work.attention.notice_buttons import NoticeAct, notice_markup, read_button


@pytest.mark.requirement("attention:buttons")
def test_a_button_of_another_household_or_with_another_notice_in_it_is_none() -> None:
    notice, other = "a" * 32, "b" * 32
    tokens = [one.token or "" for one in notice_markup(b"key", notice).every_button]

    assert [read_button(b"key", one) for one in tokens] == [(act, notice) for act in NoticeAct]
    assert all(len(one) <= 64 for one in tokens)
    for wrong in (tokens[0].replace(notice, other), tokens[0][:-1], f"{tokens[0]}x", "", "nope"):
        assert read_button(b"key", wrong) is None
    assert read_button(b"other key", tokens[0]) is None
