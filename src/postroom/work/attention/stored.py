"""The state of a person as rows, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields

from postroom.domain.notice_rows import DigestRow, Loaded, LogRow, NoticeRow, SendRow
from postroom.domain.notice_states import OPEN
from postroom.domain.record import record
from postroom.work.attention.absence import Absence
from postroom.work.attention.codec import decoded, decoded_event, encoded
from postroom.work.attention.decisions import Decision
from postroom.work.attention.digest import Digest
from postroom.work.attention.facts import Fact, NoticeAccepted
from postroom.work.attention.policy import Policy
from postroom.work.attention.state import AttentionState, NoticeSend, Silence, Standing


@record
class Rest:
    """What belongs to no single notice."""

    silences: tuple[Silence, ...] = ()
    absences: tuple[Absence, ...] = ()
    down: Mapping[str, int] = field(default_factory=dict)
    tombstones: Mapping[tuple[str, str], int] = field(default_factory=dict)
    slots_used: Mapping[str, int] = field(default_factory=dict)
    clock_us: int = 0


def state_of(person: str, loaded: Loaded) -> AttentionState:
    rest = decoded(Rest, loaded.person.rest) if loaded.person is not None else Rest()
    return AttentionState(
        person=person,
        notices={one.id: decoded(Standing, one.standing) for one in loaded.notices},
        sends={one.key: decoded(NoticeSend, one.send) for one in loaded.sends},
        digests={one.id: decoded(Digest, one.digest) for one in loaded.digests},
        **{one.name: getattr(rest, one.name) for one in fields(Rest)},
    )


def policy_of(loaded: Loaded) -> Policy | None:
    return read_policy(loaded.person.policy) if loaded.person is not None else None


def read_policy(text: str | None) -> Policy | None:
    return decoded(Policy, text) if text is not None else None


def rest_text(state: AttentionState) -> str:
    return encoded(Rest(**{one.name: getattr(state, one.name) for one in fields(Rest)}))


def notice_row(standing: Standing, *, path: tuple[str, ...] = ()) -> NoticeRow:
    notice = standing.notice
    return NoticeRow(
        id=notice.id,
        person=notice.person,
        agent=notice.agent,
        key=notice.key,
        state=str(standing.state),
        open=standing.state in OPEN or standing.to_correct,
        created_us=notice.created_us,
        standing=encoded(standing),
        path=path,
    )


def send_row(person: str, send: NoticeSend, *, outgoing: str = "", request_id: str = "") -> SendRow:
    return SendRow(
        key=send.key,
        person=person,
        at_us=send.at_us,
        pending=send.pending,
        send=encoded(send),
        outgoing=outgoing,
        request_id=request_id,
    )


def digest_row(person: str, digest: Digest) -> DigestRow:
    return DigestRow(id=digest.id, person=person, digest=encoded(digest))


def log_row(person: str, seq: int, event: Fact | Decision) -> LogRow:
    return LogRow(
        person=person,
        seq=seq,
        at_us=event.at_us,
        kind=type(event).__name__,
        notice=_about(event),
        body=encoded(event),
    )


def event_of(row: LogRow) -> Fact | Decision:
    return decoded_event(row.kind, row.body)


def _about(event: Fact | Decision) -> str | None:
    if isinstance(event, NoticeAccepted):
        return event.notice.id
    return getattr(event, "notice", None)
