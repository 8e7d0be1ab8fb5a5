"""A channel of one's own: its file, its options, the form of its addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postroom.household.channels import address_forms, build_channels, known_channels
from postroom.household.people import opened_people
from postroom.kernel.values.errors import Refused, SettingsError
from postroom.message.channel import UNDECLARED, Capabilities, Listen, Probe
from postroom.message.delivery import Intent, Message, Receipt
from postroom.people.model import NewPerson, PersonAddress
from postroom.settings import Settings
from tests.architecture.tree import ROOT
from tests.console.http import calling
from tests.contract.beeper import BeeperGateway
from tests.household.calling import client
from tests.household.living import ALL_DAY, QUICK, living, settings_for


# A channel that the settings name carries messages like the shipped ones.
def with_channel(name: str = "beeper", factory: str = "beeper_channel:Beeper", **options: str) -> dict[str, Any]:
    return {"channels": {name: {"factory": factory, "options": options}}}


@pytest.fixture(autouse=True)
def examples_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))


async def test_a_message_leaves_over_it_and_its_outcome_is_known(home: Path) -> None:
    async with BeeperGateway() as server:
        own = with_channel(url=f"http://127.0.0.1:{server.port}")
        async with living(home, QUICK, own, {"approvals": {"enabled": False}}) as household:
            answer = await household.notify(channel="beeper", recipient="kitchen", message="Tea is ready")
            unknown = await household.notify(channel="pigeon", recipient="kitchen")
            not_set_up = await household.notify(channel="email", recipient="ada@example.org")

        assert [request.body for request in server.requests] == [{"beeper": "kitchen", "text": "Tea is ready"}]
    assert (answer["status"], answer["delivery"]["provider_delivery_id"]) == ("ok", "hwQ2YpKdmg")
    assert unknown["error_class"] == "validation_error"
    assert not_set_up["error_class"] == "target_unavailable"


async def test_a_stranger_on_it_waits_for_approval_as_on_every_channel(home: Path) -> None:
    async with BeeperGateway() as server:
        own = with_channel(url=f"http://127.0.0.1:{server.port}")
        async with living(home, QUICK, own) as household:
            answer = await household.notify(channel="beeper", recipient="kitchen")

        assert answer["status"] == "pending_approval"
        assert server.requests == []


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        pytest.param(with_channel(factory="nowhere:Beeper"), "there is no 'nowhere:Beeper'", id="no module"),
        pytest.param(
            with_channel(factory="beeper_channel:Bell"), "there is no 'beeper_channel:Bell'", id="no function"
        ),
        pytest.param(with_channel(factory="beeper_channel"), "write it as module:function", id="no colon"),
        pytest.param(with_channel(adress="x"), "does not take these options", id="wrong option"),
        pytest.param(with_channel(name="pager", url="http://x"), "of another name", id="another name"),
    ],
)
def test_what_is_wrong_with_it_is_one_sentence(home: Path, own: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        build_channels(settings_for(home, own), None)


@pytest.mark.parametrize("name", ["telegram", "email", "Beeper", "no spaces"])
def test_it_cannot_take_the_place_of_ours(home: Path, name: str) -> None:
    with pytest.raises(ValueError, match="channels"):
        settings_for(home, with_channel(name=name))


def test_its_options_are_secret(home: Path) -> None:
    settings = settings_for(home, with_channel(url="https://user:hunter2@beepers.example.org"))

    assert isinstance(settings, Settings)
    assert "hunter2" not in repr(settings) + str(settings.model_dump())


class Pager:
    """As one was written before channels declared anything: a name, four methods, and no more."""

    __slots__ = ("sent",)
    name = "pager"

    def __init__(self) -> None:
        self.sent: list[Message] = []

    def address(self, text: str) -> str | None:
        return text if text.isdigit() else None

    def prepare(self, message: Message) -> Sequence[Message]:
        PREPARED.append(message.text)
        return (message,)

    async def send(self, part: Message, timeout_seconds: float) -> Receipt:
        PAGED.append((part.intent, part.address, part.thread, part.text, timeout_seconds))
        return Receipt("page-1")

    async def close(self) -> None:
        CLOSED.append(self.name)


class ProbedPager(Pager):
    __slots__ = ()

    async def probe(self, timeout_seconds: float) -> str:
        return "pager 7"


def declaring_pager() -> Pager:
    """A function that speaks for the channel it makes."""
    return Pager()


declaring_pager.capabilities = Capabilities(spacing_seconds=2)  # type: ignore[attr-defined]


class BoastfulPager(Pager):
    __slots__ = ()
    capabilities = ("replies",)


PAGED: list[tuple[Intent, str, str | None, str, float]] = []
CLOSED: list[str] = []
PREPARED: list[str] = []


def pager(factory: str = "Pager") -> dict[str, Any]:
    return {"channels": {"pager": {"factory": f"{__name__}:{factory}"}}}


def reply_on(channel: str, thread: str | None = None) -> dict[str, Any]:
    context = {
        "request_id": "inbound-1",
        "source_channel": channel,
        "source_endpoint_identity": "bot",
        "source_sender_identity": "911",
    }
    return context | ({"source_thread_identity": thread} if thread else {})


@pytest.mark.requirement("house:channel-first-version")
async def test_one_that_declares_nothing_goes_on_as_it_did(home: Path) -> None:
    PAGED.clear()
    CLOSED.clear()
    off = {"approvals": {"enabled": False}, "messages": {"sign": True}, "timeouts": {"default_seconds": 12}}
    async with living(home, QUICK, pager(), off) as household:
        sent = await household.notify(channel="pager", recipient="911", message="Up?")
        reply = {"channel": "pager", "intent": "reply", "message": "Yes", "request_context": reply_on("pager")}
        replied = await household.notify(**reply)
        reacted = await household.notify(**{**reply, "intent": "react", "emoji": "👍"})

    assert [one["status"] for one in (sent, replied, reacted)] == ["ok", "ok", "error"]
    assert "pager has no reactions" in reacted["error"]
    assert PAGED == [
        (Intent.SEND, "911", None, "health: Up?", 12),
        (Intent.REPLY, "911", None, "health: Yes", 12),
    ]
    assert CLOSED == ["pager"]


@pytest.mark.parametrize("quiet", [False, True], ids=["leaves at once", "is held"])
async def test_it_reads_a_message_once_also_where_a_policy_says_when_it_leaves(home: Path, quiet: bool) -> None:
    PREPARED.clear()
    rest = {"quiet_hours": ALL_DAY} if quiet else {}
    settings = [QUICK, pager(), {"approvals": {"enabled": False}, "attention": {"preset": "everything", **rest}}]
    async with opened_people(settings_for(home, *settings)) as people:
        address = PersonAddress(channel="pager", address="911")
        await people.create(NewPerson(name="Cook", addresses=(address,)), source="test")
    async with living(home, *settings) as household:
        answer = await household.notify(channel="pager", recipient="911", message="Up?", idempotency_key="one")

    assert answer["status"] == ("deferred" if quiet else "ok")
    assert PREPARED == ["Up?"]


@pytest.mark.requirement("house:channel-first-version")
def test_what_it_could_be_asked_it_can_still_be_asked(home: Path) -> None:
    plain, probed = (build_channels(settings_for(home, pager(one)), None)["pager"] for one in ("Pager", "ProbedPager"))

    assert (plain.name, plain.capabilities, plain.address("911")) == ("pager", UNDECLARED, "911")
    assert (isinstance(plain, Probe), isinstance(probed, Probe)) == (False, True)
    assert not isinstance(plain, Listen)


def test_a_function_may_speak_for_the_channel_it_makes(home: Path) -> None:
    settings = settings_for(home, pager("declaring_pager"))

    assert build_channels(settings, None)["pager"].capabilities.spacing_seconds == 2
    assert known_channels(settings)["pager"].spacing_seconds == 2


def test_capabilities_of_another_shape_are_refused(home: Path) -> None:
    with pytest.raises(SettingsError, match=r"channels\.pager: capabilities must be a postroom\.message\.channel"):
        build_channels(settings_for(home, pager("BoastfulPager")), None)


async def test_a_reply_over_one_that_cannot_reply_is_refused_at_the_door(home: Path) -> None:
    async with living(home, QUICK, with_channel(url="http://127.0.0.1:9")) as household:
        answer = await household.notify(channel="beeper", intent="reply", request_context=reply_on("beeper"))

    assert (answer["error_class"], answer["status"]) == ("validation_error", "error")
    assert "beeper has no replies" in answer["error"]


async def test_a_model_reads_of_it_in_the_tool(home: Path) -> None:
    async with (
        living(home, QUICK, with_channel(url="http://127.0.0.1:9")) as household,
        client(household.household.addresses["health"], household.token("health")) as health,
    ):
        (notify,) = [tool for tool in (await health.list_tools()).tools if tool.name == "notify"]

    assert "over telegram, email or beeper" in (notify.description or "")


async def test_the_console_offers_it_for_a_standing_rule(home: Path) -> None:
    own = with_channel(url="http://127.0.0.1:9")
    async with living(home, QUICK, own) as household, calling(household) as caller:
        assert household.household.sign_in is not None
        cookies = await caller.sign_in(await household.household.sign_in())

        page = await caller.get("/console/approvals/rules", cookies)

    assert [name for name in ("email", "beeper", "telegram") if f"<option>{name}</option>" in page.text] == [
        "email",
        "beeper",
        "telegram",
    ]


# What is an address on each channel the settings know, a channel of one's own included.
OWN = {"beeper": {"factory": "beeper_channel:Beeper", "options": {"url": "http://127.0.0.1:9"}}}


def test_the_shipped_channels_are_known_without_credentials(home: Path) -> None:
    forms = address_forms(Settings(home=home))

    assert sorted(forms) == ["email", "telegram"]
    assert (forms["telegram"]("@Bob_Miller"), forms["email"]("b@Example.ORG")) == ("@bob_miller", "b@example.org")


async def test_a_person_has_an_address_on_a_channel_of_ones_own(home: Path) -> None:
    settings = Settings.model_validate({"home": home, "channels": OWN})
    async with opened_people(settings) as people:
        topic = PersonAddress(channel="beeper", address="kitchen")
        made = await people.create(NewPerson(name="Cook", addresses=(topic,)), source="test")
        wrong = PersonAddress(channel="beeper", address="no such topic!")
        with pytest.raises(Refused) as error:
            await people.edit(made.id, lambda one: replace(one, addresses=(wrong,)))

    assert made.address_on("beeper") == "kitchen"
    assert [one.field for one in error.value.fields] == ["addresses.0.address"]
