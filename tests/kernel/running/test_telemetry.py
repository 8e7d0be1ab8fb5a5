"""Logs: JSON lines without secrets and bodies, whoever writes them."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from opentelemetry import trace as otel
from tests import quick_logs
from tests.household.living import LIFTED, QUICK, Living, living
from tests.support.spans import recording, trace_id

from postroom.kernel.running import telemetry as log
from postroom.kernel.running import telemetry as trace
from postroom.sandbox.records import SANDBOX_TOKEN

BOT_TOKEN = "123456789:AAcanary-token_xyz"
OWN_TOKEN = "pr_operator_canary0123456789abcdef"
SESSION_TOKEN = "pr_session_canary0123456789abcdef"
URL = "postgresql://ann:canary@db/butlers"


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    log.configure_log("DEBUG", stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    quick_logs.configure()


@pytest.fixture
def lines(logged: io.StringIO) -> Callable[[], list[Any]]:
    return lambda: [json.loads(line) for line in logged.getvalue().splitlines()]


def test_at_a_terminal_an_event_is_a_line_to_read_and_moves_nothing_there(lines: Callable[[], list[Any]]) -> None:
    screen = io.StringIO()
    screen.isatty = lambda: True  # type: ignore[method-assign]
    log.configure_log("DEBUG", screen)
    structlog.get_logger("x").warning("loop.failed", loop="sweep", why="it\x1b[2J broke", token="canary", failures=2)
    logging.getLogger("a.library").warning("over\u202etaken")

    own, theirs = screen.getvalue().splitlines()
    assert own[8:] == 'Z warning  loop.failed  loop=sweep  why="it\\u001b[2J broke"  token=***  failures=2'
    assert theirs[8:] == 'Z warning  "over\\u202etaken"'


@pytest.mark.parametrize(
    "name", ["token", "password", "authorization", "message_content", "body", "subject", "envelope"]
)
def test_fields_that_hold_secrets_or_words_are_hidden(lines: Callable[[], list[Any]], name: str) -> None:
    structlog.get_logger("x").warning("event", **{name: "canary"})
    structlog.get_logger("x").warning("event", nested={name: "canary", "list": [{name: "canary"}]})

    assert "canary" not in json.dumps(lines())


@pytest.mark.parametrize("secret", [BOT_TOKEN, OWN_TOKEN, SESSION_TOKEN, URL])
def test_secrets_are_scrubbed_wherever_they_turn_up(lines: Callable[[], list[Any]], secret: str) -> None:
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


def test_a_library_s_warning_is_a_line_of_json_and_its_chatter_is_not_heard(lines: Callable[[], list[Any]]) -> None:
    logging.getLogger("aiohttp.client").info("GET https://api.telegram.org/bot%s/sendMessage", BOT_TOKEN)
    logging.getLogger("uvicorn.error").warning("slow")

    [line] = lines()
    assert (line["event"], line["level"]) == ("slow", "warning")


def test_an_exception_is_told_by_its_kind_and_place(lines: Callable[[], list[Any]]) -> None:
    try:
        raise KeyError("the words of a letter")
    except KeyError:
        logging.getLogger("asyncio").exception("Task exception was never retrieved")

    [line] = lines()
    assert line["error_type"] == "KeyError"
    assert "test_telemetry.py" in line["error_at"]
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


PARENT = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{PARENT}-00f067aa0ba902b7-01"
BODY = "canary-body-of-a-letter"
SUBJECT = "canary-subject"


async def call_with_parent(home: Living, traceparent: str, **arguments: object) -> dict[str, object]:
    """As a client does that is itself traced: W3C context in the call's metadata."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "traceparent": traceparent,
    }
    params = {"name": "notify", "arguments": {"channel": "telegram", "message": BODY, **arguments}, "_meta": meta}
    headers = {
        "Authorization": f"Bearer {home.token('health')}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "notify",
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    async with home.http.post(home.household.addresses["health"], json=body, headers=headers) as response:
        answer: dict[str, object] = (await response.json())["result"]["structuredContent"]
        return answer


async def test_spans_from_the_tool_call_to_the_provider_and_to_each_retry_share_the_caller_s_trace(
    tmp_path: Path,
) -> None:
    exporter = recording()
    async with living(tmp_path, LIFTED, QUICK) as home:
        await home.fault(channel="telegram", times=2, status=503)
        answer = await call_with_parent(home, TRACEPARENT)
        assert answer["status"] == "ok"

        mine = [span.name for span in exporter.get_finished_spans() if trace_id(span) == PARENT]
        for name in ("tools/call notify", "tools/call deliver", "tools/call route.execute", "postroom.accept"):
            assert name in mine
        assert mine.count("postroom.send") == 3
        [row] = home.rows("delivery_requests")
        assert row["trace_id"] == PARENT


@pytest.mark.parametrize("traceparent", ["", "nonsense", "00-" + "0" * 32 + "-00f067aa0ba902b7-01"])
async def test_without_a_valid_parent_there_is_a_trace_of_our_own(tmp_path: Path, traceparent: str) -> None:
    recording()
    async with living(tmp_path, LIFTED, QUICK) as home:
        assert (await call_with_parent(home, traceparent))["status"] == "ok"

        [row] = home.rows("delivery_requests")
        assert len(row["trace_id"]) == 32
        assert set(row["trace_id"]) != {"0"}


def test_without_an_exporter_ids_exist_and_nothing_is_recorded() -> None:
    recording()  # a process keeps its first provider, and other tests need theirs to record
    provider = trace.configure_tracing(None)

    with provider.get_tracer("x").start_as_current_span("x") as span:
        assert otel.format_trace_id(span.get_span_context().trace_id) != "0" * 32
        assert not span.is_recording()


async def test_no_log_no_span_and_no_figure_holds_a_secret_or_a_word_of_a_message(
    tmp_path: Path, logged: io.StringIO
) -> None:
    logging.getLogger().setLevel(logging.DEBUG)  # as chatty as every library can be
    exporter = recording()
    async with living(tmp_path, LIFTED, QUICK, {"telemetry": {"log_level": "DEBUG"}}) as home:
        secrets = [SANDBOX_TOKEN, *(home.tokens.token_of(one) or "" for one in home.tokens.principals())]
        await _go_through_everything(home)
        async with home.http.get(home.household.addresses["api"] + "/metrics") as response:
            figures = await response.text()
        refusals = [row["error_message"] for row in home.rows("delivery_refusals")]

    spans = json.dumps([json.loads(span.to_json()) for span in exporter.get_finished_spans()])
    assert "postroom.send" in spans
    assert "delivery.settled" in logged.getvalue()
    assert "postroom_delivery_requested" in figures
    for where in (logged.getvalue(), spans, figures, json.dumps(refusals)):
        assert BODY not in where
        assert SUBJECT not in where
        assert not [secret for secret in secrets if secret in where]


async def _go_through_everything(home: Living) -> None:
    """Success, every kind of failure, refusals, and calls that are wrong in themselves."""
    await home.notify(message=BODY)
    await home.notify(message=BODY, channel="email", subject=SUBJECT)
    for fault in ({"status": 400}, {"status": 500}, {"mode": "accept_then_cut"}, {"mode": "refuse"}, {"status": 401}):
        await home.fault(channel="telegram", times=1, **fault)
        await home.notify(message=BODY)
        await home.fault(channel="email", times=1, **fault)
        await home.notify(message=BODY, channel="email", subject=SUBJECT)
    await home.notify(message=BODY, channel="sms")
    await home.notify(message=BODY, subject=SUBJECT + "\n")
    await home.notify(message=BODY, recipient="Nobody")
    await home.notify(message=BODY + "\x00")
    await home.notify(message=BODY, emoji=5, priority={"a": BODY})
    await home.notify(message={"text": BODY})
    await home.notify(message=[BODY])
    await home.call("switchboard", "deliver", {"notify_request": {"delivery": {"message": BODY}}})
    await home.fault(channel="telegram", times=1, status=429, retry_after=60)
    await home.notify(message=BODY, wait_seconds=0.2)
    await home.notify(message=BODY)
