"""Logs: JSON lines without secrets and bodies, whoever writes them."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from tests import quick_logs

from postroom.system.telemetry import log

BOT_TOKEN = "123456789:AAcanary-token_xyz"
OWN_TOKEN = "pr_operator_canary0123456789abcdef"
URL = "postgresql://ann:canary@db/butlers"


@pytest.fixture
def lines() -> Iterator[Any]:
    stream = io.StringIO()
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    log.configure_log("DEBUG", stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers[:] = handlers
    root.setLevel(level)
    quick_logs.configure()


def test_an_event_is_a_line_of_json(lines: Any) -> None:
    structlog.get_logger("x").info("delivery.settled", status="delivered", attempts=1, name="Zoë")

    [line] = lines()
    assert (line["event"], line["status"], line["attempts"], line["level"], line["name"]) == (
        "delivery.settled",
        "delivered",
        1,
        "info",
        "Zoë",
    )
    assert line["timestamp"].endswith("Z")


@pytest.mark.parametrize(
    "name", ["token", "password", "authorization", "message_content", "body", "subject", "envelope"]
)
def test_fields_that_hold_secrets_or_words_are_hidden(lines: Any, name: str) -> None:
    structlog.get_logger("x").warning("event", **{name: "canary"})
    structlog.get_logger("x").warning("event", nested={name: "canary", "list": [{name: "canary"}]})

    assert "canary" not in json.dumps(lines())


@pytest.mark.parametrize("secret", [BOT_TOKEN, OWN_TOKEN, URL])
def test_secrets_are_scrubbed_wherever_they_turn_up(lines: Any, secret: str) -> None:
    structlog.get_logger("x").error(f"failed at {secret}", where=f"<{secret}>", deep={"a": [secret, (secret,)]})
    logging.getLogger("library").error("GET %s", secret)
    try:
        raise RuntimeError(secret)
    except RuntimeError:
        logging.getLogger("library").exception("it broke")
        structlog.get_logger("x").exception("it broke")

    written = lines()
    assert len(written) == 4
    assert "canary" not in json.dumps(written)


def test_a_library_s_warning_is_a_line_of_json_and_its_chatter_is_not_heard(lines: Any) -> None:
    logging.getLogger("aiohttp.client").info("GET https://api.telegram.org/bot%s/sendMessage", BOT_TOKEN)
    logging.getLogger("uvicorn.error").warning("slow")

    [line] = lines()
    assert (line["event"], line["level"]) == ("slow", "warning")


def test_an_exception_is_told_by_its_kind_and_place(lines: Any) -> None:
    try:
        raise KeyError("the words of a letter")
    except KeyError:
        logging.getLogger("asyncio").exception("Task exception was never retrieved")

    [line] = lines()
    assert line["error_type"] == "KeyError"
    assert "test_log.py" in line["error_at"]
    assert "the words of a letter" not in json.dumps(line)


class _Gone(io.StringIO):
    """The reader of a pipe that went away."""

    def write(self, _text: str) -> int:
        raise BrokenPipeError

    def flush(self) -> None:
        raise BrokenPipeError


def _closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.usefixtures("lines")
@pytest.mark.parametrize("stream", [_Gone(), _closed()], ids=["reader gone", "closed"])
def test_a_log_nobody_can_read_stops_no_work(stream: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    log.configure_log("INFO", stream)

    structlog.get_logger("x").info("delivery.settled")
    logging.getLogger("library").error("something")

    assert capsys.readouterr().err == ""
