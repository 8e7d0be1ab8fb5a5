"""Settings, butler files and messages that the documentation shows, read by the code that would read them."""

from __future__ import annotations

import configparser
import json
import shlex
import tomllib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from postroom.approvals.rules import parse_constraints
from postroom.butlers.loading import check_modules
from postroom.butlers.wire import messenger_route, notify_request, parse_route
from postroom.channels.webhook.channel import build
from postroom.cli.helping import USER_HINTS
from postroom.connectors.household import AdaptAnswer
from postroom.connectors.profile import FACES
from postroom.delivery.afterwards.rules import CorrectionStatus, How
from postroom.delivery.notify import read_arguments
from postroom.desk.acts import PopupQuestion
from postroom.inbox.model import Notification, NotificationId, NotificationType
from postroom.inbox.rules import created, not_created
from postroom.intents.envelope import check_envelope, complaints_of, validator
from postroom.kernel.acts.declaration import words_of
from postroom.kernel.acts.reading import arguments_schema, read
from postroom.kernel.values.errors import FieldError, InternalError, OverloadRejected, ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.acts import Notify, NotifyPerson
from postroom.message.channel import KnownChannels
from postroom.message.delivery import Intent, Message, Priority, Status
from postroom.message.outgoing import AnswerStatus
from postroom.message.wire import argument_error, notify_document, notify_response, parse_notify, read_response
from postroom.settings import Settings
from postroom.settings.accounts import shipped_kinds
from postroom.settings.roster import parse_butler
from tests.docs.commands import check
from tests.docs.pages import Block

_BUTLER = {"butler": {"name": "sample", "port": 0, "db": {"schema": "sample"}}}
_OF_A_BUTLER = frozenset({"butler", "runtime", "modules"})


def toml(block: Block) -> None:
    document = tomllib.loads(block.text)
    if _OF_A_BUTLER & document.keys():
        name = "messenger" if {"telegram", "email"} & document.get("modules", {}).keys() else "sample"
        section = {**_BUTLER["butler"], "name": name, **document.get("butler", {})}
        check_modules(parse_butler({**document, "butler": section}, {}, file=block.place))
    else:
        Settings.model_validate({"home": Path("unused"), **document})


def json_document(block: Block) -> None:
    document = json.loads(block.text)
    kind = "mcp" if "mcpServers" in document else block.told("json")
    assert kind in JSON_KINDS, f"{block.place}: say before it what it is: <!-- json: {' | '.join(JSON_KINDS)} -->"
    JSON_KINDS[kind](document)


def _mcp(document: Mapping[str, Any]) -> None:
    for server in document["mcpServers"].values():
        if "command" in server:
            check([server["command"], *server.get("args", [])])
        else:
            assert server["type"] == "http" and server["url"].endswith("/mcp")
            assert server["headers"]["Authorization"].startswith("Bearer ")


def _notify_envelope(document: Mapping[str, Any]) -> None:
    assert notify_document(parse_notify(document, _channels())) == document


def _route(document: Mapping[str, Any]) -> None:
    route = parse_route(document, document["target"]["butler"])
    _notify_envelope(route.context["notify_request"])
    received_at, sender = document["request_context"]["received_at"], route.sender
    work = notify_request(route.context["notify_request"])
    assert messenger_route(work, request_id=route.request_id, received_at=received_at, sender=sender) == document


def _notify_answer(document: Mapping[str, Any]) -> None:
    """To the letter; one that is told in short has at least the words of one."""
    if "schema_version" in document:
        assert notify_response(read_response(document)) == document
    else:
        assert document["status"] in list(AnswerStatus) and document["delivery"]["status"] in list(Status)


def _argument_error(document: Mapping[str, Any]) -> None:
    with pytest.raises(ValidationError) as refused:
        read_arguments(Notify(channel="telegram"), origin_butler="health", channels=_channels())
    assert argument_error(refused.value) == document


def _channels() -> KnownChannels:
    return {name: kind.capabilities for name, kind in shipped_kinds().items() if name in ("telegram", "email")}


def _notification_answer(document: Mapping[str, Any]) -> None:
    if not document["success"]:
        errors = (ValidationError.of([FieldError("message", "", "")]), _TOO_MANY, InternalError(""))
        assert document in [not_created(error) for error in errors]
        return
    told = {"id": NotificationId(document["notification_id"]), "type": NotificationType(document["type"])}
    words = document["message"].partition(": ")[2]
    note = Notification(
        user_id="ada", message=words, priority=Priority.MEDIUM, created_at_us=0, updated_at_us=0, **told
    )
    assert created(note, None) == document


