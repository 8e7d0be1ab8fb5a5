"""A person as a terminal shows them: names first, ids last."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from postroom.domain.spoken_time import relative
from postroom.domain.time import parse_text
from postroom.domain.wall_clock import said_moment
from postroom.system.clock import SystemClock

_GONE: Final = {"erased": "[words erased]", "not_kept": "[words not kept]"}
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+")


def plain(text: str) -> str:
    """What people and models wrote never steers the terminal."""
    return _CONTROL.sub(" ", text)


def person_line(person: dict[str, Any]) -> str:
    also = f" ({', '.join(person['aliases'])})" if person["aliases"] else ""
    reached = ", ".join(f"{one['channel']} {one['address']}{_mark(one)}" for one in person["addresses"])
    trusted = ["trusted"] if person["trusted"] else []
    return plain("  ".join([f"{person['name']}{also}", person["role"], reached or "no address", *trusted]))


def person_lines(person: dict[str, Any]) -> Iterator[str]:
    yield plain(person["name"])
    if person["aliases"]:
        yield plain(f"  also called  {', '.join(person['aliases'])}")
    yield f"  role         {person['role']}{', trusted' if person['trusted'] else ''}"
    for title, field in (("zone", "zone"), ("language", "language"), ("butler", "default_butler")):
        if person[field]:
            yield plain(f"  {title:<11}  {person[field]}")
    for one in person["addresses"]:
        yield plain(f"  {one['channel']:<11}  {_address_line(one)}")
    if not person["addresses"]:
        yield "  no address"
    yield plain(f"  id           {person['person_id']}")


def _address_line(one: dict[str, Any]) -> str:
    proved = f"verified {one['verified_at'][:10]}" if one["verified_at"] else "not verified"
    return "  ".join([one["address"], *([one["label"]] if one["label"] else []), proved, *_closed(one)])


def _mark(one: dict[str, Any]) -> str:
    mark = one.get("closed") or one.get("doubtful")
    return f" ({mark['reason']})" if mark else ""


def _closed(one: dict[str, Any]) -> Iterator[str]:
    """A household of before may not say it."""
    if closed := one.get("closed"):
        yield f"{_since(closed)}; --reopen writes to it again"
    if doubtful := one.get("doubtful"):
        yield f"{_since(doubtful)}; still written to, and --reopen forgets it"


def _since(mark: dict[str, Any]) -> str:
    said = f": {mark['words']}" if mark["words"] else ""
    return f"{mark['reason']} {mark['at'][:10]}{said}"


def dated(at: str, zone: str) -> str:
    return said_moment(parse_text(at), zone, 0)


def history_line(one: dict[str, Any], name: str, zone: str) -> str:
    """One line each, whatever the message holds; `name` is the person's."""
    at = dated(one["at"], zone)
    where = one["channel"] or "question"
    return f"{at}  {where}  {one['status']}  {_one_line(_speaker(one, name))}: {_one_line(_said(one))}  {one['id']}"


def _speaker(one: dict[str, Any], name: str) -> str:
    match one["kind"]:
        case "message":
            return f"{name} to {one['origin_butler']}" if one["origin_butler"] else name
        case "question":
            return f"{one['origin_butler']} asks"
        case _:
            return str(one["origin_butler"])


def _said(one: dict[str, Any]) -> str:
    said = _GONE.get(one["words"]) or str(one["subject"] or one["excerpt"])
    if one["answer"]:
        return f"{said} → {one['answered_by']}: {one['answer']}"
    return f"{said} ({one['reason']})" if one["reason"] else said


def _one_line(text: str) -> str:
    return " ".join(plain(text).split())


def pairing_lines(name: str, channel: str, started: dict[str, Any]) -> Iterator[str]:
    ends = relative(parse_text(started["expires_at"]), SystemClock().now_us())
    if started["code"] is None:
        yield plain(f"A link goes to {started['sent_to']} on {channel}; {name} opens it and presses the button.")
        yield f"It works once, and ends {ends}."
        return
    yield started["code"]
    yield plain(f"{name} sends this code to the bot on {channel}, from their own account and not in a group.")
    yield f"It works once, and ends {ends}."
