"""The buttons under a message that a person has to acknowledge, and what each of them stands for."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from enum import StrEnum
from typing import Final

from postroom.domain.attention import AttentionWish
from postroom.domain.markup import Button, ButtonStyle, Markup
from postroom.domain.risk_and_urgency import Urgency

_SIGNATURE_BYTES: Final = 9
_TOKEN: Final = re.compile(r"n([olm])([0-9a-f]{32})([\w-]{12})", re.ASCII)


class NoticeAct(StrEnum):
    OK = "o"
    LATER = "l"
    MUTE_TODAY = "m"


_LABELS: Final = {NoticeAct.OK: "OK", NoticeAct.LATER: "Later", NoticeAct.MUTE_TODAY: "Mute today"}


def has_buttons(wish: AttentionWish | None) -> bool:
    return wish is not None and (wish.needs_ack or wish.urgency is Urgency.CRITICAL)


def notice_markup(key: bytes, notice_id: str) -> Markup:
    """The same notice always has the same buttons, so one that is sent again after a crash is the same message."""
    styles = {NoticeAct.OK: ButtonStyle.SUCCESS}
    row = [Button(label=_LABELS[act], token=_token(key, act, notice_id), style=styles.get(act)) for act in NoticeAct]
    return Markup(buttons=(tuple(row),))


def read_button(key: bytes, token: str) -> tuple[NoticeAct, str] | None:
    """None for what is no button of ours, and for one that this household did not make."""
    if (found := _TOKEN.fullmatch(token)) is None:
        return None
    act, notice_id = NoticeAct(found[1]), found[2]
    return (act, notice_id) if hmac.compare_digest(_token(key, act, notice_id), token) else None


def _token(key: bytes, act: NoticeAct, notice_id: str) -> str:
    digest = hmac.new(key, f"{act}\x1f{notice_id}".encode(), hashlib.sha256).digest()
    return f"n{act}{notice_id}{base64.urlsafe_b64encode(digest[:_SIGNATURE_BYTES]).decode()}"
