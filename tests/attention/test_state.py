"""Everything the engine makes is JSON and back the same value."""

from __future__ import annotations

from hypothesis import given, settings
from tests.attention.histories import History, histories
from tests.attention.sample import empty

from postroom.attention.rules.policy import PolicyBook, parse_policy
from postroom.attention.rules.simulate import simulate
from postroom.attention.state import decoded, decoded_event, encoded
from postroom.message.attachment import Attachment
from postroom.message.delivery import Format, Priority
from postroom.message.outgoing import Outgoing
from postroom.message.wishes import AttentionWish, Urgency


def book_of(history: History) -> PolicyBook:
    return PolicyBook(people={name: parse_policy(one) for name, one in history.policies.items()})


@settings(max_examples=60, deadline=None)
@given(histories())
def test_facts_and_decisions_come_back_as_they_were(history: History) -> None:
    run = simulate(history.facts, book_of(history), state=empty())
    for event in run.events:
        assert decoded_event(type(event).__name__, encoded(event)) == event


def test_a_message_comes_back_as_it_was() -> None:
    file = Attachment(upload_id="u", sha256="s", name="a.txt", media_type="text/plain", size=3)
    wish = AttentionWish(urgency=Urgency.CRITICAL, needs_ack=True)
    message = Outgoing(
        origin_butler="cook",
        channel="telegram",
        message="**Hi** ü",
        format=Format.MARKDOWN,
        priority=Priority.HIGH,
        attachments=(file,),
        wish=wish,
    )
    assert decoded(Outgoing, encoded(message)) == message
