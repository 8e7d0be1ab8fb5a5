"""Every account of the household with what it can do and how it is doing, for people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields

from postroom.kernel.acts.declaration import Act, Call, HttpRoute, Shape, act
from postroom.kernel.http.answers import JsonObject
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import PEOPLE
from postroom.message.channel import AccountHealth, Capabilities, ListedAccount


class TroubleBody(Shape):
    """What keeps it from hearing people, and since when."""

    sentence: str
    since: str


class ChannelBody(Shape):
    name: str
    kind: str
    configured: bool
    capabilities: JsonObject
    health: AccountHealth | None
    trouble: TroubleBody | None


class ChannelsAnswer(Shape):
    ok: bool = True
    channels: list[ChannelBody]


@act(by=PEOPLE, route=HttpRoute("GET /v1/channels", "channels", refusals=(401, 403, 503)))
class ListChannels(Act[ChannelsAnswer]):
    """Every account with what it can do and how it is doing"""

    async def do(self, call: Call[Callable[[], Awaitable[Sequence[ListedAccount]]]]) -> ChannelsAnswer:
        return ChannelsAnswer(channels=[_channel(one) for one in await call.work()])


def _channel(account: ListedAccount) -> ChannelBody:
    trouble = account.trouble
    return ChannelBody(
        name=account.name,
        kind=account.kind,
        configured=account.configured,
        capabilities=_capabilities(account.capabilities),
        health=account.health,
        trouble=TroubleBody(sentence=trouble.sentence, since=to_text(trouble.since_us)) if trouble else None,
    )


def _capabilities(can: Capabilities) -> JsonObject:
    """A thread's identity as a caller is told to write it."""
    told = {one.name: getattr(can, one.name) for one in fields(can)}
    form = can.thread_identity
    return {**told, "formats": list(can.formats), "thread_identity": form.words if form else None}
