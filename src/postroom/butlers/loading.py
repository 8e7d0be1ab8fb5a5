"""The modules a butler's file asks for; one that fails leaves the butler degraded, not dead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from functools import cache
from typing import Any

import structlog
from pydantic import ValidationError

from postroom.butlers.calendar.module import CalendarConfig, CalendarModule
from postroom.butlers.modules import ChannelModule, ModuleConfig
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import SettingsError
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


def failing_modules(config: ButlerConfig, settings: Settings, environment: Mapping[str, Secret]) -> dict[str, str]:
    """Every module of the file with why it cannot work, or nothing. A channel itself is the delivery plane's."""
    failing = dict.fromkeys(sorted(config.modules), "")
    for name, module in _sending(config).items():
        missing = [variable for variable in module.bot.variables.values() if not environment.get(variable)]
        if module.user.enabled:
            failing[name] = f"modules.{name}.user cannot be enabled: only bots send"
        elif module.bot.enabled and missing and not settings.in_sandbox:
            failing[name] = f"no credentials: {', '.join(missing)} is not set"
        if failing[name]:
            structlog.get_logger("postroom.modules").warning("module.failed", butler=config.name, module=name)
    return failing


def calendar_of(config: ButlerConfig, environment: Mapping[str, Secret], clock: Clock) -> CalendarModule | None:
    """The caller stops it."""
    section = section_of(config, "calendar")
    return CalendarModule(section, environment, clock) if isinstance(section, CalendarConfig) else None


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
