"""Whether anything left before its time, by arithmetic that has nothing to do with the engine's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chaos.journal import Entry, Step
from chaos.tokens import tokens_in
from postroom.attention.model import Decision, DecisionKind
from postroom.attention.state import Fact, NoticeAccepted, ReceiptIn
from postroom.kernel.values.ids import seconds

HOUR_US: Final = seconds(3600)
REPEAT_SECONDS: Final = 300  # the shortest pause in every policy of the scripts
STEP_SECONDS: Final = 900
SLOTS: Final = tuple(f"{hour:02}:00" for hour in range(24))
Events = Sequence[Fact | Decision]


def next_hour(moment_us: int) -> int:
    return moment_us // HOUR_US * HOUR_US + HOUR_US


def early(logs: Sequence[Events], journal: Sequence[Entry]) -> list[str]:
    found = [problem for events in logs for problem in (*_unheld(events), *_hurried(events))]
    return found + list(_before_decided(logs, journal))


def before_the_hour(journal: Sequence[Entry]) -> list[str]:
    """Where every full hour is a slot, what may wait leaves no sooner than at the next one."""
    said: dict[str, int] = {}
    for one in journal:
        if one.step is Step.SAID:
            said.setdefault(one.token, int(one.detail))
    left = [(one.token, int(one.detail.split()[1])) for one in journal if one.step is Step.LEFT]
    return [f"{token} left before the hour" for token, at_us in left if at_us < next_hour(said[token])]


def _unheld(events: Events) -> Iterator[str]:
    """What was held until a moment is not sent before it unless something happened since."""
    until: dict[str, int | None] = {}
    for event in events:
        if not isinstance(event, Decision):
            until = {} if not isinstance(event, NoticeAccepted | ReceiptIn) else until
        elif event.send is not None and (until.get(event.notice) or 0) > event.at_us:
            yield f"{event.notice} left before {until[event.notice]}"
        else:
            until[event.notice] = event.until_us


def _hurried(events: Events) -> Iterator[str]:
    """A repeat comes no sooner than its pause after the latest receipt, a step than its pause after the first."""
    sends: dict[str, str] = {}
    receipts: dict[str, list[int]] = {}
    for event in events:
        if isinstance(event, ReceiptIn):
            receipts.setdefault(sends.get(event.send, ""), []).append(event.at_us)
        elif isinstance(event, Decision) and event.send is not None:
            sends[event.send] = event.notice
            known = receipts.get(event.notice, [])
            if event.kind is DecisionKind.REPEAT and event.at_us < known[-1] + seconds(REPEAT_SECONDS):
                yield f"{event.notice} was repeated too soon"
            if event.kind is DecisionKind.ESCALATE and event.at_us < known[0] + seconds(STEP_SECONDS):
                yield f"{event.notice} was taken further too soon"


def _before_decided(logs: Sequence[Events], journal: Sequence[Entry]) -> Iterator[str]:
    """Nothing is handed to a provider before it was decided to be sent."""
    tokens: dict[str, list[str]] = {}
    decided: dict[str, int] = {}
    for event in (one for events in logs for one in events):
        if isinstance(event, NoticeAccepted):
            tokens[event.notice.id] = tokens_in(event.notice.text)
        elif isinstance(event, Decision) and event.send is not None:
            for token in tokens[event.notice]:
                decided.setdefault(token, event.at_us)
    for one in journal:
        if one.step is Step.LEFT and int(one.detail.split()[1]) < decided.get(one.token, 1 << 62):
            yield f"{one.token} left before it was decided"
