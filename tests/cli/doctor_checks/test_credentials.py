"""Credentials are tried at the provider itself, and nothing is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from postroom.cli.doctor_checks.credentials import look_at_channels, look_at_owner
from postroom.system.settings import Settings
from tests.contract.bot_api import BotApi, refused, reply
from tests.contract.mail_server import MailServer, Script

TOKEN = "4242:canary-bot-token"


def settings(home: Path, **values: Any) -> Settings:
    return Settings.model_validate({"home": home, **values})


def telegram(home: Path, api: BotApi) -> Settings:
    return settings(home, telegram={"token": TOKEN, "api_base_url": api.url})


def email(home: Path, server: MailServer) -> Settings:
    section = {"smtp_host": "127.0.0.1", "smtp_port": server.port, "smtp_security": "none"}
    return settings(home, email={**section, "address": "butler@example.org", "password": "canary-mail-password"})


async def test_a_token_that_works_is_answered_with_a_name(home: Path) -> None:
    async with BotApi() as api:
        api.behave(reply(200, {"ok": True, "result": {"id": 4242, "is_bot": True, "username": "jeeves_bot"}}))
        found = {one.subject: one for one in await look_at_channels(telegram(home, api))}
        paths = [request.path for request in api.requests]

    assert found["telegram"].ok and "jeeves_bot" in found["telegram"].detail
    assert paths == [f"/bot{TOKEN}/getMe"]
    assert found["email"].ok and "BUTLER_EMAIL_ADDRESS" in found["email"].advice


async def test_a_token_that_is_refused_is_a_problem_that_does_not_show_it(home: Path) -> None:
    async with BotApi() as api:
        api.behave(refused(401, "Unauthorized"))
        found = {one.subject: one for one in await look_at_channels(telegram(home, api))}

    assert not found["telegram"].ok
    assert "BUTLER_TELEGRAM_TOKEN" in found["telegram"].advice
    assert TOKEN not in repr(found)


async def test_a_mailbox_is_logged_in_to_and_nothing_is_sent(home: Path) -> None:
    async with MailServer() as server:
        found = {one.subject: one for one in await look_at_channels(email(home, server))}

        assert found["email"].ok and "butler@example.org" in found["email"].detail
        assert server.received == []


async def test_a_password_that_is_refused_is_a_problem_that_does_not_show_it(home: Path) -> None:
    async with MailServer() as server:
        server.behave(Script(replies={"AUTH": b"535 no"}))
        found = {one.subject: one for one in await look_at_channels(email(home, server))}

    assert not found["email"].ok
    assert "canary-mail-password" not in repr(found)


async def test_neither_sandbox_nor_credentials_is_a_problem(home: Path) -> None:
    found = await look_at_channels(settings(home, sandbox=False))

    assert [one.subject for one in found if not one.ok] == ["channels"]


async def test_an_owner_without_an_address_is_a_problem_only_when_it_is_real(home: Path) -> None:
    real = {"telegram": {"token": TOKEN}}

    assert look_at_owner(settings(home)) == []
    assert [one.ok for one in look_at_owner(settings(home, **real))] == [False]
    assert [one.ok for one in look_at_owner(settings(home, **real, owner={"email": "ada@example.org"}))] == [False]
    assert [one.ok for one in look_at_owner(settings(home, **real, owner={"telegram_chat_id": 1}))] == [True]


@pytest.mark.requirement("chan:doctor-accounts")
async def test_every_account_has_its_own_line_whatever_is_wrong_with_another(home: Path) -> None:
    async with BotApi() as good, BotApi() as bad:
        good.behave(reply(200, {"ok": True, "result": {"id": 1, "is_bot": True, "username": "work_bot"}}))
        bad.behave(refused(401, "Unauthorized"))
        accounts = {
            "work": {"kind": "telegram", "token": TOKEN, "api_base_url": good.url},
            "club": {"kind": "telegram", "token": TOKEN, "api_base_url": bad.url},
            "broken": {"kind": "telegram", "token": "canary bot token"},
            "letters": {"kind": "email", "address": "a@x.org, b@x.org"},
        }
        findings = await look_at_channels(settings(home, channels=accounts))

    found = {one.subject: (one.ok, one.detail, one.advice) for one in findings}
    assert [one.subject for one in findings] == ["email", "telegram", "work", "club", "broken", "letters"]
    assert found["work"] == (True, "we are @work_bot", "")
    assert found["club"] == (False, "Telegram does not accept our bot token", "check [channels.club]")
    assert found["broken"][:2] == (False, "channels.broken: the Telegram bot token is malformed.")
    assert found["letters"][:2] == (False, "channels.letters: address must be a single e-mail address.")
    assert TOKEN not in repr(findings) and "canary" not in repr(findings)
