"""A file left the house that was never meant to: because a path stood in a text, or because a list forgot it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.museum.house import House, open_house

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def outbox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("outbox")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory, outbox: Path) -> AsyncIterator[House]:
    """Its butlers may send what lies in one folder."""
    async with open_house(tmp_path_factory.mktemp("home"), {"messages": {"outbox": [str(outbox)]}}) as opened:
        yield opened


@pytest.mark.exhibit("hermes-35584")
@pytest.mark.parametrize("words", ["could not change {}", "MEDIA:{}", "file://{}", "![shown]({})"])
async def test_a_path_in_a_text_stays_a_path(house: House, words: str) -> None:
    text = words.format(house.settings.tokens_file)

    assert (await house.notify(message=text))["status"] == "ok"

    shown = (await house.saying(text))[-1]
    assert shown["attachments"] == []


@pytest.mark.exhibit("hermes-50912")
async def test_the_keys_of_the_household_go_with_no_message_however_new_they_are(house: House, outbox: Path) -> None:
    for secret in (house.settings.tokens_file, house.settings.home / "household.key"):
        os.utime(secret)
        refused = await house.notify(message="With my keys", attachments=[{"path": str(secret)}])
        assert [one["code"] for one in refused["fields"]] == ["outside_outbox"], refused
    assert await house.saying("With my keys") == []


@pytest.mark.exhibit("hermes-30432")
async def test_a_link_in_the_outbox_leads_to_no_file_outside_of_it(house: House, outbox: Path) -> None:
    (outbox / "photo.json").symlink_to(house.settings.tokens_file)

    refused = await house.notify(message="A photo", attachments=[{"path": str(outbox / "photo.json")}])

    assert refused["status"] == "error", refused
    assert await house.saying("A photo") == []


@pytest.mark.exhibit("hermes-34270")
async def test_every_door_looks_at_a_file_before_it_takes_it(house: House) -> None:
    files = [{"path": "/etc/hosts"}]
    by_butler = await house.notify(message="By every door", attachments=files)
    sent = {"channel": "telegram", "message": "By every door", "attachments": files}
    by_script, told = await house.rest("POST", "/v1/notify", sent, who="health")
    by_tool = await house.call(
        "messenger", "telegram_send_message", {"chat_id": "1000", "text": "By every door MEDIA:/etc/hosts"}
    )

    assert (by_butler["status"], by_script) == ("error", 400), told
    assert [one["attachments"] for one in await house.saying("By every door")] == [[]], by_tool


@pytest.mark.exhibit("hermes-8733")
@pytest.mark.parametrize(
    "path", ["file:///etc/hosts", "../../../../../../etc/hosts", "~/.ssh/id_rsa", "/proc/self/environ"]
)
async def test_a_path_in_any_spelling_leads_nowhere_but_to_the_outbox(house: House, path: str) -> None:
    refused = await house.notify(message="Spelled otherwise", attachments=[{"path": path}])

    assert refused["status"] == "error" and refused["fields"][0]["field"] == "attachments[0].path", refused
    assert await house.saying("Spelled otherwise") == []


@pytest.mark.exhibit("hermes-78932")
async def test_a_message_whose_file_may_not_go_is_refused_and_does_not_go_without_it(
    house: House, outbox: Path
) -> None:
    (outbox / "report.txt").write_text("All is well.")
    good = {"path": str(outbox / "report.txt")}

    refused = await house.notify(message="The report", attachments=[good, {"path": "/etc/passwd"}])
    assert (refused["status"], refused["retryable"]) == ("error", False)
    assert await house.saying("The report") == []

    sent = await house.notify(message="The report", attachments=[good])
    assert sent["status"] == "ok"
    (shown,) = await house.saying("The report")
    assert [one["name"] for one in shown["attachments"]] == ["report.txt"]
