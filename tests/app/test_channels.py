"""Credentials that cannot be credentials are said to be so in one sentence, which does not repeat them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from postroom.app.channels import build_channels
from postroom.cli.doctor_checks.credentials import look_at_channels, look_at_owner
from postroom.domain.settings_error import SettingsError
from postroom.system.settings import Settings

BAD_TOKEN = "4242:canary bot token"
MAIL = {"address": "butler@example.org", "password": "canary-mail-password"}
UNUSABLE = [
    pytest.param({"telegram": {"token": BAD_TOKEN}}, "telegram: the Telegram bot token is malformed.", id="token"),
    pytest.param(
        {"telegram": {"token": "4242:abc", "api_base_url": "ftp://x"}},
        "telegram: the Telegram API base URL must be a plain http(s) URL.",
        id="base URL",
    ),
    pytest.param(
        {"email": {**MAIL, "from_address": "a@x.org, b@x.org"}},
        "email: from_address must be a single e-mail address.",
        id="two senders",
    ),
    pytest.param(
        {"email": {**MAIL, "smtp_security": "none", "smtp_host": "mail.example.org"}},
        "email: a login needs starttls or tls unless the mail server is on this machine.",
        id="password in the clear",
    ),
]


@pytest.mark.parametrize(("values", "sentence"), UNUSABLE)
def test_a_household_does_not_start_on_them(home: Path, values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError) as refused:
        build_channels(Settings.model_validate({"home": home, **values}), None)

    assert str(refused.value) == sentence


@pytest.mark.parametrize(("values", "sentence"), UNUSABLE)
async def test_the_doctor_tells_of_them_among_everything_else(
    home: Path, values: dict[str, Any], sentence: str
) -> None:
    settings = Settings.model_validate({"home": home, **values})

    (found,) = [one for one in await look_at_channels(settings) if not one.ok]

    assert (found.subject, found.detail) == (sentence.partition(":")[0], sentence)
    assert found.advice
    assert look_at_owner(settings) == []
