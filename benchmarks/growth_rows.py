"""
A household's past as SQL: deliveries with all that hangs on them, in the proportions of everyday life.

Row 1 is the newest. A longer past is more rows behind the same present: what is open, unread or undecided now
does not change. The shortest past, of ten thousand, fills every page that is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from postroom.attention.state import NoticeSend, SendKind, Standing
from postroom.kernel.database.rows import to_json
from postroom.kernel.values.fields import strict_json
from postroom.message.outgoing import Outgoing
from postroom.message.wishes import AcceptedNotice
from postroom.questions.model import Option, QuestionAnswer, QuestionKind, Wording, wording_object

EVERY_MS: Final = 24 * 3600 * 1000 // 10_000  # ten thousand a day, so that the last day is the same at every size
PEOPLE: Final = 5  # p0 to p4, who are asked, told and written to; messages go to five thousand addresses


def _written(text: str) -> str:
    """As a literal of SQL, where a brace stands for itself."""
    return "'" + text.replace("{", "{{").replace("}", "}}") + "'"


_CHOICE = (Option(value="yes", label="Yes"), Option(value="no", label="No"))
_WORDING = _written(
    strict_json(wording_object(Wording(kind=QuestionKind.CHOICE, question="May it go?", options=_CHOICE)))
)
_ANSWER = _written(to_json(QuestionAnswer(value="yes")))
_STANDING = _written(
    to_json(Standing(notice=AcceptedNotice(id="n", person="p0", agent="butler0", created_us=0, channel="telegram")))
)
_OUTGOING = _written(to_json(Outgoing(origin_butler="butler0", channel="telegram", message="May it go?")))
_SEND = _written(
    to_json(NoticeSend(key="s", kind=SendKind.NOTICE, at_us=0, notices=("n",), person="p0", channel="telegram"))
)
_PERSON = f"'p' || ({{k}} % {PEOPLE})"
_AGENT = "'butler' || ({k} % 4)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """One row for every so many deliveries; `{k}` numbers them, `{id}`, `{at}` and `{now}` are its id and moments."""

    schema: str
    table: str
    every: int
    columns: Mapping[str, str]


def _delivery() -> dict[str, str]:
    status = (
        "CASE WHEN n <= 100 THEN 'pending' WHEN n % 100 = 7 THEN 'failed' WHEN n % 100 = 8 THEN 'dead_lettered' "
        "ELSE 'delivered' END"
    )
    return {
        "id": "{id}",
        "idempotency_key": "'k' || {id}",
        "fingerprint": "'f'",
        "request_id": "'r' || {id}",
        "origin_butler": "'butler' || (n % 4)",
        "channel": "CASE WHEN n % 3 = 0 THEN 'email' ELSE 'telegram' END",
        "intent": "'send'",
        "target_identity": "'person' || (n % 5000) || '@example.org'",
        "address": "'person' || (n % 5000) || '@example.org'",
        "order_key": "'telegram:person' || (n % 5000) || '@example.org'",
        "message_content": "'a message of some length, as messages are, number ' || n",
        "request_envelope": "'{{}}'",
        "priority": "1",
        "on_uncertain": "'resend'",
        "status": status,
        "attempts": "1",
        "calls": "1",
        "parts_done": "1",
        "turn": "0",
        "fence": "1",
        "sending": "FALSE",
        "possible_duplicate": "FALSE",
        "not_before": "CASE WHEN n <= 100 THEN {now} + 86400000000 ELSE {at} END",
        "created_at": "{at}",
        "updated_at": "{at}",
        "terminal_at": "CASE WHEN n <= 100 THEN NULL ELSE {at} + 20000 END",
    }


FILLINGS: Final = (
    Filling(schema="messenger", table="delivery_requests", every=1, columns=_delivery()),
    Filling(
        schema="messenger",
        table="delivery_attempts",
        every=1,
        columns={
            "delivery_request_id": "{id}",
            "attempt_number": "1",
            "started_at": "{at}",
            "completed_at": "{at} + 20000",
            "latency_ms": "20 + n % 50",
            "outcome": "'success'",
        },
    ),
    Filling(
        schema="messenger",
        table="delivery_attempts",
        every=20,
        columns={
            "delivery_request_id": "{id}",
            "attempt_number": "2",
            "started_at": "{at}",
            "completed_at": "{at} + 40000",
            "latency_ms": "40 + n % 50",
            "outcome": "'success'",
        },
    ),
    Filling(
        schema="messenger",
        table="delivery_receipts",
        every=1,
        columns={
            "delivery_request_id": "{id}",
            "part": "1",
            "provider_delivery_id": "'m' || n",
            "receipt_type": "'sent'",
            "received_at": "{at} + 20000",
        },
    ),
    Filling(
        schema="messenger",
        table="delivery_dead_letter",
        every=100,
        columns={
            "id": "{id}",
            "delivery_request_id": "{id}",
            "quarantine_reason": "'retries_exhausted'",
            "error_summary": "'the provider did not answer'",
            "total_attempts": "3",
            "replay_count": "0",
            "discarded_at": "CASE WHEN {k} > 50 THEN {at} + 50000 END",
            "discard_reason": "CASE WHEN {k} > 50 THEN 'too late' END",
            "created_at": "{at}",
        },
    ),
    Filling(
        schema="messenger",
        table="pending_actions",
        every=20,
        columns={
            "id": "{id}",
            "origin_butler": _AGENT,
            "content_hash": "'h'",
            "risk": "'medium'",
            "requested_at": "{at}",
            "expires_at": "{at}",
            "edited": "FALSE",
        },
    ),
    Filling(
        schema="messenger",
        table="approval_events",
        every=20,
        columns={
            "id": "{id}",
            "action_id": "{id}",
            "event_type": "CASE WHEN {k} % 2 = 0 THEN 'action_queued' ELSE 'action_approved' END",
            "actor": f"'person:' || {_PERSON}",
            "event_metadata": "'{{}}'",
            "occurred_at": "{at}",
        },
    ),
    Filling(
        schema="shared",
        table="questions",
        every=20,
        columns={
            "id": "{id}",
            "asker": f"'butler:' || {_AGENT}",
            "fingerprint": "'f'",
            "revision": "1",
            "revision_hash": "'h' || n",
            "kind": "'choice'",
            "secret": "FALSE",
            "wording": _WORDING,
            "urgency": "'normal'",
            "preview": "'full'",
            "escalate_to": "'[]'",
            "status": "CASE WHEN {k} <= 100 THEN 'open' WHEN {k} % 5 = 0 THEN 'expired' ELSE 'answered' END",
            "answer": f"CASE WHEN {{k}} > 100 AND {{k}} % 5 > 0 THEN {_ANSWER} END",
            "answered_by": (
                'CASE WHEN {k} > 100 AND {k} % 5 > 0 THEN \'{{"person_id":"\' || '
                + _PERSON
                + ' || \'","name":"Ann","channel":"telegram","assurance":"channel"}}\' END'
            ),
            "created_at": "{at}",
            "expires_at": "CASE WHEN {k} <= 100 THEN {now} + 86400000000 ELSE {at} + 86400000000 END",
            "ended_at": "CASE WHEN {k} > 100 THEN {at} + 60000000 END",
        },
    ),
    Filling(
        schema="shared",
        table="question_people",
        every=20,
        columns={
            "question_id": "{id}",
            "person_id": _PERSON,
            "name": "'Ann'",
            "added": "'asked'",
            "place": "0",
            "planned_at": "{at}",
        },
    ),
    Filling(
        schema="shared",
        table="presentations",
        every=20,
        columns={
            "id": "{id}",
            "question_id": "{id}",
            "person_id": _PERSON,
            "channel": "'telegram'",
            "address": "'1000'",
            "status": "CASE WHEN {k} <= 100 THEN 'shown' ELSE 'closed' END",
            "revision": "1",
            "delivery_id": "{id}",
            "toggles": "'[]'",
            "fence": "1",
            "created_at": "{at}",
            "updated_at": "{at}",
        },
    ),
    Filling(
        schema="shared",
        table="presentation_tokens",
        every=20,
        columns={
            "token_hash": "'t' || {id}",
            "presentation_id": "{id}",
            "action": "'option'",
            "option": "'yes'",
            "revision": "1",
        },
    ),
    Filling(
        schema="shared",
        table="presentation_parts",
        every=20,
        columns={
            "channel": "'telegram'",
            "address": "'1000'",
            "provider_id": "'m' || n",
            "presentation_id": "{id}",
            "part": "1",
        },
    ),
    Filling(
        schema="shared",
        table="question_attempts",
        every=20,
        columns={
            "id": "{id}",
            "question_id": "{id}",
            "channel": "'telegram'",
            "provider_event_id": "'e' || n",
            "person_id": _PERSON,
            "person_name": "'Ann'",
            "assurance": "'channel'",
            "operator": "FALSE",
            "flags": "'[]'",
            "heard_at": "{at}",
            "verdict": "CASE WHEN {k} <= 100 THEN 'invalid' ELSE 'accepted' END",
            "code": "''",
            "reason": "''",
        },
    ),
    Filling(
        schema="shared",
        table="question_events",
        every=20,
        columns={
            "position": "1000000000 - {k}",
            "question_id": "{id}",
            "asker": f"'butler:' || {_AGENT}",
            "event_type": "CASE WHEN {k} <= 100 THEN 'ask.opened' ELSE 'ask.answered' END",
            "at": "{at}",
        },
    ),
    Filling(
        schema="shared",
        table="notices",
        every=4,
        columns={
            "id": "{id}",
            "person": _PERSON,
            "agent": _AGENT,
            "key": "CASE WHEN {k} % 10 = 0 THEN 'key' || {k} END",
            "state": "CASE WHEN {k} <= 200 THEN 'held' WHEN {k} % 3 = 0 THEN 'digested' ELSE 'sent' END",
            "open": "{k} <= 200",
            "created_at": "{at}",
            "fingerprint": "'f'",
            "request_id": "'r' || {id}",
            "standing": _STANDING,
            "outgoing": _OUTGOING,
        },
    ),
    Filling(
        schema="shared",
        table="notice_sends",
        every=5,
        columns={
            "key": "'s' || {id}",
            "person": _PERSON,
            "at": "{at}",
            "pending": "{k} <= 20",
            "replaced": "FALSE",
            "delivery_id": "{id}",
            "request_id": "'r' || {id}",
            "send": _SEND,
            "outgoing": _OUTGOING,
            "fence": "1",
        },
    ),
    Filling(
        schema="shared",
        table="attention_log",
        every=2,
        columns={
            "person": _PERSON,
            "seq": "1000000000 - {k}",
            "at": "{at}",
            "kind": "CASE WHEN {k} % 2 = 0 THEN 'NoticeAccepted' ELSE 'NoticeSent' END",
            "notice": "CASE WHEN {k} % 20 > 0 THEN 'n' || {k} END",
            "body": "'{{}}'",
        },
    ),
    Filling(
        schema="shared",
        table="notifications",
        every=10,
        columns={
            "id": "{id}",
            "user_id": _PERSON,
            "message": "'a note of some length, number ' || n",
            "type": "'info'",
            "priority": "'medium'",
            "has_bell": "TRUE",
            "seen_at": "CASE WHEN {k} > 300 THEN {at} END",
            "read_at": "CASE WHEN {k} > 300 THEN {at} + 1000000 END",
            "archived_at": "CASE WHEN {k} > 300 AND {k} % 2 = 0 THEN {at} + 2000000 END",
            "created_at": "{at}",
            "updated_at": "{at} + 2000000",
        },
    ),
    Filling(
        schema="shared",
        table="inbound_messages",
        every=10,
        columns={
            "id": "{id}",
            "channel": "'telegram'",
            "event_id": "'e' || n",
            "number": "n",
            "message_id": "'m' || n",
            "place": "'chat' || ({k} % 5)",
            "places": "'[\"chat' || ({k} % 5) || '\"]'",
            "thread": "''",
            "sender": _PERSON,
            "assurance": "'channel'",
            "flags": "'[]'",
            "alone": "TRUE",
            "addressed": "TRUE",
            "text": "'Good morning, what is on today?'",
            "received_at": "{at}",
            "status": "CASE WHEN {k} <= 5 THEN 'running' ELSE 'answered' END",
            "person": _PERSON,
            "kind": "'butler'",
            "target": _AGENT,
            "reason": "''",
            "changed_at": "{at}",
        },
    ),
    Filling(
        schema="shared",
        table="audit_entries",
        every=20,
        columns={
            "id": "{id}",
            "at": "{at}",
            "actor": f"'person:' || {_PERSON}",
            "kind": "'access'",
            "act": "'did something'",
            "subject": "'person:ann'",
            "detail": "''",
            "door": "'console'",
        },
    ),
)
PERSONS = Filling(
    schema="shared",
    table="attention_people",
    every=1,
    columns={"person": "'p' || n", "rest": "'{{}}'", "seq": "1000000000"},
)


def row_id(number: int, now_us: int) -> str:
    """Of the delivery with this number."""
    moment = f"{now_us // 1000 - EVERY_MS * number:012x}"
    return f"{moment[:8]}-{moment[8:]}-7000-8000-{number:012d}"
