"""A case in the former shape runs in the installed suite as far as it says what its provider does."""

from __future__ import annotations

from tests.contract.bot_api import BotApi, Trouble, accepted, refused
from tests.contract.situations import Case, Situation
from tests.contract.telegram import TOKEN

from postroom.domain.errors import OutcomeUncertain, ValidationError
from postroom.testing.check import CheckGroup
from postroom.testing.checks import checks
from postroom.testing.run import run
from postroom.world.channels.telegram import Telegram

FORMER = Case(
    name="telegram",
    provider=BotApi,
    connect=lambda port: Telegram(TOKEN, f"http://127.0.0.1:{port}"),
    address="4711",
    not_an_address="ada@example.org",
    text="the kettle is on",
    secrets=[TOKEN],
    edits=True,
    situations=[
        Situation(id="accepted", script=accepted()),
        Situation(id="slow", script=accepted(hold=True), held=True),
        Situation(id="message_refused/400", script=refused(400, "no"), raises=ValidationError),
        Situation(id="hang", script=Trouble.READ_THEN_HANG, raises=OutcomeUncertain, timeout_seconds=1.0),
    ],
)
TOLD = {"accepted", "held", "refused-for-ever", "read-then-silence", "cancelled", "close-while-sending"}


def test_what_it_says_is_looked_at() -> None:
    case = FORMER.installed()
    results = run(case, [one for one in checks(case) if one.group is CheckGroup.OWN or one.id in TOLD])

    assert len(results) == len(FORMER.situations) + len(TOLD)
    assert [(one.check.id, one.failure) for one in results if one.failed] == []
