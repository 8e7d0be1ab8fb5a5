"""What a module offers to the butler that loads it, and the modules of the messenger's bots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel, ConfigDict

from postroom.butlers.calendar.calendar import CalendarSource
from postroom.kernel.guard.tools import Rule
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.process import Secret
from postroom.kernel.values.errors import TargetUnavailable


class ModuleConfig(BaseModel):
    """The keys of a module's section; a key that is not declared is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, use_attribute_docstrings=True)


class Calendars(Protocol):
    """Opens the calendar that a module's section names, with its client id, client secret and refresh token."""

    def __call__(self, config: Any, secrets: Sequence[Secret]) -> CalendarSource: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleContext:
    """Of the butler that loads it. `environment` holds variables that a module may look up by name."""

    butler: str
    clock: Clock
    calendars: Calendars
    environment: Mapping[str, Secret] = field(default_factory=dict)
    in_sandbox: bool = False


class Module(Protocol):
    """
    `start` may fail, which leaves the butler degraded and without these tools;
    `tools` is called once after it; `stop` is called after a `start` that succeeded.
    """

    @property
    def name(self) -> str: ...

    @property
    def config(self) -> type[ModuleConfig]: ...

    async def start(self, config: Any, context: ModuleContext) -> None:
        """`config` is an instance of this module's own model."""
        ...

    def tools(self, server: MCPServer[Any]) -> Mapping[str, Rule]:
        """Adds the tools and says who may call each."""
        ...

    async def stop(self) -> None: ...


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


class ChannelModule:
    """Its tools are the messenger's own; starting it says whether they can work."""

    def __init__(self, name: str, config: type[TelegramConfig] | type[EmailConfig]) -> None:
        self.name = name
        self.config = config

    async def start(self, config: TelegramConfig | EmailConfig, context: ModuleContext) -> None:
        if config.user.enabled:
            raise TargetUnavailable(f"modules.{self.name}.user cannot be enabled: only bots send")
        missing = [name for name in variables(config) if not context.environment.get(name)]
        if config.bot.enabled and missing and not context.in_sandbox:
            raise TargetUnavailable(f"no credentials: {', '.join(missing)} is not set")

    def tools(self, server: MCPServer[Any]) -> Mapping[str, Rule]:
        return {}

    async def stop(self) -> None:
        """The channel is closed by the delivery plane, which owns it."""


def variables(config: TelegramConfig | EmailConfig) -> tuple[str, ...]:
    if isinstance(config, TelegramConfig):
        return (config.bot.token_env,)
    return (config.bot.address_env, config.bot.password_env)


def telegram() -> ChannelModule:
    return ChannelModule("telegram", TelegramConfig)


def email() -> ChannelModule:
    return ChannelModule("email", EmailConfig)
