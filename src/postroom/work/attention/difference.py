"""What another policy would have changed, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from postroom.domain.notice_states import UNSENT, NoticeState
from postroom.domain.time import to_datetime
from postroom.domain.wall_clock import known_zone
from postroom.work.attention.decisions import DecisionKind
from postroom.work.attention.simulate import SimulatedRun
from postroom.work.attention.state import Standing

_K = DecisionKind
_MINUTE_US: Final = 60_000_000
_LEAVES: Final = (_K.RELEASE, _K.DELEGATE, _K.CLOSE_DIGEST)
_OTHERWISE: Final = {
    _K.ESCALATE: "escalation",
    _K.REPEAT: "repeat",
    _K.MERGE: "merged notice",
    _K.MUTE: "muted notice",
    _K.EXPIRE: "expired notice",
    _K.GIVE_UP: "unanswered notice",
}


def difference(before: SimulatedRun, after: SimulatedRun, zone: str = "UTC") -> tuple[str, ...]:
    """
    Such as `31 fewer interruptions` and `2 notices later, by 40 min at most`; empty when nothing differs.

    What is held at the end is not lost: it says until when, by the clocks of `zone`.
    """
    lines = [_count(interruptions(after) - interruptions(before), "interruption")]
    lines += [_count(_of(after, kind) - _of(before, kind), name) for kind, name in _OTHERWISE.items()]
    first, second = left_at(before), left_at(after)
    shifts = {name: second[name] - first[name] for name in first if name in second}
    lines += [_moved((shift for shift in shifts.values() if shift > 0), "later")]
    lines += [_moved((-shift for shift in shifts.values() if shift < 0), "earlier")]
    lines += _instead(after, sorted(first.keys() - second.keys()), zone)
    lines += [_only(len(second.keys() - first.keys()), "sent that was not sent before")]
    return tuple(line for line in lines if line)


def _instead(after: SimulatedRun, names: Iterable[str], zone: str) -> list[str]:
    """What becomes of those that were sent before and, by the end of these days, are not."""
    standings = [after.state.notices[name] for name in names]
    last = {one.notice: one.kind for one in after.decisions}
    held = [one for one in standings if one.state in UNSENT]
    digest = [one for one in held if last.get(one.notice.id) is _K.JOIN_DIGEST]
    merged = [one for one in standings if one.state is NoticeState.MERGED]
    alone = [one for one in held if one not in digest]
    return [
        _only(len(alone), f"held{_latest(alone, zone)}"),
        _only(len(digest), f"part of a digest{_latest(digest, zone)}"),
        _only(len(merged), "merged into another"),
        _only(len(standings) - len(held) - len(merged), "no longer sent"),
    ]


def _latest(standings: Sequence[Standing], zone: str) -> str:
    """The latest moment of those that have one."""
    moments = {one.until_us for one in standings if one.until_us is not None}
    if not moments:
        return ""
    said = to_datetime(max(moments)).astimezone(known_zone(zone)).strftime("%a %d %b %H:%M")
    return f" until {said}" if len(moments) == 1 else f" until {said} at the latest"


def interruptions(run: SimulatedRun) -> int:
    """Each send is one, however many notices it carries; corrections interrupt no one."""
    return len({one.send for one in run.decisions if one.send is not None and one.kind is not _K.CORRECT})


def left_at(run: SimulatedRun) -> dict[str, int]:
    """When each notice was sent for the first time."""
    found: dict[str, int] = {}
    for one in run.decisions:
        if one.kind in _LEAVES:
            found.setdefault(one.notice, one.at_us)
    return found


def _of(run: SimulatedRun, kind: DecisionKind) -> int:
    return sum(1 for one in run.decisions if one.kind is kind)


def _count(change: int, name: str) -> str:
    if change == 0:
        return ""
    return f"{abs(change)} {'more' if change > 0 else 'fewer'} {name}{'' if abs(change) == 1 else 's'}"


def _moved(shifts: Iterable[int], word: str) -> str:
    found = list(shifts)
    return f"{_notices(len(found))} {word}, by {max(found) // _MINUTE_US} min at most" if found else ""


def _only(count: int, words: str) -> str:
    return f"{_notices(count)} {words}" if count else ""


def _notices(count: int) -> str:
    return f"{count} notice{'' if count == 1 else 's'}"
