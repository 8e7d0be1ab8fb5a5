"""`postroom notify --to` a name that is several people's: the answer says who they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.app.living import QUICK, Living, living
from tests.cli.command import postroom_beside


@pytest.mark.asyncio
async def test_the_people_a_name_may_mean_are_named_and_an_id_settles_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(tmp_path / "there", QUICK, {"approvals": {"enabled": False}}) as there:
        monkeypatch.setenv("POSTROOM_URL", there.household.addresses["api"])
        monkeypatch.setenv("POSTROOM_TOKEN", there.token("operator"))
        ids = [await added(name, chat) for name, chat in (("Bob", 2001), ("Bob", 2002), ("Bob Stone", 2003))]
        monkeypatch.setenv("POSTROOM_TOKEN", there.token("health"))
        unheard = await postroom_beside("notify", "Hi", "--channel", "telegram", "--to", "Bob")
        monkeypatch.setenv("POSTROOM_TOKEN", there.token("operator"))
        refused = await postroom_beside("notify", "Hi", "--channel", "telegram", "--to", "Bob")
        sent = await postroom_beside("notify", "Hi", "--channel", "telegram", "--to", ids[1])
        arrived = await chats(there)

    assert refused.code == 1 and "Several people are called 'Bob'; say which one by its id:" in refused.error
    assert [line.split()[-1] for line in refused.error.splitlines()[-3:]] == ids
    assert "Bob Stone" in refused.error.splitlines()[-1]
    assert unheard.code == 1 and "names more than one contact" in unheard.error and ids[0] not in unheard.error
    assert sent.code == 0, sent.error
    assert arrived == ["2002"]


async def added(name: str, chat: int) -> str:
    done = await postroom_beside("people", "add", name, "--address", f"telegram:{chat}", "--json")
    document = json.loads(done.out[done.out.index("{") :])
    return str(document["person_id"])


async def chats(there: Living) -> list[str]:
    return [one["chat_id"] for one in await there.received()]
