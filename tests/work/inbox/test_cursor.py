"""A cursor comes back as it went out, and nothing else passes for one."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.work.inbox.examples import a_notification

from postroom.domain.errors import ValidationError
from postroom.domain.notification import Cursor
from postroom.work.inbox.cursor import cursor_after, parse_cursor


def test_a_cursor_names_the_place_after_a_notification() -> None:
    note = a_notification()

    assert parse_cursor(cursor_after(note)) == Cursor(note.created_at_us, note.id)


@given(st.text() | st.binary().map(lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("=")))
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        parse_cursor(text)
