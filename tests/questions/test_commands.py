"""`postroom ask`, `wait`, `answer` and `asks` against a household over its own socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from structlog.testing import capture_logs
from tests.cli.command import postroom, postroom_beside
from tests.console.asked import ANNA, HEALTH, admit, asking
from tests.household.living import LIFTED, QUICK, Living, living
from tests.patience import PATIENCE_SECONDS

from postroom.kernel.values.principal import OPERATOR
from postroom.questions.acts import WaitForAsk
from postroom.questions.commands import Patience
from postroom.questions.model import Said
from postroom.settings.reach import ElsewhereError, NotReached

FORM = {
    "type": "object",
    "properties": {"guests": {"type": "integer"}, "wine": {"type": "boolean"}},
    "required": ["guests"],
}


@pytest.fixture(autouse=True)
def no_log() -> Iterator[None]:
    """Of the household, which lives in this process and would write into what the command prints."""
    with capture_logs():
        yield


@pytest.fixture
async def there(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Living]:
    """Asked as the butler health; neither its files nor its log are the command's."""
    async with living(tmp_path / "there", QUICK, LIFTED) as household:
        await admit(household, ANNA)
        monkeypatch.setenv("POSTROOM_URL", household.household.addresses["api"])
        monkeypatch.setenv("POSTROOM_TOKEN", household.token("health"))
        yield household


