"""The notices a command speaks of: on this machine's database, or of a household elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlencode

from postroom.cli.elsewhere import Elsewhere, ElsewhereError, elsewhere, path_of
from postroom.domain.principal import OWNER
from postroom.system.settings import Settings
from postroom.system.settings.household import machine_zone

if TYPE_CHECKING:
    from postroom.domain.principal import Principal
    from postroom.doors.attention.acts import AttentionActs

Document = dict[str, Any]
Result = TypeVar("Result")


class AttentionDesk(Protocol):
    """Every document is as REST answers it."""

    def zone(self) -> str:
        """In which whoever asks is told of moments."""
        ...

    def policy(self, who: str) -> Document: ...

    def set_policy(self, who: str, policy: Document | None) -> Document: ...

    def figures(self, who: str) -> Document: ...

    def person_plan(self, who: str) -> list[Document]: ...

    def notice_plan(self, notice_id: str) -> list[Document]: ...

    def preview(self, who: str, policy: Document, replay_seconds: int) -> Document: ...

    def on_notice(self, notice_id: str, act: str, body: Document) -> Document:
        """`ack`, `snooze` or `withdraw`."""
        ...

    def withdraw_key(self, key: str) -> list[Document]: ...

    def on_person(self, who: str, act: str, body: Document) -> Document:
        """`mute`, `unmute` or `away`."""
        ...


def attention_desk(settings: Settings, *chosen_here: str | None) -> AttentionDesk:
    there = elsewhere(settings, *chosen_here)
    return AttentionThere(there) if there is not None else AttentionHere(settings)


class AttentionHere:
    """The same work as behind the API, without one, as the owner."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def zone(self) -> str:
        return str(self.policy(OWNER)["rules"]["zone"])

    def policy(self, who: str) -> Document:
        return self._with(lambda acts, me: acts.policy(me, who))

    def set_policy(self, who: str, policy: Document | None) -> Document:
        return self._with(lambda acts, me: acts.set_policy(me, who, policy))

    def figures(self, who: str) -> Document:
        return self._with(lambda acts, me: acts.figures(me, who))

    def person_plan(self, who: str) -> list[Document]:
        return self._with(lambda acts, me: acts.person_plan(me, who))

    def notice_plan(self, notice_id: str) -> list[Document]:
        return self._with(lambda acts, me: acts.notice_plan(me, notice_id))

    def preview(self, who: str, policy: Document, replay_seconds: int) -> Document:
        return self._with(lambda acts, me: acts.preview(me, who, policy, replay_seconds))

    def on_notice(self, notice_id: str, act: str, body: Document) -> Document:
        if act == "snooze":
            return self._with(lambda acts, me: acts.snooze(me, notice_id, body))
        return self._with(lambda acts, me: getattr(acts, act)(me, notice_id))

    def withdraw_key(self, key: str) -> list[Document]:
        return self._with(lambda acts, me: acts.withdraw_key(me, key))

    def on_person(self, who: str, act: str, body: Document) -> Document:
        return self._with(lambda acts, me: getattr(acts, act)(me, who, body))

    def _with(self, act: Callable[[AttentionActs, Principal], Awaitable[Result]]) -> Result:
        from postroom.app.attention_doors import opened_attention
        from postroom.domain.principal import OPERATOR

        async def work() -> Result:
            async with opened_attention(self._settings) as acts:
                return await act(acts, OPERATOR)

        return asyncio.run(work())


class AttentionThere:
    def __init__(self, household: Elsewhere) -> None:
        self._household = household

    def zone(self) -> str:
        """Only people have a policy; of others it is this machine's."""
        try:
            return str(self.policy(OWNER)["rules"]["zone"])
        except ElsewhereError:
            return machine_zone()

    def policy(self, who: str) -> Document:
        return _told(self._household.get(path_of("people", who, "attention")))

    def set_policy(self, who: str, policy: Document | None) -> Document:
        path = path_of("people", who, "attention")
        return _told(self._household.delete(path) if policy is None else self._household.put(path, policy))

    def figures(self, who: str) -> Document:
        return _told(self._household.get(path_of("people", who, "attention/figures")))

    def person_plan(self, who: str) -> list[Document]:
        return list(self._household.get(path_of("people", who, "attention/plan"))["plan"])

    def notice_plan(self, notice_id: str) -> list[Document]:
        return list(self._household.get(path_of("notices", notice_id, "plan"))["plan"])

    def preview(self, who: str, policy: Document, replay_seconds: int) -> Document:
        path = f"{path_of('people', who, 'attention/preview')}?{urlencode({'replay_seconds': replay_seconds})}"
        return _told(self._household.post(path, policy))

    def on_notice(self, notice_id: str, act: str, body: Document) -> Document:
        notice: Document = self._household.post(path_of("notices", notice_id, act), body)["notice"]
        return notice

    def withdraw_key(self, key: str) -> list[Document]:
        return list(self._household.post(path_of("notices", "withdraw"), {"key": key})["notices"])

    def on_person(self, who: str, act: str, body: Document) -> Document:
        return _told(self._household.post(path_of("people", who, act), body))


def _told(answer: Document) -> Document:
    return {name: value for name, value in answer.items() if name != "ok"}
