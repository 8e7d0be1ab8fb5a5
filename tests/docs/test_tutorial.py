"""The tutorial's last step, with real processes: a household with credentials, and fakes in the providers' place."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT
from tests.docs.pages import blocks
from tests.docs.test_households_of_pages import Reader
from tests.household.living import Living, living
from tests.household.processes import environment
from tests.services import warm_process

TUTORIAL = ROOT / "docs" / "tutorial" / "first-household.md"
STEPS = ("Start it", "Tell", "Ask what happened", "Ask", "Approve", "Connect your agent", "Go live")

pytestmark = pytest.mark.timeout(180)


@pytest.mark.requirement("side:tutorial")
async def test_what_goes_live_reaches_the_bot_and_the_mailbox_of_its_settings(home: Path, tmp_path: Path) -> None:
    async with living(home, only=["sandbox"]) as providers:
        reader = Reader(tmp_path, variables(tmp_path, providers), {"123456:replace-me": "40290:sandbox"})
        said = await asyncio.to_thread(follow, reader)
        told = await providers.received()
        mails = await providers.received("email")

    assert said.count("delivered: ") == 2, said
    assert [(one["chat_id"], "It is live" in one["text"]) for one in told] == [("123456789", True)]
    assert [one["to"] for one in mails] == ["clara@example.org"]


@pytest.mark.requirement("side:tutorial")
def test_every_step_has_something_that_is_run() -> None:
    """Blocks without a note are run against a household by the tests of all pages."""
    text = TUTORIAL.read_text(encoding="utf-8")
    places = [text.index(f"## {number}. {name}\n") for number, name in enumerate(STEPS, 1)]
    lines = [text.count("\n", 0, place) for place in places] + [text.count("\n")]
    run = [block.line for block in blocks(TUTORIAL) if block.kind in ("sh", "console") and not block.told("check")]

    for name, begin, end in zip(STEPS, lines, lines[1:], strict=False):
        assert [line for line in run if begin < line < end], name


def follow(reader: Reader) -> str:
    with reader.following(TUTORIAL) as said:
        return said


def variables(folder: Path, providers: Living) -> dict[str, str]:
    """The settings are the page's own; only where Telegram and the mail server are is another place."""
    program = folder / "bin" / "postroom"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {warm_process.shell_command()} "$@"\n')
    program.chmod(0o755)
    own = environment(folder)
    bot, smtp = (providers.household.addresses[name] for name in ("sandbox", "sandbox_smtp"))
    return own | {
        "PATH": f"{program.parent}:{own['PATH']}",
        "POSTROOM_TELEGRAM__API_BASE_URL": bot.removesuffix("/sandbox/"),
        "POSTROOM_EMAIL__SMTP_HOST": "127.0.0.1",
        "POSTROOM_EMAIL__SMTP_PORT": smtp.rsplit(":", 1)[1],
        "POSTROOM_EMAIL__SMTP_SECURITY": "none",
    }
