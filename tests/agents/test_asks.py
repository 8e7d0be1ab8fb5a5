"""Questions from an agent's own process: asked once, found again, and never answered by silence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.household.asked_household import phone, press, write
from tests.household.living import QUICK, Living, living
from tests.patience import PATIENCE_SECONDS

from postroom.agents.asks import AskRefused, HouseholdAsks, Unanswered, key_of, to_answer, to_approve, to_ask
from postroom.kernel.acts.reading import made
from postroom.kernel.values.errors import UserError
from postroom.questions.acts import AskPeople, CancelAsk

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home"), QUICK) as started:
        yield started


def asks_of(house: Living, **more: Any) -> HouseholdAsks:
    url = house.household.addresses["api"].removesuffix("/mcp")
    return HouseholdAsks(url=url, token=house.token("health"), more={"channels": ["telegram"]}, **more)


async def answered(house: Living, key: str, question: AskPeople, button: str) -> Any:
    waiting = asyncio.create_task(asks_of(house).answer(key, question))
    await press(house, await phone(house, question.question), button)
    return await asyncio.wait_for(waiting, PATIENCE_SECONDS)


async def test_an_option_is_answered_by_its_value(house: Living) -> None:
    options = [{"value": "p", "label": "Production"}, {"value": "s", "label": "Staging"}]

    assert await answered(house, "k-option", to_ask({"question": "Where to?", "options": options}), "Staging") == "s"


async def test_words_are_answered_as_they_were_written(house: Living) -> None:
    waiting = asyncio.create_task(
        asks_of(house).answer("k-words", to_answer("ask_user", {"question": "Which colour?"}))
    )
    card = await phone(house, "Which colour?")
    await write(house, "Blue, please", reply_to_message_id=card["message_id"])

    assert await asyncio.wait_for(waiting, PATIENCE_SECONDS) == "Blue, please"


@pytest.mark.parametrize(("button", "refusal"), [("Approve", None), ("Deny", "The person said no; it was not run.")])
async def test_an_approval_is_yes_or_what_to_tell_the_model(house: Living, button: str, refusal: str | None) -> None:
    body = to_approve(f"tool_{button.lower()}", {"path": "/tmp/ä"})
    waiting = asyncio.create_task(asks_of(house).approval(key_of("t", button), body))
    card = await phone(house, body.question)
    await press(house, card, button)

    assert await asyncio.wait_for(waiting, PATIENCE_SECONDS) == refusal
    assert "/tmp/ä" in card["text"]


@pytest.mark.requirement("drivers:silence-is-no-answer")
async def test_an_open_question_is_no_answer_and_is_the_same_question_next_time(house: Living) -> None:
    impatient = asks_of(house, wait_seconds=0.1)
    with pytest.raises(Unanswered, match="is open") as first:
        await impatient.approval("k-open", to_approve("wait_for_me", {}))
    with pytest.raises(Unanswered) as second:
        await impatient.approval("k-open", to_approve("wait_for_me", {}))

    assert first.value.ask.ask_id == second.value.ask.ask_id
    found = await impatient.under("k-open")
    assert found is not None and found.ask_id == first.value.ask.ask_id


@pytest.mark.requirement("drivers:silence-is-no-answer")
async def test_a_question_taken_back_is_no_answer(house: Living) -> None:
    asks = asks_of(house)
    opened = await asks.opened("k-cancel", to_approve("take_back", {}))
    await asks._done(made(CancelAsk, ask_id=opened.ask_id))

    with pytest.raises(Unanswered, match="is cancelled"):
        await asks.approval("k-cancel", to_approve("take_back", {}))


async def test_other_content_under_the_same_key_is_refused_in_the_households_words(house: Living) -> None:
    await asks_of(house).opened("k-other", to_approve("one", {}))

    with pytest.raises(AskRefused, match="key"):
        await asks_of(house).opened("k-other", to_approve("another", {}))


async def test_arguments_too_long_to_be_shown_whole_are_refused(house: Living) -> None:
    with pytest.raises(AskRefused, match="context"):
        await asks_of(house).opened("k-long", to_approve("write", {"text": "x" * 30_000}))


async def test_a_key_says_which_pause_of_which_run_it_is() -> None:
    assert key_of("f", "run", 1) == key_of("f", "run", 1)
    assert len({key_of("f", "run", 1), key_of("f", "run", 2), key_of("f", "run1"), key_of("g", "run", 1)}) == 4
    assert len(key_of("openai-agents", "r" * 1000)) < 255


async def test_a_token_is_not_shown() -> None:
    assert "secret" not in repr(HouseholdAsks(url="http://x", token="secret"))


@pytest.mark.usefixtures("home")
async def test_without_a_household_the_error_says_what_to_do() -> None:
    with pytest.raises(UserError, match="postroom up"):
        HouseholdAsks.here()


async def test_a_url_without_a_token_gets_no_other_households_token(
    home: Path, house: Living, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "tokens.json").write_bytes((house.settings.home / "tokens.json").read_bytes())
    monkeypatch.setenv("POSTROOM_URL", "https://elsewhere.example")

    with pytest.raises(UserError):
        HouseholdAsks.here()


async def test_the_household_of_this_machine_is_found(
    home: Path, house: Living, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = home / "tokens.json"
    tokens.write_bytes((house.settings.home / "tokens.json").read_bytes())
    tokens.chmod(0o600)
    monkeypatch.setenv("POSTROOM_PORTS__API", house.household.addresses["api"].removesuffix("/mcp").rpartition(":")[2])

    asked = await HouseholdAsks.here(channels=["telegram"]).opened("k-here", to_ask({"question": "Here?"}))

    assert asked.status == "open"


async def test_what_a_question_says_itself_comes_before_what_goes_with_all_of_them(house: Living) -> None:
    asks = replace(asks_of(house), more={"to": "nobody", "channels": ["telegram"]})
    asked = await asks.opened("k-own", to_ask({"question": "Whose?", "recipient": "owner"}))

    assert asked.status == "open"
    with pytest.raises(AskRefused, match="nobody"):
        await asks.opened("k-all", to_ask({"question": "Whose?"}))
