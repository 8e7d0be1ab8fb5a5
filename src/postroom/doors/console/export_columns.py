"""The columns of each list that can be downloaded: what the list shows, and nothing that it hides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from postroom.domain.dead_letter import DeadLetter
from postroom.domain.notification import Notification
from postroom.domain.person import Person
from postroom.domain.person_history import HistoryLine, WordsKept
from postroom.doors.console.attention_words import STATE_WORDS, reason_words
from postroom.doors.console.csv_text import Cell, moment_cell
from postroom.doors.console.export import Exported
from postroom.work.attention.views import NoticeView

DELIVERIES: Final[Exported[Mapping[str, Any]]] = Exported(
    "deliveries",
    (
        ("Accepted", lambda one: one["created_at"]),
        ("To", lambda one: one["target_identity"]),
        ("Channel", lambda one: one["channel"]),
        ("From", lambda one: one["origin_butler"]),
        ("Kind", lambda one: one["intent"]),
        ("State", lambda one: one["status"]),
        ("Mark", lambda one: one["mark"]),
        ("Maybe twice", lambda one: bool(one["possible_duplicate"])),
        ("Subject", lambda one: one["subject"]),
        ("Message begins", lambda one: one["excerpt"]),
        ("Attempts", lambda one: one["attempts"]),
        ("Ended", lambda one: one["terminal_at"]),
        ("Error", lambda one: one["terminal_error_class"]),
        ("What went wrong", lambda one: one["terminal_error_message"]),
        ("Delivery id", lambda one: one["delivery_id"]),
    ),
)

DEAD_LETTERS: Final[Exported[DeadLetter]] = Exported(
    "dead-letters",
    (
        ("Given up", lambda one: moment_cell(one.created_at_us)),
        ("To", lambda one: one.target_identity),
        ("Channel", lambda one: one.channel),
        ("From", lambda one: one.origin_butler),
        ("Why", lambda one: str(one.quarantine_reason)),
        ("Error", lambda one: one.error_class),
        ("What went wrong", lambda one: one.error_summary),
        ("Attempts", lambda one: one.total_attempts),
        ("Replays", lambda one: one.replay_count),
        ("Last replay", lambda one: str(one.replays[-1].status) if one.replays else None),
        ("Discarded", lambda one: moment_cell(one.discarded_at_us)),
        ("Reason for discarding", lambda one: one.discard_reason),
        ("Dead letter id", lambda one: one.id),
        ("Delivery id", lambda one: one.delivery_id),
    ),
)

APPROVALS: Final[Exported[Mapping[str, Any]]] = Exported(
    "approvals",
    (
        ("Asked", lambda one: one["requested_at"]),
        ("State", lambda one: one["status"]),
        ("Risk", lambda one: one["risk_tier"]),
        ("From", lambda one: one["origin_butler"]),
        ("To", lambda one: one["recipient"]),
        ("Channel", lambda one: one["channel"]),
        ("Kind", lambda one: one["intent"]),
        ("Message begins", lambda one: one["preview"]),
        ("Expires", lambda one: one["expires_at"]),
        ("Decided", lambda one: one.get("decided_at")),
        ("Decided by", lambda one: one.get("decided_by")),
        ("Reason", lambda one: one.get("reason")),
        ("Changed first", lambda one: one.get("edited")),
        ("Action id", lambda one: one["action_id"]),
    ),
)

_WORDS: Final = {"exact": "exactly", "pattern": "fits"}


def _constraint(name: str) -> Callable[[Mapping[str, Any]], Cell]:
    def value(rule: Mapping[str, Any]) -> str | None:
        one = rule["constraints"].get(name)
        if one is None or one["type"] == "any":
            return "anything" if one else None
        return f"{_WORDS[one['type']]}: {one['value']}"

    return value


RULES: Final[Exported[Mapping[str, Any]]] = Exported(
    "rules",
    (
        ("Made", lambda one: one["created_at"]),
        ("Made by", lambda one: one["created_by"]),
        ("Stands", lambda one: one["active"]),
        ("What for", lambda one: one["description"]),
        ("Who writes", _constraint("origin_butler")),
        ("To whom", _constraint("recipient")),
        ("Channel", _constraint("channel")),
        ("Kind", _constraint("intent")),
        ("Thread", _constraint("thread")),
        ("Subject", _constraint("subject")),
        ("Message", _constraint("message")),
        ("Reaction", _constraint("emoji")),
        ("Used", lambda one: one["use_count"]),
        ("At most", lambda one: one["max_uses"]),
        ("Ends", lambda one: one["expires_at"]),
        ("Revoked", lambda one: one["revoked_at"]),
        ("Revoked by", lambda one: one["revoked_by"]),
        ("Rule id", lambda one: one["rule_id"]),
    ),
)

INBOX: Final[Exported[Notification]] = Exported(
    "inbox",
    (
        ("Came", lambda one: moment_cell(one.created_at_us)),
        ("From", lambda one: one.agent),
        ("Kind", lambda one: str(one.type)),
        ("Message", lambda one: one.message),
        ("Link", lambda one: one.link),
        ("Read", lambda one: moment_cell(one.read_at_us)),
        ("Put off until", lambda one: moment_cell(one.snoozed_until_us)),
        ("Put away", lambda one: moment_cell(one.archived_at_us)),
        ("Dismissed", lambda one: moment_cell(one.dismissed_at_us)),
        ("Notification id", lambda one: one.id),
    ),
)


def _addresses(person: Person) -> str:
    return "; ".join(
        f"{one.channel}: {one.address}{' (verified)' if one.verified_at_us else ''}" for one in person.addresses
    )


PEOPLE: Final[Exported[Person]] = Exported(
    "people",
    (
        ("Name", lambda one: one.name),
        ("Also called", lambda one: ", ".join(one.aliases)),
        ("Role", lambda one: str(one.role)),
        ("Trusted", lambda one: one.trusted),
        ("Addresses", _addresses),
        ("Zone", lambda one: one.zone),
        ("Person id", lambda one: one.id),
    ),
)

NOTICES: Final[Exported[NoticeView]] = Exported(
    "notices",
    (
        ("Came", lambda one: moment_cell(one.created_us)),
        ("From", lambda one: one.agent),
        ("Message", lambda one: one.text),
        ("State", lambda one: STATE_WORDS[one.state][0]),
        ("Urgency", lambda one: str(one.urgency)),
        ("Held until", lambda one: moment_cell(one.until_us)),
        ("Why", lambda one: "; ".join(reason_words(one.reasons, "UTC"))),
        ("Channel", lambda one: one.channel),
        ("Notice id", lambda one: one.id),
    ),
)


def _said(line: HistoryLine) -> str:
    return line.words if line.words_kept is WordsKept.KEPT else ""


CONVERSATION: Final[Exported[HistoryLine]] = Exported(
    "conversation",
    (
        ("When", lambda one: moment_cell(one.at_us)),
        ("What", lambda one: str(one.kind)),
        ("Butler", lambda one: one.butler),
        ("State", lambda one: one.status),
        ("Channel", lambda one: one.channel),
        ("Address", lambda one: one.address),
        ("Subject", lambda one: one.subject),
        ("Words", _said),
        ("Answer", lambda one: one.answer),
        ("Answered by", lambda one: one.answered_by),
        ("Why", lambda one: one.reason),
        ("Id", lambda one: one.id),
    ),
)
