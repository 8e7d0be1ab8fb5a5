"""The sections of modules in a butler's file, and those of the messenger's bots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

from postroom.kernel.running.clock import Clock
from postroom.kernel.running.process import Secret
from postroom.kernel.values.errors import TargetUnavailable


class ModuleConfig(BaseModel):
    """The keys of a module's section; a key that is not declared is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, use_attribute_docstrings=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleContext:
    """Of the butler that loads it. `environment` holds variables that a module may look up by name."""

    butler: str
    clock: Clock
    environment: Mapping[str, Secret] = field(default_factory=dict)
    in_sandbox: bool = False


# The modules that make the messenger the one who sends: those of channels, each as a bot.


class UserScope(ModuleConfig):
    """Writing as a person is not offered; the key is there to say so."""

    enabled: bool = False
    """Must stay off: only bots send."""


class BotScope(ModuleConfig):
    """A channel's folder adds a key `OPTION_env` for each credential: the variable that holds it."""

    enabled: bool = True
    """Off: the messenger does not send there."""

    @property
    def variables(self) -> dict[str, str]:
        """By the option of the settings that each stands for."""
        named = (name for name in type(self).model_fields if name.endswith("_env"))
        return {name.removesuffix("_env"): getattr(self, name) for name in named}


class ChannelModule(ModuleConfig):
    user: UserScope = UserScope()
    bot: BotScope = BotScope()


def check_channel(name: str, config: ChannelModule, context: ModuleContext) -> None:
    """Whether the messenger's own tools for this channel can work; the channel itself is the delivery plane's."""
    if config.user.enabled:
        raise TargetUnavailable(f"modules.{name}.user cannot be enabled: only bots send")
    missing = [name for name in config.bot.variables.values() if not context.environment.get(name)]
    if config.bot.enabled and missing and not context.in_sandbox:
        raise TargetUnavailable(f"no credentials: {', '.join(missing)} is not set")
