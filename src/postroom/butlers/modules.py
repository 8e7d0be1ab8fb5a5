"""The sections of modules in a butler's file, and those of the messenger's bots."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class ModuleConfig(BaseModel):
    """The keys of a module's section; a key that is not declared is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, use_attribute_docstrings=True)


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
