"""Loads the modules a butler's file asks for; one that fails leaves the butler degraded, not dead."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import structlog
from pydantic import ValidationError

from postroom.butlers.calendar.module import CalendarConfig, CalendarModule
from postroom.butlers.modules import ChannelModule, ModuleConfig, ModuleContext, check_channel
from postroom.kernel.values.errors import SettingsError, TargetUnavailable
from postroom.kernel.values.fields import did_you_mean, words
from postroom.settings import Secret, Settings
from postroom.settings.accounts import AccountOptions, channel_kind, section_named
from postroom.settings.load import unknown_key
from postroom.settings.model import set_up
from postroom.settings.roster import MESSENGER, ButlerConfig, RosterError
from postroom.settings.written import SHIPPED


@cache
def module_kinds() -> Mapping[str, type[ModuleConfig]]:
    """What a butler's file may name, with the keys of each."""
    sending = {name: channel_kind(name).module for name in SHIPPED}
    channels = {name: one for name, one in sending.items() if one is not None and issubclass(one, ChannelModule)}
    return {"calendar": CalendarConfig, **channels}


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
        elif isinstance(section, ChannelModule):
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


def section_of(config: ButlerConfig, name: str) -> ModuleConfig | None:
    """What the file says about one module; None when it does not name it."""
    if name not in config.modules:
        return None
    kinds = module_kinds()
    if name not in kinds:
        known, hint = ", ".join(sorted(kinds)), did_you_mean(name, kinds)
        raise RosterError(
            f"{config.name}/butler.toml: modules.{name}: there is no such module{hint} There are {known}."
        )
    kind = kinds[name]
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
    modules = _sending(messenger)
    given = {name: value for name, value in environment.items() if value}
    named = {name: _named(getattr(settings, name), one.bot.variables, given) for name, one in modules.items()}
    chosen = settings.model_copy(update=named)
    if doubled := [name for name in set_up(chosen) if name in chosen.channels]:
        raise SettingsError(
            f"channels.{doubled[0]}: the messenger's file names credentials for it as well; take one of them out."
        )
    return _without_disabled(chosen, {name for name, one in modules.items() if not one.bot.enabled})


def credentials_by_name(settings: Settings, config: ButlerConfig) -> dict[str, Secret]:
    """What the settings hold, under the names by which the messenger's modules ask for it."""
    held: dict[str, Secret] = {}
    for name, module in _sending(config).items():
        options = settings.channels.get(name, getattr(settings, name))
        held |= {variable: options.credential(option) for option, variable in module.bot.variables.items()}
    return {name: value for name, value in held.items() if value}


def _named(options: AccountOptions, variables: Mapping[str, str], given: Mapping[str, str]) -> AccountOptions:
    found = {option: given[variable] for option, variable in variables.items() if variable in given}
    secret = {option for option in found if isinstance(getattr(options, option), Secret)}
    return options.model_copy(
        update={option: Secret(value) if option in secret else value for option, value in found.items()}
    )


def _without_disabled(settings: Settings, disabled: Set[str]) -> Settings:
    """A household with credentials stays a real one when it may not use them."""
    if not disabled:
        return settings
    update: dict[str, Any] = {name: section_named(name)() for name in disabled}
    update["channels"] = {name: one for name, one in settings.channels.items() if name not in disabled}
    return settings.model_copy(update={"sandbox": settings.in_sandbox, **update})


def _sending(config: ButlerConfig) -> dict[str, ChannelModule]:
    """The modules of channels that the file names."""
    sections = {name: section_of(config, name) for name in SHIPPED}
    return {name: one for name, one in sections.items() if isinstance(one, ChannelModule)}
