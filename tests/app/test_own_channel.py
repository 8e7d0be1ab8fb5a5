"""A channel that the settings name carries messages like the shipped ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from postroom.app.channels import build_channels
from postroom.system.settings import Settings, SettingsError
from tests.app.living import QUICK, living, settings_for
from tests.architecture.tree import ROOT
from tests.contract.ntfy import NtfyServer
from tests.doors.console.http import calling


def with_channel(name: str = "ntfy", factory: str = "ntfy_channel:Ntfy", **options: str) -> dict[str, Any]:
    return {"channels": {name: {"factory": factory, "options": options}}}


@pytest.fixture(autouse=True)
def examples_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))


async def test_a_message_leaves_over_it_and_its_outcome_is_known(home: Path) -> None:
    async with NtfyServer() as server:
        own = with_channel(url=f"http://127.0.0.1:{server.port}")
        async with living(home, QUICK, own, {"approvals": {"enabled": False}}) as household:
            answer = await household.notify(channel="ntfy", recipient="kitchen", message="Tea is ready")
            unknown = await household.notify(channel="pigeon", recipient="kitchen")
            not_set_up = await household.notify(channel="email", recipient="ada@example.org")

        assert [request.body for request in server.requests] == [{"topic": "kitchen", "message": "Tea is ready"}]
    assert (answer["status"], answer["delivery"]["provider_delivery_id"]) == ("ok", "hwQ2YpKdmg")
    assert unknown["error_class"] == "validation_error"
    assert not_set_up["error_class"] == "target_unavailable"


async def test_a_stranger_on_it_waits_for_approval_as_on_every_channel(home: Path) -> None:
    async with NtfyServer() as server:
        own = with_channel(url=f"http://127.0.0.1:{server.port}")
        async with living(home, QUICK, own) as household:
            answer = await household.notify(channel="ntfy", recipient="kitchen")

        assert answer["status"] == "pending_approval"
        assert server.requests == []


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        pytest.param(with_channel(factory="nowhere:Ntfy"), "there is no 'nowhere:Ntfy'", id="no module"),
        pytest.param(with_channel(factory="ntfy_channel:Nfty"), "there is no 'ntfy_channel:Nfty'", id="no function"),
        pytest.param(with_channel(factory="ntfy_channel"), "write it as module:function", id="no colon"),
        pytest.param(with_channel(adress="x"), "does not take these options", id="wrong option"),
        pytest.param(with_channel(name="pager", url="http://x"), "of another name", id="another name"),
    ],
)
def test_what_is_wrong_with_it_is_one_sentence(home: Path, own: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        build_channels(settings_for(home, own), None)


@pytest.mark.parametrize("name", ["telegram", "email", "Ntfy", "no spaces"])
def test_it_cannot_take_the_place_of_ours(home: Path, name: str) -> None:
    with pytest.raises(ValueError, match="channels"):
        settings_for(home, with_channel(name=name))


def test_its_options_are_secret(home: Path) -> None:
    settings = settings_for(home, with_channel(url="https://user:hunter2@ntfy.example.org"))

    assert isinstance(settings, Settings)
    assert "hunter2" not in repr(settings) + str(settings.model_dump())


async def test_the_console_offers_it_for_a_standing_rule(home: Path) -> None:
    own = with_channel(url="http://127.0.0.1:9")
    async with living(home, QUICK, own) as household, calling(household) as caller:
        assert household.household.sign_in is not None
        cookies = await caller.sign_in(await household.household.sign_in())

        page = await caller.get("/console/approvals/rules", cookies)

    assert [name for name in ("email", "ntfy", "telegram") if f"<option>{name}</option>" in page.text] == [
        "email",
        "ntfy",
        "telegram",
    ]
