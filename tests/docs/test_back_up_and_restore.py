"""The backup page does what it says: a running household is copied, the copy lives, and nothing is sent twice."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import Principal, Role
from postroom.settings.peer import HttpPeer
from tests.architecture.tree import ROOT
from tests.docs.pages import blocks
from tests.household.processes import environment, part
from tests.services import warm_process

PAGE = ROOT / "docs" / "how-to" / "run.md"
SCRIPTS = {file: block.text for block in blocks(PAGE) if (file := block.told("file"))}
LIFTED = '{"global_per_minute": 100000, "recipient_per_minute": 100000, "channels": {"telegram.bot": 100000}}'
MESSAGES = 40
FILES = {
    "postroom.toml": '[owner]\nname = "Ada"\n',
    "secrets.toml": '[desk]\ntoken = "a-token-of-the-desk"\n',
    "roster/garden/butler.toml": '[butler]\nname = "garden"\n',
    "mail-oauth/work.sealed": "a grant",
    "connections.json": "{}",
}

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(params=["sqlite", "postgres"])
def variables(home: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    more = {"POSTROOM_LIMITS": LIFTED, "POSTROOM_DELIVERY__TELEGRAM_CHAT_INTERVAL_SECONDS": "0"}
    if request.param == "postgres":
        more["POSTROOM_DATABASE_URL"] = request.getfixturevalue("new_postgres_url")
    return environment(home, **more)


def back_up(variables: Mapping[str, str], folder: Path) -> None:
    [command] = [block.text for block in blocks(PAGE) if "postroom backup" in block.text]
    run_script(command.replace("postroom", warm_process.shell_command(), 1), variables, folder)


def restore(variables: Mapping[str, str], folder: Path) -> None:
    kind = "-postgres" if "POSTROOM_DATABASE_URL" in variables else ""
    run_script(SCRIPTS[f"restore{kind}.sh"], variables, folder)


def run_script(script: str, variables: Mapping[str, str], folder: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", script], cwd=folder, env=dict(variables), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


async def notify(variables: Mapping[str, str], message: str, **more: str) -> dict[str, Any]:
    token = TokenFile(Path(variables["POSTROOM_HOME"]) / "tokens.json").token_of(Principal(Role.BUTLER, "health"))
    peer = HttpPeer("health", f"http://127.0.0.1:{variables['POSTROOM_PORTS__HEALTH']}/mcp", token or "")
    try:
        return await peer.call("notify", {"channel": "telegram", "message": message, **more}, 60)
    finally:
        await peer.close()


async def received(variables: Mapping[str, str]) -> list[str]:
    url = f"http://127.0.0.1:{variables['POSTROOM_PORTS__SANDBOX']}/sandbox/telegram/messages?limit=500"
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return [message["text"] for message in (await response.json())["messages"]]


async def test_what_was_delivered_before_the_backup_is_there_and_not_sent_again(
    variables: dict[str, str], tmp_path: Path
) -> None:
    files = lay_out(Path(variables["POSTROOM_HOME"]))
    with part(variables):
        before = await asyncio.gather(*(notify(variables, f"before {number}") for number in range(MESSAGES)))
        writing = asyncio.gather(*(notify(variables, f"during {number}") for number in range(MESSAGES)))
        await asyncio.to_thread(back_up, variables, tmp_path)  # under load
        during = await writing
        sent = await received(variables)
    assert {answer["status"] for answer in (*before, *during)} == {"ok"}
    wreck(variables)
    restore(variables, tmp_path)
    assert {file: (file.read_text(), file.stat().st_mode) for file in files} == files

    with part(variables):
        known = [await known_status(variables, answer["delivery"]["delivery_id"]) for answer in before]
        again = await notify(variables, "after the restore", recipient="4242")  # the owner's may wait for an old lease
        after = await received(variables)

    assert set(known) == {"delivered"}
    assert again["status"] == "ok"
    assert sorted(text for text in after if text.startswith("before")) == sorted(
        text for text in sent if text.startswith("before")
    )


def lay_out(home: Path) -> dict[Path, tuple[str, int]]:
    """The files that people write, with their modes."""
    for name, text in FILES.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    (home / "secrets.toml").chmod(0o600)
    return {home / name: (text, (home / name).stat().st_mode) for name, text in FILES.items()}


def wreck(variables: Mapping[str, str]) -> None:
    """As bad as it gets: the database is rubbish, or every schema is gone, and so is every file of the home."""
    home = Path(variables["POSTROOM_HOME"])
    for name in ("tokens.json", *FILES):
        (home / name).unlink()
    if url := variables.get("POSTROOM_DATABASE_URL"):
        drop = (
            "DO $$ DECLARE one text; BEGIN FOR one IN SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' "
        )
        drop += (
            "AND nspname NOT IN ('information_schema', 'public') LOOP EXECUTE format('DROP SCHEMA %I CASCADE', one);"
        )
        subprocess.run(["psql", "-q", url, "-c", f"{drop} END LOOP; END $$"], check=True, capture_output=True)
    else:
        (home / "postroom.db").write_bytes(os.urandom(8192))


async def known_status(variables: Mapping[str, str], delivery_id: str) -> str:
    token = TokenFile(Path(variables["POSTROOM_HOME"]) / "tokens.json").token_of(Principal(Role.BUTLER, "messenger"))
    peer = HttpPeer("messenger", f"http://127.0.0.1:{variables['POSTROOM_PORTS__MESSENGER']}/mcp", token or "")
    try:
        answer = await peer.call("messenger_delivery_status", {"delivery_id": delivery_id}, 30)
    finally:
        await peer.close()
    return str(answer["status"])


def test_the_programs_of_the_page_are_here() -> None:
    assert shutil.which("pg_dump") and shutil.which("pg_restore")
