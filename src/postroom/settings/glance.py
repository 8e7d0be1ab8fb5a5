"""What was written in the settings, and the few of them with which a command reaches a household: no model is read."""

from __future__ import annotations

import json
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
from postroom.settings.connections import home_of

if TYPE_CHECKING:
    from postroom.settings.model import Settings

# The accounts that have a section of their own in the settings; every other channel stands under `[channels]`.
SHIPPED: Final = ("telegram", "email")  # in the order they are tried
SPOKEN: Final = " or ".join(SHIPPED)
DEFAULT_CHANNEL: Final = SHIPPED[0]

# -- What was written, and where; nothing of it is checked yet ---

# The three names the messenger's specification gives to its credentials.
CREDENTIALS = {
    "BUTLER_TELEGRAM_TOKEN": ("telegram", "token"),
    "BUTLER_EMAIL_ADDRESS": ("email", "address"),
    "BUTLER_EMAIL_PASSWORD": ("email", "password"),
}
_NOT_KEYS = {"POSTROOM_CONFIG"}
_NOT_OURS = "POSTROOM_TEST_"  # where the tests find their own servers


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    values: dict[str, Any]
    sources: dict[str, str]  # for every key that was set, where it came from
    file: Path


def gather(environment: Mapping[str, str], overrides: Mapping[str, Any]) -> Gathered:
    sources: dict[str, str] = {}
    home = home_of(environment, overrides.get("home"))
    file = Path(environment.get("POSTROOM_CONFIG") or home / "postroom.toml")
    values = _from_file(file, sources, required="POSTROOM_CONFIG" in environment)
    _merge(values, _from_file(home / "secrets.toml", sources))
    for name, value in _from_environment(environment).items():
        _set(values, name, value[0])
        sources[".".join(name)] = value[1]
    for key, override in overrides.items():
        if override is not None:
            _set(values, tuple(key.split(".")), override)
            sources[key] = "command line"
    values["home"] = home
    return Gathered(values=values, sources=sources, file=file)


def _from_file(file: Path, sources: dict[str, str], *, required: bool = False) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        if required:
            raise SettingsError(
                f"{file}: no such file, though POSTROOM_CONFIG names it; correct or unset that variable."
            ) from None
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: cannot be read ({error}); check its owner and its mode.") from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file}: is not valid TOML ({error}); mend that line.") from None
    for key in _keys(values):
        sources[key] = str(file)
    return values


def _keys(values: Mapping[str, Any], prefix: str = "") -> list[str]:
    found: list[str] = []
    for name, value in values.items():
        key = f"{prefix}{name}"
        found += _keys(value, f"{key}.") if isinstance(value, dict) else [key]
    return found


def _from_environment(environment: Mapping[str, str]) -> dict[tuple[str, ...], tuple[Any, str]]:
    found: dict[tuple[str, ...], tuple[Any, str]] = {}
    for variable, key in CREDENTIALS.items():
        if environment.get(variable):
            found[key] = (environment[variable], variable)
    for variable, text in environment.items():
        if not variable.startswith("POSTROOM_") or variable in _NOT_KEYS or variable.startswith(_NOT_OURS):
            continue
        path = tuple(variable.removeprefix("POSTROOM_").lower().split("__"))
        found[path] = (_value(text), variable)
    return found


def _value(text: str) -> Any:
    """Tables and lists are written as JSON; everything else is read by its type."""
    if text[:1] in ("{", "["):
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return text
    return text


def _set(values: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        inner = values.setdefault(name, {})
        if not isinstance(inner, dict):
            inner = values[name] = {}
        values = inner
    values[path[-1]] = value


def _merge(values: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, value in more.items():
        if isinstance(value, dict) and isinstance(values.get(name), dict):
            _merge(values[name], value)
        else:
            values[name] = value


# -- The few settings that a command needs ---

KEYS: Final = frozenset(
    {
        *("home", "url", "token", "database_url", "redis_url", "roster", "host", "allowed_hosts", "allowed_origins"),
        *(
            "endpoints",
            "sandbox",
            "limits",
            "retry",
            "breaker",
            "timeouts",
            "delivery",
            "messages",
            *SHIPPED,
        ),
        *(
            "ask",
            "questions",
            "approvals",
            "inbox",
            "desk",
            "serving",
            "postgres",
            "retention",
            "household",
            "owner",
            "contacts",
            "connectors",
        ),
        *("channels", "ports", "telemetry", "attention", "conversations"),
    }
)
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
