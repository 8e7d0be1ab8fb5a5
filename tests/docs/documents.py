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

import yaml

from postroom.approvals.rules import parse_constraints
from postroom.butlers.loading import check_modules
from postroom.channels.webhook.channel import build
from postroom.cli.helping import USER_HINTS
from postroom.connectors.profile import FACES
from postroom.delivery.afterwards.rules import CorrectionStatus, How
from postroom.intents.envelope import complaints_of, validator
from postroom.kernel.acts.reading import read
from postroom.kernel.values.ids import DeliveryId
from postroom.message.acts import NotifyPerson
from postroom.message.delivery import Intent, Message, Status
from postroom.settings import Settings
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


def _notify_answer(document: Mapping[str, Any]) -> None:
    assert document["status"] in ("ok", "error", "accepted", "pending_approval")
    assert document["delivery"]["status"] in list(Status)


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
    "notify answer": _notify_answer,
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
