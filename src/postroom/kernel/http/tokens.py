"""Access tokens: one form to a provider's token endpoint (OAuth 2), and what it grants or says instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode

from postroom.kernel.http.answers import json_object
from postroom.kernel.http.call import HttpAnswer, HttpCall
from postroom.kernel.values.errors import OutcomeUncertain, TargetUnavailable

_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
_CODE: Final = re.compile(r"[A-Za-z0-9_]{1,64}")
_USUAL_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    access_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    lasts_seconds: float = _USUAL_SECONDS


class NotGranted(Exception):
    """`code` is the standard's word for why, or empty; nothing else of what the provider said is kept."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code or str(status))
        self.status = status
        self.code = code


async def send_form(service: str, url: str, fields: Mapping[str, str], timeout_seconds: float) -> HttpAnswer:
    """A lost answer is no harm, and no uncertain outcome: access is asked for as often as one likes."""
    call = HttpCall(service)
    try:
        return await call.request("POST", url, timeout_seconds, body=urlencode(fields).encode(), headers=_FORM)
    except OutcomeUncertain:
        raise TargetUnavailable(f"{service} did not answer when we asked for access") from None
    finally:
        await call.close()


def granted(answer: HttpAnswer) -> Granted:
    """Raises NotGranted."""
    told = json_object(answer.body)
    if answer.status == 200 and (token := _text(told.get("access_token"))):
        lasts = told.get("expires_in")
        return Granted(
            access_token=token,
            refresh_token=_text(told.get("refresh_token")),
            lasts_seconds=float(lasts) if isinstance(lasts, int | float) and lasts > 0 else _USUAL_SECONDS,
        )
    code = _text(told.get("error"))
    raise NotGranted(answer.status, code if _CODE.fullmatch(code) else "")


def _text(value: object) -> str:
    return value if isinstance(value, str) and value.isprintable() else ""
