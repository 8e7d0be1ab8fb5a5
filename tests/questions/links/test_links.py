"""A form counts when a page of ours was made for it, and not otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.questions.asking_office import CHANNELS, HEALTH, Office, opened_office
from tests.questions.card_post import CardPost

from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import Refused
from postroom.message.inbound import Assurance
from postroom.questions.links.links import LIFE_SECONDS, LinkNonce
from postroom.questions.model import Said, VerdictKind
from postroom.questions.presenter import Presenter
from postroom.questions.rules.cards import CardMaker
from postroom.questions.rules.request import WordsGiven


def test_a_nonce_is_for_one_link_one_step_and_a_day() -> None:
    nonce = LinkNonce(key=b"k" * 32, token="t", revision=1, step="ask")
    made = nonce.make(10**12)

    assert nonce.is_own(made, 10**12) and nonce.make(10**12) != made
    assert not nonce.is_own(made, 10**12 + (LIFE_SECONDS + 1) * 10**6) and not nonce.is_own(made, 10**12 - 1)
    for other in (
        LinkNonce(key=b"o" * 32, token="t", revision=1, step="ask"),
        LinkNonce(key=b"k" * 32, token="u", revision=1, step="ask"),
        LinkNonce(key=b"k" * 32, token="t", revision=2, step="ask"),
        LinkNonce(key=b"k" * 32, token="t", revision=1, step="confirm"),
    ):
        assert not other.is_own(made, 10**12)


async def mailed(office: Office, **arguments: object) -> tuple[str, str]:
    """The question's id, and the token in the mail."""
    post = CardPost()
    presenter = Presenter(
        planning=office.asking.planning,
        claims=office.presentations,
        cards=CardMaker(channels=CHANNELS, key=b"k", base_url="https://home.example"),
        post=post,
        clock=office.clock,
        wake=Signal(),
    )
    view = await office.ask(channels=["email"], **arguments)
    await presenter.look()
    await presenter.idle()
    assert post.sent[-1].markup is not None
    (button,) = post.sent[-1].markup.every_button
    assert button.url is not None
    return view.question.id, button.url.removeprefix("https://home.example/a/")


@pytest.mark.requirement("ask:links")
async def test_a_link_shows_its_question_as_often_as_it_is_opened_and_answers_once(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with opened_office("sqlite", tmp_path, request) as office:
        ask_id, token = await mailed(office)
        for _ in range(3):
            link = await office.links.open(token)
            assert (link.view.question.id, link.person_name, link.is_current) == (ask_id, "Olga", True)
        heard = await office.links.answer(token, Said(value="yes"), event_id="1")
        assert heard.verdict.kind is VerdictKind.ACCEPTED
        assert heard.view.question.answered_by is not None
        assert heard.view.question.answered_by.assurance is Assurance.CHANNEL
        late = await office.links.answer(token, Said(value="no"), event_id="2")
        assert late.verdict.kind is VerdictKind.LOST_RACE


@pytest.mark.requirement("ask:clocks-differ")
async def test_a_link_answers_when_the_clock_was_set_back(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    async with opened_office("sqlite", tmp_path, request) as office:
        _, token = await mailed(office)
        office.clock.jump(-3600)
        assert (await office.links.answer(token, Said(value="yes"), event_id="1")).verdict.kind is VerdictKind.ACCEPTED


@pytest.mark.requirement("ask:links")
async def test_a_link_dies_with_the_wording_it_was_sent_with(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    async with opened_office("sqlite", tmp_path, request) as office:
        ask_id, token = await mailed(office)
        await office.asking.revise(HEALTH, ask_id, WordsGiven(question="Ship it now?"))
        assert not (await office.links.open(token)).is_current
        heard = await office.links.answer(token, Said(value="yes"), event_id="1")
        assert heard.verdict.code == "old_revision"


async def test_a_link_sent_to_an_unproved_address_approves_nothing(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with opened_office("sqlite", tmp_path, request) as office:
        _, token = await mailed(office, to="a3", kind="approve", options=None)
        heard = await office.links.answer(token, Said(value="approve"), event_id="1")
        assert (heard.verdict.kind, heard.verdict.code) == (VerdictKind.UNAUTHORISED, "assurance")


@pytest.mark.parametrize("token", ["", "nonsense", "\ud800"])
async def test_other_tokens_open_nothing(tmp_path: Path, request: pytest.FixtureRequest, token: str) -> None:
    async with opened_office("sqlite", tmp_path, request) as office:
        with pytest.raises(Refused):
            await office.links.open(token)
