"""Loads the modules a butler's file asks for; one that fails leaves the butler degraded, not dead."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import structlog
from pydantic import ValidationError

from postroom.butlers.calendar.module import CalendarConfig, CalendarModule
from postroom.butlers.modules import EmailConfig, ModuleContext, TelegramConfig, check_channel
from postroom.kernel.values.errors import SettingsError, TargetUnavailable
from postroom.kernel.values.fields import did_you_mean, words
from postroom.settings import Secret, Settings
from postroom.settings.accounts import EmailAccount, EmailSettings, TelegramAccount, TelegramSettings
from postroom.settings.load import unknown_key
from postroom.settings.model import set_up
from postroom.settings.roster import MESSENGER, ButlerConfig, RosterError

Section = CalendarConfig | TelegramConfig | EmailConfig
MODULES: Final[Mapping[str, type[Section]]] = {
    "calendar": CalendarConfig,
    "email": EmailConfig,
    "telegram": TelegramConfig,
}


@dataclass(slots=True)
class LoadedModules:
    """`failures` has every module of the file, with why it could not be started."""

    failures: dict[str, str | None] = field(default_factory=dict)
    calendar: CalendarModule | None = None

    def states(self) -> dict[str, dict[str, str]]:
        return {
            name: {"status": "failed", "phase": "startup", "error": why} if why else {"status": "ok"}
            for name, why in self.failures.items()
        }


@asynccontextmanager
async def loaded_modules(config: ButlerConfig, context: ModuleContext) -> AsyncIterator[LoadedModules]:
    """In the order of their names."""
    loaded = LoadedModules()
    for name in sorted(config.modules):
        loaded.failures[name] = None
        section = section_of(config, name)
        if isinstance(section, CalendarConfig):
            loaded.calendar = CalendarModule(section, context)
        elif section is not None:
            try:
                check_channel(name, section, context)
            except TargetUnavailable as error:
                loaded.failures[name] = str(error)
                structlog.get_logger("postroom.modules").warning(
                    "module.failed", butler=context.butler, module=name, error=type(error).__name__
                )
    try:
        yield loaded
    finally:
        if loaded.calendar is not None:
            await loaded.calendar.stop()


def check_modules(config: ButlerConfig) -> None:
    """Everything about modules that can be wrong in a file, before anything is started."""
    for name in config.modules:
        section_of(config, name)


def section_of(config: ButlerConfig, name: str) -> Section | None:
    """What the file says about one module; None when it does not name it."""
    if name not in config.modules:
        return None
    if name not in MODULES:
        known, hint = ", ".join(sorted(MODULES)), did_you_mean(name, MODULES)
        raise RosterError(
            f"{config.name}/butler.toml: modules.{name}: there is no such module{hint} There are {known}."
        )
    kind = MODULES[name]
    try:
        return kind.model_validate(config.modules[name])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in ("modules", name, *first["loc"]))
        told = f"{words(first)}."
        if first["type"] == "extra_forbidden":
            told = f"unknown key{unknown_key(kind, first['loc'])}"
        raise RosterError(f"{config.name}/butler.toml: {key}: {told}") from None


# The messenger's file may name other variables for its credentials, and may leave a channel out.


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
