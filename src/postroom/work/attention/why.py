"""Why a notice is where it is: who held it, until when, and what became of it, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from postroom.domain.attention import Because, HoldReason
from postroom.domain.notice_states import NoticeState
from postroom.domain.spoken_time import relative
from postroom.work.attention.decisions import Decision, DecisionKind
from postroom.work.attention.views import NoticeView

_K, _S = DecisionKind, NoticeState
REASONS: Final = {
    Because.QUIET: "it is quiet for them",
    Because.SNOOZE: "they asked for it later",
    Because.SLOT: "such notices wait for the next slot of the day",
    Because.BUDGET: "its agent has used up its interruptions",
    Because.COLLECT: "notices of this kind are collected",
    Because.AWAY: "they are away",
    Because.CHANNEL: "its channel is down",
    Because.APPROVAL: "a person has to approve it",
    Because.RETURNED: "it could not be handed over and is tried again",
    Because.CEILING: "it is less urgent here than its agent asked for",
    Because.DUPLICATE: "the same was said shortly before",
    Because.SUPERSEDED: "a newer notice of the same key took its place",
    Because.TOMBSTONE: "it was withdrawn before it came",
    Because.EXPIRED: "its time was over",
    Because.OVER_BUDGET: "its agent had used up its interruptions, and it was urgent",
    Because.LONGEST_HOLD: "it had waited as long as its urgency may",
    Because.EMPTY_STEP: "no one was there who had not been reached before",
    Because.FAILED: "it could not be delivered",
    Because.LATE: "it was later than planned",
    Because.MUTED: "they muted such notices",
    Because.UNANSWERED: "no one answered",
    Because.WITHDRAWN: "its agent withdrew it",
    Because.STEP: "no one had answered",
    Because.REPEAT: "no one had answered",
}
_ENDS: Final = {
    _S.ACKNOWLEDGED: "It was acknowledged.",
    _S.UNANSWERED: "No one answered it, and it was given up.",
    _S.MUTED: "It was not sent",
    _S.MERGED: "It was not sent on its own",
    _S.WITHDRAWN: "It was withdrawn and not sent",
    _S.RECALLED: "It had been sent and was withdrawn then; a correction went after it.",
    _S.EXPIRED: "It was not sent",
    _S.UNDELIVERABLE: "It could not be delivered, and no other way was left.",
    _S.REFUSED: "It was not sent: no person approved it.",
    _S.SENT: "It was sent.",
    _S.DIGESTED: "It was sent in a digest.",
    _S.WAITING: "It was sent and waits to be acknowledged.",
    _S.RELEASED: "It is on its way.",
    _S.DIGESTING: "It is on its way in a digest.",
}


def why_notice(view: NoticeView, person: str, now_us: int) -> str:
    """One paragraph; `person` is what one calls them."""
    return " ".join(_sentences(view, person, now_us))


def why_held(view: NoticeView, now_us: int) -> str | None:
    """Of a delivery that came from a notice: what held it before; None when nothing did."""
    held = list(_held(view, now_us))
    return f"It was a notice before ({view.id}). {' '.join(held)}" if held else None


def _sentences(view: NoticeView, person: str, now_us: int) -> Iterator[str]:
    yield f"{view.agent} wrote this to {person} {relative(view.created_us, now_us)}."
    yield from _held(view, now_us)
    if view.state in (_S.ACCEPTED, _S.HELD):
        yield _waits(view, now_us)
    else:
        yield from _became(view)
    yield from _sent_as(view)


def _held(view: NoticeView, now_us: int) -> Iterator[str]:
    """Each time it was held, with the policy's reasons; what it waits for now comes later."""
    holds = [one for one in view.decisions if one.kind in (_K.HOLD, _K.JOIN_DIGEST)]
    past = holds[:-1] if view.state is _S.HELD else holds
    for one in past:
        yield f"It was held {relative(one.at_us, now_us)} because {_because(one.reasons)}{_until(one, now_us)}."


def _until(decision: Decision, now_us: int) -> str:
    return f", until {relative(decision.until_us, now_us)}" if decision.until_us is not None else ""


def _waits(view: NoticeView, now_us: int) -> str:
    because = f" because {_because(view.reasons)}" if view.reasons else ""
    if view.until_us is None:
        return f"It is held{because}; only something from outside ends that."
    return f"It is held{because}; the next look is {relative(view.until_us, now_us)}."


def _became(view: NoticeView) -> Iterator[str]:
    words = _ENDS[view.state]
    last = view.decisions[-1] if view.decisions else None
    if words.endswith("."):
        yield words
    elif last is not None and last.reasons:
        yield f"{words}: {_because(last.reasons)}."
    else:
        yield f"{words}."


def _sent_as(view: NoticeView) -> Iterator[str]:
    for one in view.sends:
        if one.send.twice:
            yield f"It may arrive twice: {one.send.channel} was sending it already when another way was chosen."
        if one.delivery_id is not None:
            yield f"Delivery {one.delivery_id} carried it over {one.send.channel} ({one.send.kind})."


def _because(reasons: Iterable[HoldReason]) -> str:
    return " and ".join(dict.fromkeys(REASONS[one.reason] for one in reasons))
