from __future__ import annotations

import pytest

from postroom.cli.doctor_checks.webhook import hook_finding
from postroom.domain.push_state import PushState
from postroom.world.channels.telegram_webhook import HookInfo

OURS = "https://post.example.org/channels/telegram/webhook"
FAILED = PushState(waiting=2, error="Wrong response from the webhook: 502 Bad Gateway", error_at_us=1_000_000)


@pytest.mark.requirement("talk:webhook")
@pytest.mark.parametrize(
    ("url", "state", "ok", "words"),
    [
        (OURS, PushState(), True, f"Telegram brings updates to {OURS}"),
        (OURS, FAILED, False, "2 updates wait for the webhook; it last failed "),
        (OURS, PushState(error="x", error_at_us=1_000_000), True, "it last failed "),
        ("", PushState(), True, "no webhook is set yet"),
        ("https://other.example", PushState(), False, "another one"),
    ],
)
def test_the_doctor_says_how_telegram_fares_with_the_webhook(url: str, state: PushState, ok: bool, words: str) -> None:
    found = hook_finding("telegram", "@bot", HookInfo(url=url, state=state), OURS)

    assert found.ok is ok
    assert words in found.detail
