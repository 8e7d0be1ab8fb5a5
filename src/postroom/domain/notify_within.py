"""
notify.v1 between two parts of one household, which may carry what agents cannot set.

Buttons decide things in a person's name, and a revision rewrites what a person was shown: both are the household's
own. They travel in a field beside notify.v1 that its validator does not know, so a door that takes the envelope of a
butler refuses it like any other unknown field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from postroom.domain.capabilities import KnownChannels
from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.ids import DeliveryId, is_uuid
from postroom.domain.markup import Markup, markup_object, read_markup
from postroom.domain.notify import notify_document, parse_notify
from postroom.domain.outgoing import Outgoing

_FIELD: Final = "household"
_NO_TEXT: Final = "-"


def document_within(outgoing: Outgoing) -> dict[str, Any]:
    """A plain message is plain notify.v1."""
    document = notify_document(outgoing)
    if outgoing.markup is None and outgoing.revises is None:
        return document
    markup = None if outgoing.markup is None else markup_object(outgoing.markup)
    return document | {_FIELD: {"markup": markup, "revises": outgoing.revises}}


def parse_within(payload: object, channels: KnownChannels) -> Outgoing:
    """Only for callers who are parts of this household themselves."""
    if not isinstance(payload, Mapping) or _FIELD not in payload:
        return parse_notify(payload, channels)
    own = payload[_FIELD]
    if not isinstance(own, Mapping) or own.keys() - {"markup", "revises"}:
        raise _wrong(_FIELD, "must be an object with markup and revises", "object_required")
    markup, revises = _markup(own.get("markup")), _revises(own.get("revises"))
    plain = {name: value for name, value in payload.items() if name != _FIELD}
    if revises is not None and not _message(plain):  # buttons alone are revised without a text
        return replace(parse_notify(_with_text(plain), channels), message="", markup=markup, revises=revises)
    return replace(parse_notify(plain, channels), markup=markup, revises=revises)


def _markup(value: object) -> Markup | None:
    try:
        return None if value is None else read_markup(value)
    except ValueError as error:
        raise _wrong(f"{_FIELD}.markup", f"cannot be read: {error}", "invalid_markup") from None


def _revises(value: object) -> DeliveryId | None:
    if value is None:
        return None
    if not isinstance(value, str) or not is_uuid(value):
        raise _wrong(f"{_FIELD}.revises", "must be the id of a delivery", "uuid_required")
    return DeliveryId(value)


def _message(envelope: Mapping[str, Any]) -> object:
    delivery = envelope.get("delivery")
    return delivery.get("message") if isinstance(delivery, Mapping) else None


def _with_text(envelope: Mapping[str, Any]) -> dict[str, Any]:
    delivery = envelope.get("delivery")
    return {**envelope, "delivery": {**(delivery if isinstance(delivery, Mapping) else {}), "message": _NO_TEXT}}


def _wrong(field: str, error: str, code: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, code)])
