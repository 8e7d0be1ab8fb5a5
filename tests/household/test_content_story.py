"""A formatted report with files, answered by mail, corrected and taken back, with a kill between any two steps."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import Principal, Role
from postroom.message.delivery import REPEAT_MARK
from tests.household.processes import command, environment

SECONDS = 60.0
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
LOG = "line one\nline two äöü\n".encode()
REPORT = "# Nightly run\n\nAll **green**, see [the plan](https://example.org/plan). Teh end."
Found = TypeVar("Found")


class Household:
    """One that is killed after every step, and started again before the next."""

    def __init__(self, home: Path) -> None:
        self.variables = environment(home)
        self.home = home
        self.steps: list[str] = []

    def step(self, name: str, act: Callable[[], Found]) -> Found:
        with command(self.variables, "up") as process:
            found = act()
            os.killpg(process.pid, signal.SIGKILL)
        self.steps.append(name)
        return found

    def token(self) -> str:
        return TokenFile(self.home / "tokens.json").token_of(Principal(Role.BUTLER, "general"))

    def call(self, path: str, body: Mapping[str, Any] | None = None, part: str = "api") -> Any:
        url = f"http://127.0.0.1:{self.variables[f'POSTROOM_PORTS__{part.upper()}']}{path}"
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token()}", "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=SECONDS) as answer:
            return json.load(answer)

    def upload(self, name: str, content: bytes) -> str:
        form = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
        url = f"http://127.0.0.1:{self.variables['POSTROOM_PORTS__API']}/v1/uploads"
        headers = {"Authorization": f"Bearer {self.token()}", "Content-Type": "multipart/form-data; boundary=b"}
        request = urllib.request.Request(url, form + content + b"\r\n--b--\r\n", headers)
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return str(json.load(answer)["upload_id"])

    def sandbox(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return self.call(f"/sandbox/{path}", body, "sandbox")

    def until(self, look: Callable[[], Found | None]) -> Found:
        ends = time.monotonic() + SECONDS
        while not (found := look()):
            assert time.monotonic() < ends, f"nothing came after {self.steps}"
        return found


@pytest.fixture
def house(home: Path) -> Iterator[Household]:
    yield Household(home)


def files(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["name"], one["sha256"]) for message in messages for one in message.get("attachments") or []]


@pytest.mark.requirement("content:the-whole-story-survives-a-kill-between-any-two-steps")
def test_a_report_with_files_is_sent_answered_revised_and_recalled_over_kills(house: Household) -> None:
    both = [("chart.png", hashlib.sha256(PNG).hexdigest()), ("run.log", hashlib.sha256(LOG).hexdigest())]

    def handed_in() -> list[str]:
        return [house.upload("chart.png", PNG), house.upload("run.log", LOG)]

    def report(channel: str, uploads: list[str], key: str, **more: Any) -> dict[str, Any]:
        attached = [{"upload_id": one} for one in uploads]
        body = {"message": REPORT, "format": "markdown", "channel": channel, "attachments": attached, **more}
        answer: dict[str, Any] = house.call("/v1/notify", {"wait_seconds": 20, **body, "idempotency_key": key})
        return answer

    def phone() -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = house.sandbox("telegram/messages?chat_id=1000")["messages"]
        return [one for one in listed if not one["is_deleted"]]

    def mails() -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = house.sandbox("email/messages")["messages"]
        return listed

    def card() -> dict[str, Any] | None:
        return next((one for one in mails() if "Ship it?" in one["body"]), None)

    def answered() -> None:
        to = house.until(card)
        mail = {"from": "owner@sandbox.example", "to": "postroom@sandbox.example", "body": "yes"}
        house.sandbox("email/inbound", mail | {"subject": f"Re: {to['subject']}", "in_reply_to": to["message_id"]})

    def revised(delivery_id: str) -> dict[str, Any]:
        answer: dict[str, Any] = house.call(f"/v1/asks/{asked['ask_id']}?wait=30")
        words = {"message": REPORT.replace("Teh", "The"), "format": "markdown"}
        house.call(f"/v1/deliveries/{delivery_id}/revise", words)
        return answer

    def wrong_file() -> str:
        house.until(lambda: [one for one in phone() if "The end." in one["text"]])
        return str(report("telegram", [house.upload("wrong.log", LOG)], "r3")["delivery"]["delivery_id"])

    uploads = house.step("uploads", handed_in)
    first = house.step("report", lambda: report("telegram", uploads, "r1", wait_seconds=0))
    again = house.step("the same report", lambda: report("telegram", uploads, "r1"))
    sent_id = first["delivery"]["delivery_id"]
    assert again["delivery"]["delivery_id"] == sent_id
    house.step("report by mail", lambda: report("email", handed_in(), "r2", subject="Nightly run"))
    question = {"question": "Ship it?", "options": ["yes", "no"], "channels": ["email"]}
    asked = house.step("ask", lambda: house.call("/v1/asks", question))
    house.step("reply", answered)
    answer = house.step("revise", lambda: revised(sent_id))
    assert (answer["status"], answer["answer"]["value"]) == ("answered", "yes")
    wrong_id = house.step("wrong file", wrong_file)
    house.step("recall", lambda: house.call(f"/v1/deliveries/{wrong_id}/recall", {"wait_seconds": 20}))

    def left() -> tuple[list[dict[str, Any]], dict[str, Any]] | None:
        letter = next((one for one in mails() if one["subject"] == "Nightly run"), None)
        return (phone(), letter) if letter and "wrong.log" not in str(phone()) else None

    shown, letter = house.step("look", lambda: house.until(left))
    texts = [one["text"] for one in shown]
    assert {*files(shown)} == {*files([letter])} == {*both}
    assert "https://example.org/plan" in letter["body"]
    told = house.step("the same once more", lambda: report("telegram", uploads, "r1"))
    is_declared = told["delivery"].get("possible_duplicate", False)
    # A call that a kill cut off is made again, and says so; where the second copy was revised, the delivery says it.
    assert len(shown) == 2 or is_declared or any(REPEAT_MARK in text for text in texts)
    assert sum("The end." in text for text in texts) == 1
