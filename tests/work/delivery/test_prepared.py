from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.work.delivery.world import Parts, generous, living_world

from postroom.domain.capabilities import Capabilities
from postroom.domain.delivery import Format, Intent, Message, Receipt
from postroom.domain.errors import TargetUnavailable
from postroom.domain.ids import DeliveryId
from postroom.work.delivery.prepared import prepared


class Pager:
    name = "pager"

    def __init__(self, *formats: str) -> None:
        self.capabilities = Capabilities(formats=formats)

    def address(self, text: str) -> str | None:
        return text

    def prepare(self, message: Message) -> Sequence[Any]:
        return [(message.text, message.format)]

    async def send(self, part: Any, timeout_seconds: float) -> Receipt:
        return Receipt("1")

    async def close(self) -> None: ...


def message(text: str, format: Format) -> Message:
    return Message(delivery_id=DeliveryId("d"), intent=Intent.SEND, address="a", text=text, format=format)


@pytest.mark.requirement("content:readable-elsewhere", "content:plain-exact")
def test_a_channel_gets_markdown_only_when_it_shows_it() -> None:
    written = "**b** [l](https://a.example)"

    plain = prepared(Pager("plain"), message(written, Format.MARKDOWN))
    both = prepared(Pager("plain", "markdown"), message(written, Format.MARKDOWN))
    exact = prepared(Pager("plain"), message(written, Format.PLAIN))

    assert plain == [("b l (https://a.example)", Format.PLAIN)]
    assert both == [(written, Format.MARKDOWN)]
    assert exact == [(written, Format.PLAIN)]


@pytest.mark.requirement("content:format-carried")
async def test_a_later_attempt_has_the_format_from_the_ledger(tmp_path: Path, clock: FakeClock) -> None:
    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous())) as world:
        world.telegram.script.append(TargetUnavailable("away"))
        await world.send("**b**", format="markdown")
        await world.advance(3600)
        await world.telegram.called(2)

        assert [call.message.format for call in world.telegram.calls] == [Format.MARKDOWN] * 2