_TOO_MANY = OverloadRejected("", limit_type="", retry_after_seconds=0)


def _popup_tool(document: Mapping[str, Any]) -> None:
    """The specified schema; ours has four more arguments, all optional."""
    own = arguments_schema(PopupQuestion)
    assert (document["name"], document["description"]) == ("notify", words_of(PopupQuestion))
    schema = document["inputSchema"]
    assert schema["required"] == own["required"]
    for name, field in schema["properties"].items():
        served = own["properties"][name]
        plain: Mapping[str, Any] = next((one for one in served.get("anyOf", []) if one["type"] != "null"), {})
        assert {**served, **plain}.items() >= field.items(), name
    assert own["properties"].keys() - schema["properties"].keys() == {"options", "allow_multiple", "secret", "project"}


def _intent(document: Mapping[str, Any]) -> None:
    check_envelope(document)


def _adapt_answer(document: Mapping[str, Any]) -> None:
    AdaptAnswer.model_validate(document)


def _correction_answer(document: Mapping[str, Any]) -> None:
    assert document["status"] in list(CorrectionStatus) and document["how"] in list(How)
    assert document.keys() == {"status", "revises", "delivery_id", "how", "message"}


def _notify_request(document: Mapping[str, Any]) -> None:
    read(NotifyPerson, document, NotifyPerson.declared.route)


def _rule(document: Mapping[str, Any]) -> None:
    parse_constraints(document)


def _adapt(document: Mapping[str, Any]) -> None:
    face = next(face for face in FACES.values() if face.wire("from_agent") in document)
    assert complaints_of(validator(face.schema()), document) == []


def _webhook_message(document: Mapping[str, Any]) -> None:
    """Byte for byte what the channel would post for this message; nothing in it depends on when it is sent."""
    said = document["data"]
    message = Message(
        delivery_id=DeliveryId(said["delivery_id"]),
        intent=Intent(said["intent"]),
        address=said["to"],
        text=said["message"],
        origin_butler=said["from"],
    )
    assert json.loads(build(message, datetime(2026, 3, 1, tzinfo=UTC)).body) == document


def _gemini_hook(document: Mapping[str, Any]) -> None:
    for groups in document["hooks"].values():
        for handler in (one for group in groups for one in group["hooks"]):
            check(shlex.split(handler["command"]))


def _failed_command(document: Mapping[str, Any]) -> None:
    error = document["error"]
    assert (document.keys(), error.keys()) == ({"error"}, {"code", "message", "hint"})
    assert USER_HINTS[error["code"]] == error["hint"]


JSON_KINDS: dict[str, Callable[[Mapping[str, Any]], None]] = {
    "mcp": _mcp,
    "notify envelope": _notify_envelope,
    "route": _route,
    "notify answer": _notify_answer,
    "argument error": _argument_error,
    "notification answer": _notification_answer,
    "popup tool": _popup_tool,
    "intent": _intent,
    "adapt answer": _adapt_answer,
    "correction answer": _correction_answer,
    "notify request": _notify_request,
    "approval rule": _rule,
    "adapt request": _adapt,
    "webhook message": _webhook_message,
    "gemini hook": _gemini_hook,
    "failed command": _failed_command,
}


def yaml_document(block: Block) -> None:
    assert isinstance(yaml.safe_load(block.text), Mapping)


def ini(block: Block) -> None:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
    parser.read_string(block.text)
    assert parser.sections()


def web_server(block: Block) -> None:
    """nginx and Caddy are not here; their files are checked for pairs and for ports that exist."""
    assert block.text.count("{") == block.text.count("}")
    ports = {int(word.strip(";/").rsplit(":", 1)[1]) for word in block.text.split() if "127.0.0.1:" in word}
    assert ports and ports <= set(Settings(home=Path("unused")).ports.model_dump().values())
    assert all(call in block.text for call in ("adapt", "resolve")), "ChatGPT's Action makes two calls"


def drawing(block: Block) -> None:
    assert block.text.split()[0] in ("stateDiagram-v2", "flowchart", "sequenceDiagram")


def text(block: Block) -> None:
    """Something to look at; a command would have to be marked as one."""
    assert "$ " not in block.text and not block.text.startswith(("postroom ", "make ", "curl "))


READERS: dict[str, Callable[[Block], None]] = {
    "toml": toml,
    "json": json_document,
    "yaml": yaml_document,
    "ini": ini,
    "nginx": web_server,
    "caddyfile": web_server,
    "mermaid": drawing,
    "text": text,
}
