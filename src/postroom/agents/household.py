"""How an agent in any process reaches a household: in memory when it has one at hand, else over MCP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast

from postroom.domain.attention_wish import wish_object
from postroom.domain.errors import PostroomError, ValidationError
from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.domain.settings_error import SettingsError
from postroom.doors.guard.tokens import TokenFile
from postroom.doors.notifications.contract import CONVERSATION_META, CORRELATION_META, NAME, USER_META
from postroom.system.settings.load import from_process
from postroom.work.inbox import answers
from postroom.work.inbox.answers import Answer
from postroom.work.inbox.request import Checked, Request, check
from postroom.world.peers.http import HttpPeer

TIMEOUT_SECONDS: Final = 30.0
NO_HOUSEHOLD: Final = "no household was found; start one with `postroom up`, or set POSTROOM_URL and POSTROOM_TOKEN"


class Household(Protocol):
    """Whatever takes notifications: the inbox in this process, or a way to one elsewhere."""

    async def send(self, request: Request) -> Answer: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteHousehold:
    """A household's API port. A person's token writes to that person; the operator's to anybody."""

    url: str
    token: str = field(repr=False)

    async def send(self, request: Request) -> Answer:
        try:
            checked = check(request)
        except ValidationError as error:
            return answers.validation_error(error.message)
        arguments = {"message": checked.message, "type": str(checked.type), **wish_object(checked.wish)}
        peer = HttpPeer("the household", f"{self.url.rstrip('/')}/mcp", self.token)
        try:
            return _answer(await peer.call(NAME, arguments, TIMEOUT_SECONDS, meta=_meta(checked)))
        except PostroomError:
            return answers.failed("the household cannot be reached or does not accept the token")
        finally:
            await peer.close()


class LocalHousehold:
    """The one the settings name, or the one on this machine; looked for at each call, so that it may come and go."""

    async def send(self, request: Request) -> Answer:
        try:
            settings, _ = from_process()
        except SettingsError:
            return answers.failed("the settings cannot be read")
        token = settings.token.reveal() or _token_of(TokenFile(settings.tokens_file), str(request.user_id).strip())
        if token is None:
            return answers.failed(NO_HOUSEHOLD)
        return await RemoteHousehold(url=settings.api_url, token=token).send(request)


def _token_of(tokens: TokenFile, user_id: str) -> str | None:
    """The person's own where there is one; whoever can read the operator's may write to anybody anyway."""
    try:
        own = (tokens.token_of(Principal(role, user_id)) for role in (Role.USER, Role.PERSON))
        return next(filter(None, own), None) or tokens.token_of(OPERATOR)
    except (OSError, ValueError, SettingsError):
        return None


def _meta(checked: Checked) -> dict[str, Any]:
    meta = {
        USER_META: checked.user_id,
        CONVERSATION_META: checked.conversation_id,
        CORRELATION_META: checked.correlation_id,
    }
    return {name: value for name, value in meta.items() if value is not None}


def _answer(content: Mapping[str, Any]) -> Answer:
    if {"success", "action", "message"} <= content.keys():
        return cast(Answer, dict(content))
    return answers.failed("the household gave no answer")
