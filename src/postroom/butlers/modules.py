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


# The modules that make the messenger the one who sends: telegram and email, as bots.


class UserScope(ModuleConfig):
    """Writing as a person is not offered; the key is there to say so."""

    enabled: bool = False
    """Must stay off: only bots send."""


class TelegramBot(ModuleConfig):
    enabled: bool = True
    """Off: the messenger does not send over Telegram."""
    token_env: str = "BUTLER_TELEGRAM_TOKEN"  # noqa: S105  # the name of a variable
    """The variable that holds the bot's token."""


class TelegramConfig(ModuleConfig):
    user: UserScope = UserScope()
    bot: TelegramBot = TelegramBot()


class EmailBot(ModuleConfig):
    enabled: bool = True
    """Off: the messenger sends no e-mail."""
    address_env: str = "BUTLER_EMAIL_ADDRESS"
    """The variable that holds the mailbox."""
    password_env: str = "BUTLER_EMAIL_PASSWORD"  # noqa: S105  # the name of a variable
    """The variable that holds its password."""


class EmailConfig(ModuleConfig):
    user: UserScope = UserScope()
    bot: EmailBot = EmailBot()


def check_channel(name: str, config: TelegramConfig | EmailConfig, context: ModuleContext) -> None:
    """Whether the messenger's own tools for this channel can work; the channel itself is the delivery plane's."""
    if config.user.enabled:
        raise TargetUnavailable(f"modules.{name}.user cannot be enabled: only bots send")
    missing = [name for name in variables(config) if not context.environment.get(name)]
    if config.bot.enabled and missing and not context.in_sandbox:
        raise TargetUnavailable(f"no credentials: {', '.join(missing)} is not set")


def variables(config: TelegramConfig | EmailConfig) -> tuple[str, ...]:
    if isinstance(config, TelegramConfig):
        return (config.bot.token_env,)
    return (config.bot.address_env, config.bot.password_env)
