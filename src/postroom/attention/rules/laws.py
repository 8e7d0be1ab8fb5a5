"""The laws that no notice is lost by, none sent twice and none forgotten: what each finds unaccounted for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from postroom.attention.model import CELLS, OPEN, UNSENT, Decision, DecisionKind, NoticeState
from postroom.attention.rules.decide import decide
from postroom.attention.rules.fold import fold
from postroom.attention.rules.policy import PolicyBook
from postroom.attention.rules.reasons import Scene, longest_us
from postroom.attention.state import Acked, AttentionState, Fact, NoticeAccepted, SendKind, SendOutcome, Standing
from postroom.message.wishes import Because

_K = DecisionKind
_POLICY: Final = (Because.QUIET, Because.SLOT, Because.COLLECT, Because.BUDGET)
_S = NoticeState
_NEEDS_RECEIPT: Final = (_S.SENT, _S.DIGESTED, _S.WAITING, _S.UNANSWERED, _S.RECALLED)
Events = Iterable[Fact | Decision]


def every_notice_in_one_cell(state: AttentionState, accepted: Iterable[str]) -> list[str]:
    """L1. What was accepted is what the cells of the summary hold."""
    names = set(accepted)
    lost = [f"L1 {name} was accepted and is nowhere" for name in sorted(names - state.notices.keys())]
    strange = [f"L1 {name} is here and was never accepted" for name in sorted(state.notices.keys() - names)]
    cells = {name: sum(one.state in states for states in CELLS.values()) for name, one in state.notices.items()}
    return lost + strange + [f"L1 {name} is in {count} cells" for name, count in cells.items() if count != 1]


def every_send_has_one_cause(decisions: Iterable[Decision]) -> list[str]:
    """L2. A cause decides once, and a key of a send belongs to one notice or to one digest."""
    made = list(decisions)
    twice = [
        f"L2 {cause} was decided {count} times" for cause, count in Counter(d.cause for d in made).items() if count > 1
    ]
    owners: dict[str, set[str]] = {}
    for one in made:
        if one.send is not None:
            owner = one.send if one.kind is DecisionKind.CLOSE_DIGEST else one.cause
            owners.setdefault(one.send, set()).add(owner)
    return twice + [f"L2 send {key} has {len(causes)} causes" for key, causes in owners.items() if len(causes) > 1]


def in_one_digest_at_most(state: AttentionState) -> list[str]:
    """L3. Of the digests by one channel a round of a notice is in one, and who is in a digest is a member of it."""
    inside = (NoticeState.DIGESTING, NoticeState.DIGESTED)
    found = []
    for name, one in state.notices.items():
        digest = state.digests.get(one.digest or "")
        if one.state in inside and (digest is None or name not in digest.members):
            found.append(f"L3 {name} is {one.state} and in no digest")
        if one.state in UNSENT and one.digest is not None:
            found.append(f"L3 {name} waits and is in a digest")
        if len(set(one.tried)) < len(one.tried):
            found.append(f"L3 {name} was sent twice by one channel in one round")
    return found


def the_log_is_the_state(state: AttentionState, events: Events, start: AttentionState) -> list[str]:
    """L4. Folding everything again gives what is stored."""
    for event in events:
        start = fold(start, event)
    differing = [name for name in start.notices if start.notices[name] != state.notices.get(name)]
    rest = [] if start == state or differing else ["L4 the rest of the state is not the fold of its log"]
    return [f"L4 {name} is not the fold of its log" for name in differing] + rest


def every_open_notice_has_a_next(state: AttentionState, book: PolicyBook, now_us: int) -> list[str]:
    """L5. Nothing is due, everything open has a next moment or waits for something outside, and not for too long."""
    return _nothing_is_due(state, book, now_us) + _none_is_stuck(state, book, now_us)


def _nothing_is_due(state: AttentionState, book: PolicyBook, now_us: int) -> list[str]:
    """L5, right after a decision."""
    due, _ = decide(state, book, now_us)
    return [f"L5 {one.kind} of {one.notice} is due and not done" for one in due]


def _none_is_stuck(state: AttentionState, book: PolicyBook, now_us: int) -> list[str]:
    """L5, without what is due: between its moment and the next round of the loop something always is."""
    standings = [one for one in state.in_order() if one.state in OPEN]
    return [f"L5 {one.notice.id} {problem}" for one in standings if (problem := _stuck(state, book, one, now_us))]


def _stuck(state: AttentionState, book: PolicyBook, standing: Standing, now_us: int) -> str | None:
    if standing.state in UNSENT:
        if standing.until_us is None:
            return None if any(one.until_us is None for one in standing.reasons) else "waits for nothing"
        longest = longest_us(Scene.of(state, book, standing), standing.until_us)
        asked = max((one.until_us or 0 for one in standing.reasons if one.reason not in _POLICY), default=0)
        return "is held too long" if standing.until_us > max(longest, asked, now_us) else None
    if standing.state is NoticeState.WAITING:
        return None
    return None if standing.send in state.sends else "is on its way by no send"


def nothing_after_the_answer(events: Events) -> list[str]:
    """L6. After an acknowledgement there is no repeat and no step."""
    acknowledged: set[str] = set()
    found = []
    for event in events:
        if isinstance(event, Acked):
            acknowledged.add(event.notice)
        elif isinstance(event, Decision) and event.notice in acknowledged and event.kind in (_K.REPEAT, _K.ESCALATE):
            found.append(f"L6 {event.kind} of {event.notice} after its answer")
    return found


def receipts_are_what_was_sent(state: AttentionState) -> list[str]:
    """L7. Everything that counts as sent has a receipt, and every receipt of a notice made it count as sent."""
    arrived = {
        name
        for send in state.sends.values()
        if send.outcome in (SendOutcome.OK, SendOutcome.UNCERTAIN) and send.kind in (SendKind.NOTICE, SendKind.DIGEST)
        for name in send.notices
    }
    sent = {name for name, one in state.notices.items() if one.state in _NEEDS_RECEIPT}
    waiting = {
        name for name, one in state.notices.items() if one.first_us is not None and one.state is NoticeState.RELEASED
    }
    return [f"L7 {name} counts as sent without a receipt" for name in sorted(sent - arrived)] + [
        f"L7 {name} arrived and is still on its way" for name in sorted(waiting)
    ]


def unaccounted(
    state: AttentionState, book: PolicyBook, events: Events, start: AttentionState, now_us: int
) -> list[str]:
    """Everything that breaks a law; it must be empty."""
    log = list(events)
    late = _nothing_is_due(state, book, now_us)
    return kept(state, book, log, start, now_us) + the_log_is_the_state(state, log, start) + late


def kept(
    state: AttentionState, book: PolicyBook, log: Sequence[Fact | Decision], start: AttentionState, now_us: int
) -> list[str]:
    """The same of what is on disk, where a log may have lost its beginning and something may be due just now."""
    accepted = [*start.notices, *(event.notice.id for event in log if isinstance(event, NoticeAccepted))]
    return [
        *every_notice_in_one_cell(state, accepted),
        *every_send_has_one_cause(event for event in log if isinstance(event, Decision)),
        *nothing_after_the_answer(log),
        *present(state, book, now_us),
    ]


def present(state: AttentionState, book: PolicyBook, now_us: int) -> list[str]:
    """Those that need no log."""
    stuck = _none_is_stuck(state, book, now_us)
    return in_one_digest_at_most(state) + receipts_are_what_was_sent(state) + stuck