async def opened(there: Living) -> str:
    """The newest question, once it is there."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (found := await asking(there).listing(OPERATOR)):
            await asyncio.sleep(0.02)
    return found[0].question.id


async def answered(there: Living, given: Said, *arguments: str) -> Any:
    """`postroom ask` waits while the owner answers in the console."""
    command = asyncio.create_task(postroom_beside("ask", *arguments, "--wait", "1m"))
    ask_id = await opened(there)
    await asking(there).answer(OPERATOR, ask_id, given, channel="console", event_id=ask_id)
    return await command


ANSWERS = {
    "value": (["Ship it?", "--options", "yes,no"], Said(value="yes"), "yes\n"),
    "several": (["Days?", "--options", "Mon, Tue,Wed", "--multiple"], Said(selected=("Mon", "Wed")), "Mon\nWed\n"),
    "words": (["What to cook?"], Said(text="Soup,\nplease"), "Soup,\nplease\n"),
    "approve": (["May I?", "--kind", "approve"], Said(value="deny"), "deny\n"),
    "form": (["Dinner?", "--form", json.dumps(FORM)], Said(fields={"guests": 3}), '{"guests": 3}\n'),
    "markdown": (["**Where**?", "--format", "markdown"], Said(text="Oslo"), "Oslo\n"),
    "secret": (["Code?", "--secret"], Said(text="sesame"), "sesame\n"),
}


@pytest.mark.requirement("ask:command-line")
@pytest.mark.parametrize(("arguments", "given", "out"), ANSWERS.values(), ids=ANSWERS)
async def test_the_answer_alone_is_on_standard_output(
    there: Living, arguments: list[str], given: Said, out: str
) -> None:
    done = await answered(there, given, *arguments)

    assert (done.code, done.out) == (0, out)
    assert "answered via console." in done.error


async def test_a_question_no_one_answers_is_still_open_and_can_be_waited_for(there: Living) -> None:
    asked = await postroom_beside("ask", "Anyone?", "--options", "yes,no", "--wait", "0", "--key", "k1")
    ask_id = await opened(there)

    assert (asked.code, asked.out) == (10, "") and f"postroom wait {ask_id}" in asked.error
    by_key = await postroom_beside("wait", "--key", "k1", "--wait", "0")
    assert by_key.code == 10 and ask_id in by_key.error
    again = await postroom_beside("ask", "Anyone?", "--options", "yes,no", "--wait", "0", "--key", "k1", "--json")
    assert json.loads(again.out)["ask_id"] == ask_id and json.loads(again.out)["joined"]

    await asking(there).answer(OPERATOR, ask_id, Said(value="no"), channel="console", event_id="e")
    late = await postroom_beside("wait", ask_id)
    whole = json.loads((await postroom_beside("wait", "--key", "k1", "--json")).out)
    assert (late.code, late.out) == (0, "no\n")
    assert whole["answer"]["value"] == "no" and whole["answered_by"]["channel"] == "console"


async def test_each_end_has_its_code(there: Living) -> None:
    declined = await answered(there, Said(declined=True), "How old are you?")
    assert (declined.code, declined.out) == (12, "") and "would rather not answer" in declined.error

    asked = json.loads((await postroom_beside("ask", "Later?", "--wait", "0", "--json")).out)
    await asking(there).cancel(HEALTH, asked["ask_id"], None)
    cancelled = await postroom_beside("wait", asked["ask_id"])
    assert cancelled.code == 13 and "taken back" in cancelled.error

    expired = {"--options": "yes,no", "--default": "no", "--deadline": "30s", "--wait": "0"}
    options = [word for pair in expired.items() for word in pair]
    over = json.loads((await postroom_beside("ask", "In time?", *options, "--json")).out)
    parts = there.household.asking
    assert parts is not None
    assert await _expire(there, over["ask_id"])
    ended = await postroom_beside("wait", over["ask_id"])
    assert (ended.code, ended.out) == (11, "no\n") and "this is the default" in ended.error


async def _expire(there: Living, ask_id: str) -> bool:
    """As the timekeeper does when the time is over."""
    from postroom.questions.rules import plan as moves

    parts = there.household.asking
    assert parts is not None
    far = parts.world.clock.now_us() + 10**9
    change = await parts.store.change(ask_id, lambda one: moves.expired(one, caught_up=True, now_us=far))
    return change is not None and not change.question.is_open


async def test_a_person_answers_from_the_shell(there: Living, monkeypatch: pytest.MonkeyPatch) -> None:
    choice = json.loads((await postroom_beside("ask", "Tea?", "--options", "yes,no", "--wait", "0", "--json")).out)
    several = ["ask", "Which?", "--options", "a,b,c", "--multiple", "--wait", "0", "--json"]
    many = json.loads((await postroom_beside(*several)).out)
    words = json.loads((await postroom_beside("ask", "Why?", "--wait", "0", "--json")).out)
    form = json.loads((await postroom_beside("ask", "How?", "--form", json.dumps(FORM), "--wait", "0", "--json")).out)
    refused = await postroom_beside("answer", choice["ask_id"], "yes")
    assert refused.code == 1 and "may not" in refused.error  # a butler's token is no person's
    monkeypatch.setenv("POSTROOM_TOKEN", there.token("operator"))

    wrong = await postroom_beside("answer", choice["ask_id"], "perhaps")
    done = [
        await postroom_beside("answer", choice["ask_id"], "yes"),
        await postroom_beside("answer", many["ask_id"], "a", "c"),
        await postroom_beside("answer", words["ask_id"], "--text", "because"),
        await postroom_beside("answer", form["ask_id"], "--field", "guests=3", "--field", "wine=no"),
    ]
    again = await postroom_beside("answer", choice["ask_id"], "--decline")

    assert wrong.code == 1 and "choose one of" in wrong.error
    assert [one.code for one in done] == [0] * 4, done
    assert again.code == 1 and "was first" in again.error
    listed = {one["ask_id"]: one["answer"] for one in json.loads((await postroom_beside("asks", "--json")).out)}
    assert listed[many["ask_id"]]["selected"] == ["a", "c"]
    assert listed[words["ask_id"]]["text"] == "because"
    assert listed[form["ask_id"]]["fields"] == {"guests": 3, "wine": False}


async def test_questions_are_listed_by_state_on_a_line_each(there: Living) -> None:
    await answered(there, Said(value="yes"), "Ship\nit \x1b[31mnow?", "--options", "yes,no")
    await postroom_beside("ask", "Open one?", "--to", "anna", "--wait", "0")

    shown = await postroom_beside("asks")
    still = await postroom_beside("asks", "--status", "open")
    wrong = await postroom_beside("asks", "--status", "opne")

    assert shown.out.count("\n") == 2 and "\x1b" not in shown.out
    assert "→ yes (" in shown.out and "via console)" in shown.out
    assert "Open one?" in still.out and "asks anna" in still.out and "Ship" not in still.out
    assert wrong.code == 2 and "did you mean" in wrong.error


async def test_why_tells_where_a_question_was_shown_and_what_became_of_it(
    there: Living, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await answered(there, Said(value="yes"), "Ship it?", "--options", "yes,no")
    ask_id = await opened(there)

    told = await postroom_beside("why", ask_id)
    monkeypatch.setenv("POSTROOM_TOKEN", there.token("operator"))
    way = await postroom_beside("trace", ask_id)

    assert way.code == 0 and "delivered" in way.out, way
    assert told.code == 0 and told.out.count("\n") == 1
    assert told.out.startswith("health asked Sandbox owner “Ship it?” ")
    assert "answered “yes” via console" in told.out


async def test_what_was_allowed_is_still_said_when_it_is_over(there: Living) -> None:
    command = "rm -rf build\n" + "make dist " * 30
    await answered(there, Said(value="approve"), "Run it?", "--kind", "approve", "--context", command)

    listed, why = await postroom_beside("asks"), await postroom_beside("why", await opened(there))

    assert "Run it? – rm -rf build make dist" in listed.out and listed.out.count("\n") == 1
    assert "It was about “rm -rf build make dist" in why.out and "(whole in the console)" in why.out


async def test_another_sender_is_told_nothing_of_a_question(there: Living, monkeypatch: pytest.MonkeyPatch) -> None:
    await postroom_beside("ask", "Mine?", "--wait", "0")
    ask_id = await opened(there)
    monkeypatch.setenv("POSTROOM_TOKEN", there.token("general"))

    assert "Nothing of yours is known" in (await postroom_beside("why", ask_id)).error
    assert "404" in (await postroom_beside("wait", ask_id, "--wait", "0")).error
    assert (await postroom_beside("asks")).out == "No questions.\n"


async def test_what_is_wrong_is_said_in_one_sentence(there: Living, tmp_path: Path) -> None:
    mistyped = {
        ("ask", "When?", "--wait", "soon"): "--wait: 'soon'",
        ("ask", "When?", "--wait", "98765432101"): "--wait: must be at most 30d",
        ("ask", "Form?", "--form", "{"): "--form: this is not JSON",
        ("wait",): "by its id or with --idempotency-key",
        ("answer", "x"): "Give one of VALUE",
        ("ask", "Which?", "--options", "a,b", "--default", "c"): "--default: is not a possible answer",
        ("answer", "x", "--field", "Colour"): "--field: write NAME=VALUE",
        ("answer", "x", "yes", "--decline"): "Give one of VALUE",
    }
    refused = {
        ("ask", "Who?", "--to", "Nemo"): "no person is called “Nemo”.",
        ("ask", "Who?", "--to", "Sandbox ownr"): "did you mean",
        ("ask", "Form?", "--form", f"@{tmp_path / 'none.json'}"): "cannot be read",
        ("wait", "--key", "never"): "nothing under the key 'never'",
        ("wait", "no-such-id"): "404",
    }
    for code, wrong in ((2, mistyped), (1, refused)):
        for arguments, told in wrong.items():
            done = await postroom_beside(*arguments)
            assert (done.code, done.out) == (code, "") and told in done.error, (arguments, done)
            assert not done.error.endswith(("?.", "..")), done
    assert await asking(there).listing(OPERATOR) == []


async def test_former_flags_are_taken_and_what_they_are_called_now_is_said(there: Living) -> None:
    former = ("--to", "anna", "--key", "k9", "--remind", "30m", "--only-options", "--options", "yes,no")

    done = await postroom_beside("ask", "As ever?", *former, "--wait", "0", "--json")

    asked = json.loads(done.out)
    assert (asked["asked"]["to"][0]["name"], asked["asked"]["allow_text"]) == ("anna", False)
    assert asked["idempotency_key"] == "k9"
    for flag, now in {"--to": "--recipient", "--key": "--idempotency-key", "--remind": "--remind-after"}.items():
        assert f"{flag} is called {now} now." in done.error
    assert "--only-options is called --no-allow-text now." in done.error


async def test_a_form_may_lie_in_a_file(there: Living, tmp_path: Path) -> None:
    (tmp_path / "form.json").write_text(json.dumps(FORM), encoding="utf-8")

    done = await answered(there, Said(fields={"guests": 2}), "Guests?", "--form", f"@{tmp_path / 'form.json'}")

    assert done.out == '{"guests": 2}\n'


async def test_the_household_of_this_machine_is_asked_as_its_operator(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = await postroom_beside("asks")
    async with living(home, QUICK) as household:
        monkeypatch.setenv("POSTROOM_PORTS__API", household.household.addresses["api"].rpartition(":")[2])
        done = await postroom_beside("ask", "Here?", "--wait", "0", "--json")
        listed = await postroom_beside("asks")

    assert nothing.code == 1 and "is the household running?" in nothing.error
    assert done.code == 10 and json.loads(done.out)["asked"]["asked_by"] == "operator"
    assert "Your household asks Sandbox owner: Here?" in listed.out


def test_a_port_that_only_the_household_knows_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from postroom.kernel.guard.tokens import TokenFile

    TokenFile(home / "tokens.json").ensure([OPERATOR])
    monkeypatch.setenv("POSTROOM_PORTS__API", "0")

    assert "only the household knows its port" in postroom("asks").error


# ---- patience with a household that is away ----


OPEN, ANSWERED = SimpleNamespace(status="open"), SimpleNamespace(status="answered")


@dataclass
class Times:
    """Each look takes as long as it was allowed to."""

    answers: list[Any]
    at: float = 0.0
    waits: list[float] = field(default_factory=list)

    def ask(self, one: WaitForAsk, _timeout_seconds: float) -> Any:
        wait = one.wait_seconds or 0
        self.waits.append(wait)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        self.at += 0 if answer is ANSWERED else wait
        return answer

    def pause(self, seconds: float) -> None:
        self.at += seconds

    def patience(self, wait_seconds: float) -> Patience:
        now: Callable[[], float] = lambda: self.at  # noqa: E731
        return Patience(there=self, wait_seconds=wait_seconds, now=now, pause=self.pause)  # type: ignore[arg-type]


def test_long_looks_follow_each_other_until_the_time_is_up() -> None:
    times = Times([OPEN] * 3)

    assert times.patience(150).until_over("q") is OPEN
    assert times.waits == [60, 60, 30]


def test_without_any_time_it_looks_once() -> None:
    times = Times([OPEN])

    assert times.patience(0).until_over("q") is OPEN
    assert times.waits == [0]


@pytest.mark.requirement("ask:command-line-patience")
def test_a_household_that_restarts_is_asked_again(capsys: pytest.CaptureFixture[str]) -> None:
    times = Times([OPEN, NotReached("It is away."), NotReached("It is away."), ANSWERED])

    assert times.patience(600).until_over("q") is ANSWERED
    assert capsys.readouterr().err == "It is away. Still waiting.\n"


def test_one_that_stays_away_ends_the_waiting_when_the_time_is_up() -> None:
    with pytest.raises(NotReached):
        Times([NotReached("It is away.")] * 20).patience(9).until_over("q")


def test_a_refusal_is_not_waited_for() -> None:
    with pytest.raises(ElsewhereError, match="no such question"):
        Times([ElsewhereError("no such question")]).patience(60).until_over("q")


@pytest.mark.requirement("ask:command-line-patience")
def test_an_interruption_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        Times([OPEN, KeyboardInterrupt()]).patience(600).until_over("q7")

    assert ended.value.exit_code == 130
    assert "postroom wait q7" in capsys.readouterr().err
