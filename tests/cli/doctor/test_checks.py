"""Whether the bytes of messages that wait are there."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import text
from tests.contract.bot_api import BotApi, refused, reply
from tests.contract.mail_server import MailServer, Script
from tests.household.living import settings_for
from tests.support.delivery_rows import request_row, write

from postroom.cli.doctor.checks import (
    look_at_attached_files,
    look_at_channels,
    look_at_database,
    look_at_owner,
    look_at_people,
    look_at_proofs,
    look_at_redis,
    owner_channels,
)
from postroom.household.people import opened_people
from postroom.household.store import connect_store, open_store
from postroom.kernel.database.schema import newest
from postroom.message.attachment import Attachment, attachments_text
from postroom.people.model import NewPerson, PersonAddress, PersonRole
from postroom.settings import Settings


@pytest.mark.requirement("content:files-pruned")
async def test_bytes_that_are_missing_are_named_with_their_delivery(home: Path) -> None:
    settings = settings_for(home)
    assert await look_at_attached_files(settings) == []
    there, gone = (
        Attachment(upload_id="", sha256=sha256(content).hexdigest(), name=name, media_type="text/plain", size=1)
        for name, content in (("there.txt", b"1"), ("gone.txt", b"2"))
    )
    async with open_store(settings) as store:
        await store.files.keep(await store.files.draft(BytesIO(b"1"), lambda _: None))
        waits = [request_row(status="pending", terminal_at=None, attachments=attachments_text([there]))]
        await write(store.database, waits)
        [well] = await look_at_attached_files(settings)
        lost = request_row(status="pending", terminal_at=None, attachments=attachments_text([there, gone]))
        await write(store.database, [lost])
        [finding] = await look_at_attached_files(settings)

    assert well.ok and "all there" in well.detail
    assert not finding.ok and f"gone.txt of delivery {lost['id']}" in finding.detail and "backup" in finding.advice


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


BOB = {"name": "Bob Miller", "telegram_chat_id": "2001", "email": "bob@example.org"}
MAIL_ONLY = {"email": {"address": "butler@example.org", "password": "canary"}}


async def test_a_home_without_a_database_says_nothing_and_stays_untouched(home: Path) -> None:
    assert await look_at_people(settings(home, contacts=[BOB])) == []
    assert list(home.iterdir()) == []


@pytest.mark.requirement("house:people-of-the-file-overruled")
async def test_a_person_changed_in_the_database_is_named_with_the_fields(home: Path) -> None:
    household = settings(home, contacts=[BOB, {"name": "Maria"}])
    async with opened_people(household) as people:
        before = await look_at_people(household)
        (bob,) = await people.called("Bob Miller")
        mail = PersonAddress(channel="email", address="bob@example.org")
        await people.edit(bob.id, lambda one: replace(one, addresses=(mail,), trusted=True))

    (finding,) = await look_at_people(household)

    assert before == []
    assert finding.ok and finding.subject == "people" and finding.advice
    assert "Bob Miller (trusted, telegram)" in finding.detail and "Maria" not in finding.detail


async def test_addresses_on_a_channel_that_is_not_set_up_are_worth_knowing(home: Path) -> None:
    async with opened_people(settings(home)) as people:
        for number in range(12):
            chat = PersonAddress(channel="telegram", address=str(7000 + number))
            await people.create(NewPerson(name=f"Chatty {number:02}", addresses=(chat,)), source="test")

    (finding,) = [one for one in await look_at_people(settings(home, **MAIL_ONLY)) if "not set up" in one.detail]

    assert finding.ok
    assert "Chatty 00 (on telegram)" in finding.detail and finding.detail.endswith("and others")
    assert "Chatty 11" not in finding.detail


async def test_the_owner_is_known_where_the_database_says_so(home: Path) -> None:
    slack = {"channels": {"slack-work": {"kind": "slack", "bot_token": "xoxb-canary"}}, "sandbox": False}
    assert await owner_channels(settings(home, **slack)) == []
    async with opened_people(settings(home, **slack)) as people:
        place = PersonAddress(channel="slack-work", address="U01")
        await people.edit("owner", lambda one: replace(one, addresses=(place,)))

    known_on = await owner_channels(settings(home, **slack))
    (finding,) = look_at_owner(settings(home, **slack), known_on)

    assert known_on == ["slack-work"]
    assert (finding.ok, finding.detail) == (True, "is reached by slack-work")


async def test_a_database_that_cannot_be_read_is_another_findings_business(home: Path) -> None:
    (home / "postroom.db").write_text("no database")

    assert await look_at_people(settings(home)) == []


@pytest.mark.requirement("chan:pairing-doctor")
async def test_those_who_have_proved_no_address_are_named_with_the_way_to_pair(home: Path) -> None:
    household = settings(home, contacts=[BOB], owner={"name": "Olivia", "telegram_chat_id": "1"}, **MAIL_ONLY)
    assert await look_at_proofs(household) == []
    async with opened_people(household) as people:
        await people.create(NewPerson(name="Zoe", role=PersonRole.MEMBER), source="test")

    (finding,) = await look_at_proofs(household)

    assert finding.ok and finding.subject == "people"
    assert finding.detail.endswith(": Zoe, Bob Miller")  # who could decide comes before a contact
    assert "postroom pair NAME --channel" in finding.advice


def household(home: Path, **values: Any) -> Settings:
    return Settings.model_validate({"home": home, **values})


@pytest.fixture(params=["sqlite", "postgres"])
def servers_settings(home: Path, request: pytest.FixtureRequest) -> Settings:
    url = request.getfixturevalue("new_postgres_url") if request.param == "postgres" else ""
    return household(home, database_url=url)


async def test_a_migrated_database_is_well(servers_settings: Settings) -> None:
    store = connect_store(servers_settings)
    await store.database.migrate()
    await store.database.close()

    found = await look_at_database(servers_settings)

    assert (found.ok, found.advice) == (True, "")
    assert f"revision {newest()}" in found.detail


async def test_an_empty_database_is_no_problem_and_stays_empty(servers_settings: Settings, home: Path) -> None:
    found = await look_at_database(servers_settings)

    assert found.ok
    assert not (home / "postroom.db").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"port": 1}, id="nobody listens"),
        pytest.param({"database": "nowhere"}, id="no such database"),
        pytest.param({"user": "nobody"}, id="no such user"),
    ],
)
async def test_a_database_that_cannot_be_entered_is_a_problem_without_secrets(
    home: Path, postgres_url: str, wrong: dict[str, Any]
) -> None:
    right = urlsplit(postgres_url)
    user, port = wrong.get("user", right.username), wrong.get("port", right.port)
    url = f"postgresql://{user}:hunter2@{right.hostname}:{port}/{wrong.get('database', right.path[1:])}"

    found = await look_at_database(household(home, database_url=url))

    assert not found.ok and found.advice
    assert "hunter2" not in repr(found)


async def test_a_file_that_is_no_database_is_a_problem(home: Path) -> None:
    (home / "postroom.db").write_bytes(b"this is not a database, however long it may be" * 100)

    found = await look_at_database(household(home))

    assert (found.ok, found.advice) == (False, "restore a backup")


@pytest.mark.parametrize("url", ["mysql://localhost/x", "nonsense"])
async def test_an_address_of_no_database_is_a_problem(home: Path, url: str) -> None:
    found = await look_at_database(household(home, database_url=url))

    assert not found.ok


async def test_redis_is_asked_only_when_it_is_wanted(home: Path, redis_url: str, free_port: int) -> None:
    assert await look_at_redis(household(home)) == []
    assert [one.ok for one in await look_at_redis(household(home, redis_url=redis_url))] == [True]
    for wrong in (f"redis://:hunter2@127.0.0.1:{free_port}/0", "nonsense"):
        [found] = await look_at_redis(household(home, redis_url=wrong))
        assert not found.ok and found.advice
        assert "hunter2" not in repr(found)


async def test_a_database_newer_than_the_program_is_a_problem(servers_settings: Settings) -> None:
    store = connect_store(servers_settings)
    await store.database.migrate()
    await store.database.write(lambda one: one.execute(text("UPDATE postroom_version SET version_num = '9999'")))
    await store.database.close()

    found = await look_at_database(servers_settings)

    assert not found.ok
    assert "revision 9999" in found.detail and "newer than this program" in found.detail
    assert "newer Postroom" in found.advice
