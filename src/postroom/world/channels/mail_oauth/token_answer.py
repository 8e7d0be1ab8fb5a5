"""What a provider's token endpoint says: a token, not yet, or no."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from postroom.domain.errors import CredentialsRefused, OutcomeUncertain, PostroomError, TargetUnavailable
from postroom.world.http.http_call import HttpAnswer, HttpCall

CALL_SECONDS: Final = 30.0
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
_USUAL_SECONDS: Final = 3600.0
_NO_MORE: Final = frozenset({"invalid_grant", "invalid_client", "unauthorized_client", "interaction_required"})


class NotYet(Exception):
    """The person has not decided; `slower` when we ask too often."""

    def __init__(self, *, slower: bool) -> None:
        super().__init__("not decided yet")
        self.slower = slower


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    access_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    lasts_seconds: float = _USUAL_SECONDS


async def ask(title: str, url: str, fields: dict[str, str]) -> HttpAnswer:
    """One POST of a form. A lost answer is no harm: tokens are renewed as often as one asks."""
    call = HttpCall(title)
    failure: PostroomError | None = None
    try:
        return await call.request("POST", url, CALL_SECONDS, body=urlencode(fields).encode(), headers=_FORM)
    except OutcomeUncertain:
        failure = TargetUnavailable(f"{title} did not answer when we asked for access to the mailbox")
    finally:
        await call.close()
    raise failure


def granted(title: str, answer: HttpAnswer, again: str) -> Granted:
    """`again` is what one does to be let in anew. Raises NotYet, or one of our errors, without any words of theirs."""
    told = document(answer)
    if answer.status == 200 and isinstance(token := told.get("access_token"), str) and token:
        lasts = told.get("expires_in")
        return Granted(
            access_token=token,
            refresh_token=_text(told.get("refresh_token")),
            lasts_seconds=float(lasts) if isinstance(lasts, int | float) and lasts > 0 else _USUAL_SECONDS,
        )
    code = _text(told.get("error"))[:64]
    if code in ("authorization_pending", "slow_down"):
        raise NotYet(slower=code == "slow_down")
    if code in _NO_MORE or answer.status in (400, 401, 403):
        said = f" ({code})" if code.replace("_", "").isalnum() else ""
        raise CredentialsRefused(f"{title} does not let us into the mailbox any more{said}: {again}")
    raise TargetUnavailable(f"{title} gave no access to the mailbox just now ({answer.status})")


def document(answer: HttpAnswer) -> dict[str, Any]:
    try:
        told = json.loads(answer.body)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) and value.isprintable() else ""
