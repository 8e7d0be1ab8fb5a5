"""The messenger's file may name other variables for its credentials, and may leave a channel out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from postroom.domain.settings_error import SettingsError
from postroom.doors.butler.modules.channels import EmailConfig, TelegramConfig
from postroom.doors.butler.modules.loading import section_of
from postroom.system.roster.config import MESSENGER, ButlerConfig
from postroom.system.settings import Secret, Settings
from postroom.system.settings.accounts import EmailAccount, EmailSettings, TelegramAccount, TelegramSettings
from postroom.system.settings.shipped import set_up


def with_credentials(settings: Settings, roster: Iterable[ButlerConfig], environment: Mapping[str, str]) -> Settings:
    """A variable that the file names wins over the settings' own credential, as every variable does."""
    messenger = next((config for config in roster if config.name == MESSENGER), None)
    if messenger is None:
        return settings
    telegram, email = _sections(messenger)
    given = {name: value for name, value in environment.items() if value}
    chosen = settings.model_copy(
        update={
            "telegram": settings.telegram.model_copy(update=_token(telegram, given)),
            "email": settings.email.model_copy(update=_mailbox(email, given)),
        }
    )
    if doubled := [name for name in set_up(chosen) if name in chosen.channels]:
        raise SettingsError(
            f"channels.{doubled[0]}: the messenger's file names credentials for it as well; take one of them out."
        )
    return _without_disabled(chosen, telegram, email)


def credentials_by_name(settings: Settings, config: ButlerConfig) -> dict[str, Secret]:
    """What the settings hold, under the names by which the messenger's modules ask for it."""
    telegram, email = _sections(config)
    bot, mailbox = settings.channels.get("telegram", settings.telegram), settings.channels.get("email", settings.email)
    held: dict[str, Secret] = {}
    if telegram is not None and isinstance(bot, TelegramSettings | TelegramAccount):
        held[telegram.bot.token_env] = bot.token
    if email is not None and isinstance(mailbox, EmailSettings | EmailAccount):
        password = Secret("granted") if mailbox.by_token else mailbox.password  # tokens are the channel's own affair
        held |= {email.bot.address_env: Secret(mailbox.address), email.bot.password_env: password}
    return {name: value for name, value in held.items() if value}


def _without_disabled(settings: Settings, telegram: TelegramConfig | None, email: EmailConfig | None) -> Settings:
    """A household with credentials stays a real one when it may not use them."""
    update: dict[str, Any] = {"sandbox": settings.in_sandbox}
    sections = {"telegram": telegram, "email": email}
    disabled = {name for name, section in sections.items() if section is not None and not section.bot.enabled}
    if disabled & settings.channels.keys():
        update["channels"] = {name: one for name, one in settings.channels.items() if name not in disabled}
    if telegram is not None and not telegram.bot.enabled:
        update["telegram"] = settings.telegram.model_copy(update={"token": Secret("")})
    if email is not None and not email.bot.enabled:
        nothing = {"address": "", "from_address": "", "password": Secret("")}
        update["email"] = settings.email.model_copy(update=nothing)
    return settings.model_copy(update=update) if len(update) > 1 else settings


def _token(telegram: TelegramConfig | None, given: Mapping[str, str]) -> dict[str, Any]:
    if telegram is None or telegram.bot.token_env not in given:
        return {}
    return {"token": Secret(given[telegram.bot.token_env])}


def _mailbox(email: EmailConfig | None, given: Mapping[str, str]) -> dict[str, Any]:
    if email is None:
        return {}
    update: dict[str, Any] = {}
    if email.bot.address_env in given:
        update["address"] = given[email.bot.address_env]
    if email.bot.password_env in given:
        update["password"] = Secret(given[email.bot.password_env])
    return update


def _sections(config: ButlerConfig) -> tuple[TelegramConfig | None, EmailConfig | None]:
    telegram, email = section_of(config, "telegram"), section_of(config, "email")
    return (
        telegram if isinstance(telegram, TelegramConfig) else None,
        email if isinstance(email, EmailConfig) else None,
    )
