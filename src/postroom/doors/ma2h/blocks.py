"""The parts of a message that say what is wanted, and the attachments: their shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.fields import Fields

_MAX_TEXT: Final = 65_536
_MODES: Final = ("select", "input", "confirm")
_PERMISSIONS: Final = ("allow_accept", "allow_edit", "allow_respond", "allow_ignore")
_RESOLVER: Final = re.compile(r"(human|agent|system):.+", re.DOTALL)
_SECRET_OF: Final = {"hmac": "secret_ref", "bearer": "token_ref", "apikey": "token_ref"}


def check_blocks(fields: Fields) -> None:
    """Complaints go to the fields."""
    if fields.has("request"):
        _request(fields.nested("request"))
    if fields.has("action"):
        _action(fields.nested("action"))
    for place, part in _listed(fields, "context"):
        _part(Fields(part, f"context.{place}", fields.complaints))


def check_checklist(fields: Fields, *, done: bool) -> None:
    """`done` must be said when a task has ended; before, it may be left away."""
    for place, item in _listed(fields, "checklist"):
        inner = Fields(item, fields.path(f"checklist.{place}"), fields.complaints)
        inner.text("text", maximum=_MAX_TEXT)
        if not isinstance(inner.raw("done"), bool) and (done or inner.has("done")):
            inner.complain("done", "must be true or false", "bool_required")


def _request(request: Fields) -> None:
    mode = request.choice("mode", _MODES)
    options = _listed(request, "options")
    for place, option in options:
        inner = Fields(option, request.path(f"options.{place}"), request.complaints)
        inner.text("value", maximum=_MAX_TEXT, blank=True)
        inner.text("label", maximum=_MAX_TEXT, blank=True)
        inner.text("description", maximum=_MAX_TEXT, required=False, blank=True)
    if mode == "select" and not options:
        request.complain("options", "are required: at least one", "required")
    if mode == "confirm" and request.has("options") and len(options) != 2:
        request.complain("options", "must be exactly two, or left away", "options")
    if mode == "input" and not isinstance(request.raw("schema"), Mapping):
        request.complain("schema", "is required: a flat JSON Schema", "required")
    default = request.raw("default_on_expire")
    if default is not None and not isinstance(default, str | Mapping):
        request.complain("default_on_expire", "must be a value, an object or null", "not_allowed")
    _permissions(request)
    _common(request)


def _permissions(request: Fields) -> None:
    if not request.has("permissions"):
        return
    permissions = request.nested("permissions")
    for name in _PERMISSIONS:
        if permissions.has(name) and not isinstance(permissions.raw(name), bool):
            permissions.complain(name, "must be true or false", "bool_required")


def _action(action: Fields) -> None:
    action.text("instructions", maximum=_MAX_TEXT, blank=True)
    action.text("verification", maximum=_MAX_TEXT, required=False, blank=True)
    check_checklist(action, done=False)
    _common(action)


def _common(block: Fields) -> None:
    for place, one in _listed(block, "allowed_resolvers"):
        if not isinstance(one, str) or not _RESOLVER.fullmatch(one):
            block.complain(f"allowed_resolvers.{place}", "must begin with human:, agent: or system:", "resolver")
    if block.has("callback"):
        _callback(block.nested("callback"))


def _callback(callback: Fields) -> None:
    if callback.choice("mode", ("push", "pull")) == "push":
        callback.text("url", maximum=_MAX_TEXT)
    if not callback.has("auth"):
        return
    auth = callback.nested("auth")
    needed = _SECRET_OF.get(auth.choice("scheme", tuple(_SECRET_OF)))
    for name in ("secret_ref", "token_ref") if needed else ():
        if name == needed and not auth.has(name):
            auth.complain(name, "is required for this scheme", "required")
        if name != needed and auth.has(name):
            auth.complain(name, "is not for this scheme", "not_allowed")


def _part(part: Fields) -> None:
    match part.choice("kind", ("text", "data", "file")):
        case "text":
            part.text("text", maximum=_MAX_TEXT, blank=True)
        case "data" if not isinstance(part.raw("data"), Mapping):
            part.complain("data", "must be an object", "object_required")
        case "file":
            part.nested("file").text("uri", maximum=_MAX_TEXT)
        case _:
            pass


def _listed(fields: Fields, name: str) -> list[tuple[int, Any]]:
    value = fields.raw(name)
    if value is None:
        return []
    if not isinstance(value, list):
        fields.complain(name, "must be a list", "list_required")
        return []
    return list(enumerate(value))
