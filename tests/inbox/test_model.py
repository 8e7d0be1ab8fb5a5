"""What waited for the morning is one e-mail, unless it is longer than a message may be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.inbox.examples import a_notification

from postroom.inbox.copies import body
from postroom.inbox.model import Notification, NotificationType, digests
from postroom.message.wire import MAX_MESSAGE_CHARACTERS


def a_note(size: tuple[int, int, NotificationType]) -> Notification:
    message, link, kind = size
    return a_notification(message="m" * message, link="l" * link or None, type=kind)


sizes = st.tuples(st.integers(1, 500), st.integers(0, 2000), st.sampled_from(NotificationType))


@given(st.lists(sizes, min_size=1, max_size=150))
def test_every_note_is_in_one_digest_and_every_digest_fits_into_a_message(
    drawn: list[tuple[int, int, NotificationType]],
) -> None:
    notes = [a_note(size) for size in drawn]
    found = list(digests(notes))

    assert [one for digest in found for one in digest] == notes
    assert all(len(body(digest, "Europe/Berlin")) <= MAX_MESSAGE_CHARACTERS for digest in found)


def test_as_many_as_fit_go_into_one() -> None:
    notes = [a_notification(message="m" * 500)] * 176

    assert [len(digest) for digest in digests(notes)] == [176]
    assert [len(digest) for digest in digests([*notes, *notes])] == [176, 176]
