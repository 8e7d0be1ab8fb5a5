"""A message as an agent submits it: its shape is checked here, its meaning by those who act on it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.fields import Fields
from postroom.domain.principal import Principal, Role
from postroom.domain.time import parse_text
from postroom.doors.ma2h.blocks import check_blocks
from postroom.doors.ma2h.refusals import NotTaken, invalid, malformed
from postroom.work.questions.json_size import json_size

VERSION: Final = "0.5"
MAX_TITLE_CHARACTERS: Final = 200
MAX_BODY_BYTES: Final = 16_384
MAX_PART_BYTES: Final = 16_384
MAX_PARTS: Final = 16
MAX_ENVELOPE_BYTES: Final = 60 * 1024
_MAX_TEXT: Final = 65_536
_MAX_ID: Final = 255
_VERSION: Final = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)", re.ASCII)
_RUNTIMES: Final = ("github-actions", "cli", "cloud", "desktop", "openclaw", "other")
_PRIORITIES: Final = ("low", "normal", "high", "urgent")
_NOT_COMPARED: Final = ("session", "run_id")  # of the agent: a restarted one asks for what it asked before


class Verb(StrEnum):
    NOTIFY = "notify"
    ASK = "ask"
    TASK = "task"


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """`document` is what came, and what is handed back."""

    document: Mapping[str, Any]
    verb: Verb
    agent_id: str
    key: str | None
    expires_at_us: int | None

    @property
    def title(self) -> str:
        return str(self.document["title"])

    @property
    def block(self) -> Mapping[str, Any]:
        """Of an ask its `request`, of a task its `action`."""
        found: Mapping[str, Any] = self.document[BLOCKS[self.verb]]
        return found

    @property
    def compared(self) -> str:
        """What must be the same under the same key; when it was written, and in which run, says nothing."""
        agent = {name: one for name, one in self.document["agent"].items() if name not in _NOT_COMPARED}
        content = {**self.document, "agent": agent}
        content.pop("created_at")
        return json.dumps(content, sort_keys=True, separators=(",", ":"))


BLOCKS: Final = {Verb.ASK: "request", Verb.TASK: "action"}


def read_envelope(body: bytes, header_key: str | None, now_us: int) -> Envelope:
    """Raises NotTaken; fields that are not known are left alone, as the protocol wants it."""
    document = _document(body)
    _check_version(document)
    try:
        verb, agent_id = _checked(document)
        key = _key(document, header_key, verb)
    except ValidationError as error:
        raise malformed(error) from None
    _refuse_addressed(document)
    _refuse_sizes(document)
    if header_key is not None:
        document = {**document, "idempotency_key": key}
    return Envelope(
        document=document,
        verb=verb,
        agent_id=agent_id,
        key=key,
        expires_at_us=_future(document.get("expires_at"), now_us),
    )


def stored_envelope(document: object) -> Envelope | None:
    """One that was taken before; None for what is none."""
    if not isinstance(document, Mapping):
        return None
    try:
        verb, agent_id = _checked(document)
    except ValidationError:
        return None
    key = document.get("idempotency_key")
    return Envelope(document=document, verb=verb, agent_id=agent_id, key=key, expires_at_us=None)


def refuse_other_agents(envelope: Envelope, caller: Principal) -> None:
    """A token speaks for the agent of its own name and for those below it; the operator's for any."""
    named = envelope.agent_id
    if caller.role is Role.OPERATOR or named in (caller.name, str(caller)) or named.startswith(f"{caller.name}/"):
        return
    told = f"this token speaks for {caller.name} and {caller.name}/…, not for the agent.id of this message"
    raise NotTaken("agent_id_mismatch", told)


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise NotTaken("validation_error", "the body is not JSON") from None
    if not isinstance(document, dict):
        raise NotTaken("validation_error", "the body must be an object")
    return document


def _check_version(document: Mapping[str, Any]) -> None:
    version = document.get("ma2h_version")
    found = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if found is None:
        told = FieldError("ma2h_version", f'must be a version such as "{VERSION}"', "version")
        raise malformed(ValidationError.of([told]))
    if found[1] != "0":
        raise NotTaken("version_not_supported", f"ma2h_version: only 0.x is spoken here, such as {VERSION}")


