"""The few settings with which a command reaches a running household, read without the model of all of them."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from postroom.kernel.running.process import Secret
from postroom.kernel.values.errors import SettingsError
from postroom.kernel.values.fields import web_address
from postroom.settings import butlers as shipped
from postroom.settings.written import SHIPPED, gather

if TYPE_CHECKING:
    from postroom.settings.model import Settings

_OF_COMMANDS: Final = "home url token roster host endpoints delivery channels ports"
_OF_THE_HOUSEHOLD: Final = (
    "database_url redis_url allowed_hosts allowed_origins sandbox limits retry breaker timeouts messages ask questions "
    "approvals inbox desk serving postgres retention household owner contacts connectors telemetry attention "
    "conversations"
)
KEYS: Final = frozenset((*_OF_COMMANDS.split(), *SHIPPED, *_OF_THE_HOUSEHOLD.split()))
_SHIPPED: Final = Path(shipped.__path__[0])
_LONGEST_WAIT_SECONDS: Final = 600.0
_API_PORT: Final = 40200  # as in the model of all settings


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsGlance:
    home: Path
    url: str = ""
    token: Secret = field(default_factory=lambda: Secret(""))
    host: str = "127.0.0.1"
    roster: Path = _SHIPPED
    endpoints: Mapping[str, str] = field(default_factory=dict)
    ports: Mapping[str, int] = field(default_factory=dict)
    channels: frozenset[str] = frozenset(SHIPPED)
    notify_wait_seconds: float = 20.0

    @property
    def tokens_file(self) -> Path:
        return self.home / "tokens.json"

    @property
    def own_api_url(self) -> str:
        """Of the household that runs here."""
        port = self.ports.get("api", _API_PORT)
        if port == 0:
            raise SettingsError("ports.api is 0, so only the household knows its port: set POSTROOM_URL to it.")
        return web_address(self.host, port)

    def url_of(self, butler: str) -> str | None:
        """None for a butler whose place is not plain to see."""
        if butler in self.endpoints:
            return self.endpoints[butler]
        try:
            own = tomllib.loads((self.roster / butler / "butler.toml").read_text(encoding="utf-8"))["butler"]
            port = self.ports[butler] if butler in self.ports else own["port"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return f"{web_address(self.host, port)}/mcp" if isinstance(port, int) and port and "/" not in butler else None


def glance(environment: Mapping[str, str], overrides: Mapping[str, Any]) -> SettingsGlance:
    """What is not plainly right is left to the model, which knows what to say about it."""
    values = gather(environment, overrides).values
    try:
        if values.keys() <= KEYS:
            return _glanced(values)
    except (TypeError, ValueError):
        pass
    from postroom.settings.load import load

    return of_settings(load(environment, overrides)[0])


def glance_from_process(overrides: Mapping[str, Any]) -> SettingsGlance:
    return glance(os.environ, overrides)


def of_settings(settings: Settings) -> SettingsGlance:
    return SettingsGlance(
        home=settings.home,
        url=settings.url,
        token=settings.token,
        host=settings.host,
        roster=settings.roster or _SHIPPED,
        endpoints=settings.endpoints,
        ports={name: getattr(settings.ports, name) for name in settings.ports.model_fields_set},
        channels=frozenset(SHIPPED) | settings.channels.keys(),
        notify_wait_seconds=settings.delivery.notify_wait_seconds,
    )


def _glanced(values: Mapping[str, Any]) -> SettingsGlance:
    delivery, channels = _table(values, "delivery"), _table(values, "channels")
    found: dict[str, Any] = {name: _text(values[name]) for name in ("url", "host") if name in values}
    if "token" in values:
        found["token"] = Secret(_text(values["token"]))
    if "roster" in values:
        found["roster"] = Path(_text(values["roster"]))
    if "notify_wait_seconds" in delivery:
        found["notify_wait_seconds"] = _wait(delivery["notify_wait_seconds"])
    return SettingsGlance(
        home=values["home"],
        endpoints={name: _text(url) for name, url in _table(values, "endpoints").items()},
        ports={name: _port(port) for name, port in _table(values, "ports").items()},
        channels=frozenset(SHIPPED) | channels.keys(),
        **found,
    )


def _table(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = values.get(name, {})
    if not isinstance(table, dict):
        raise TypeError(name)
    return table


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _port(value: object) -> int:
    port = value if type(value) is int else int(_text(value))
    if not 0 <= port <= 65535:
        raise ValueError(port)
    return port


def _wait(value: object) -> float:
    seconds = float(value if isinstance(value, float) or type(value) is int else _text(value))
    if not 0 <= seconds <= _LONGEST_WAIT_SECONDS:
        raise ValueError(seconds)
    return seconds