def _checked(document: Mapping[str, Any]) -> tuple[Verb, str]:
    fields = Fields(document)
    verb = fields.choice("type", [*Verb])
    _time(fields, "created_at", required=True)
    _time(fields, "expires_at")
    fields.text("title", maximum=MAX_TITLE_CHARACTERS)
    fields.text("body", maximum=_MAX_TEXT, required=False, blank=True)
    fields.text("client_ref", maximum=_MAX_TEXT, required=False, blank=True)
    fields.choice("priority", _PRIORITIES, default="normal")
    agent_id = _agent(fields)
    if fields.has("state") and not isinstance(fields.raw("state"), Mapping):
        fields.complain("state", "must be an object", "object_required")
    if fields.has("sensitive") and not isinstance(fields.raw("sensitive"), bool):
        fields.complain("sensitive", "must be true or false", "bool_required")
    _texts(fields, "tags")
    if verb:
        _only_its_block(fields, Verb(verb))
    check_blocks(fields)
    fields.finish()
    return Verb(verb), agent_id


def _agent(fields: Fields) -> str:
    if not fields.has("agent"):
        fields.complain("agent", "is required", "required")
        return ""
    agent = fields.nested("agent")
    agent.text("run_id", maximum=_MAX_ID)
    agent.choice("runtime", _RUNTIMES)
    agent.text("session", maximum=_MAX_ID, required=False)
    return agent.text("id", maximum=_MAX_ID)


def _only_its_block(fields: Fields, verb: Verb) -> None:
    for owner, block in BLOCKS.items():
        if owner is verb and not fields.has(block):
            fields.complain(block, f"is required for {verb}", "required")
        elif owner is not verb and fields.has(block):
            fields.complain(block, f"is not for {verb}", "not_allowed")


def _time(fields: Fields, name: str, *, required: bool = False) -> None:
    text = fields.text(name, maximum=64, required=required)
    try:
        if text:
            parse_text(text)
    except ValueError:
        fields.complain(name, "must be a time like 2026-12-24T18:00:00Z", "time_required")


def _texts(fields: Fields, name: str) -> None:
    value = fields.raw(name)
    if value is not None and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
        fields.complain(name, "must be a list of texts", "list_required")


def _key(document: Mapping[str, Any], header: str | None, verb: Verb) -> str | None:
    fields = Fields(document)
    given = fields.text("idempotency_key", maximum=_MAX_TEXT, required=verb is not Verb.NOTIFY and header is None)
    if header is not None and given and given != header:
        fields.complain("idempotency_key", "is not the same as in the header Idempotency-Key", "key_mismatch")
    fields.finish()
    return header or given or None


def _refuse_addressed(document: Mapping[str, Any]) -> None:
    """The leg between agents is not offered, and the discovery document says so."""
    if document.get("to") is not None:
        raise NotTaken("not_authorized", "to: messages between agents are not carried here; without it, people get it")
    if document["agent"].get("session") is not None:
        raise invalid("agent.session", "there are no sessions here: leave it away and poll")


def _refuse_sizes(document: Mapping[str, Any]) -> None:
    if (json_size(document) or MAX_ENVELOPE_BYTES + 1) > MAX_ENVELOPE_BYTES:
        raise invalid("body", f"the whole message must be JSON of at most {MAX_ENVELOPE_BYTES:,} bytes")
    if len(str(document.get("body") or "").encode()) > MAX_BODY_BYTES:
        raise invalid("body", f"must have at most {MAX_BODY_BYTES:,} bytes")
    parts = document.get("context") or ()
    if len(parts) > MAX_PARTS:
        raise invalid("context", f"must have at most {MAX_PARTS} parts")
    for place, part in enumerate(parts):
        if (json_size(part) or 0) > MAX_PART_BYTES:
            raise invalid(f"context.{place}", f"must have at most {MAX_PART_BYTES:,} bytes")


def _future(text: str | None, now_us: int) -> int | None:
    if text is None:
        return None
    moment_us = parse_text(text)
    if moment_us <= now_us:
        raise invalid("expires_at", "must be in the future")
    return moment_us
