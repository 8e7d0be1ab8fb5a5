"""The butlers of a household: what a butler.toml may say, how it can be wrong, and where each listens."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from postroom.kernel.values.errors import UserError
from postroom.kernel.values.fields import web_address, words
from postroom.settings import Settings
from postroom.settings.load import MissingVariable, resolve, unknown_key
from postroom.settings.written import SHIPPED

MESSENGER: Final = "messenger"
_RESERVED: Final = frozenset({"inbox", "approvals", "intents", "operator", "sandbox", "api", "worker"})
_GATED_TOOLS: Final = (*(f"{name}_send_message" for name in SHIPPED), "notify")
_SENDING_MODULES: Final = frozenset(SHIPPED)
_ANY_DAY: Final = datetime(2000, 1, 1, tzinfo=UTC)  # from here a day comes within 50 years or never
_NAME: Final = r"^[a-z][a-z0-9_-]{0,40}$"


class RosterError(UserError):
    """What is wrong with the roster, naming file and key."""


class RosterTable(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class DatabasePlace(RosterTable):
    name: str = "butlers"
    """Recorded only: `database_url` of the settings chooses the database."""
    schema_name: Annotated[str, Field(alias="schema", pattern=r"^[a-z_][a-z0-9_]{0,62}$")]
    """Recorded only: the migrations decide which schema a table stands in."""


class RuntimeLimits(RosterTable):
    model: str | None = None
    """The model; unset: whatever the program chooses."""
    max_concurrent_sessions: Annotated[int, Field(ge=1, le=100)] = 1
    """Sessions at once."""
    max_queued_sessions: Annotated[int, Field(ge=1)] = 100
    """Sessions that may wait; the next one is refused."""
    timeout_seconds: Annotated[float, Field(gt=0)] = 300.0
    """Longest session; then the program and everything it started is killed."""
    args: tuple[str, ...] = ()
    """More arguments for the program."""


class SwitchboardPlace(RosterTable):
    url: str
    """Where this butler's switchboard is, if it is not the household's own: https://…/mcp."""


class NotifyTask(RosterTable):
    channel: str = Field(description=f"{' or '.join(f'`{name}`' for name in SHIPPED)}.")
    message: Annotated[str, Field(min_length=1)]
    """What to say."""
    recipient: str | None = None
    """An address or a contact; unset: the owner."""
    subject: str | None = None
    """Of an e-mail."""
    priority: Literal["high", "medium", "low"] | None = None
    """`high`, `medium` or `low`."""
    format: Literal["plain", "markdown"] | None = None
    """Of the message: `plain` (the default) or `markdown`."""


class Schedule(RosterTable):
    """Either a prompt for a session, or a message that needs no model at all."""

    name: Annotated[str, Field(pattern=_NAME)]
    """Its name, once per butler."""
    cron: str
    """Five fields: minute, hour, day, month, weekday."""
    timezone: str = "UTC"
    """The zone whose clock counts."""
    prompt: str | None = None
    """What the model is asked."""
    notify: NotifyTask | None = None
    """A message that needs no model."""

    @field_validator("cron")
    @classmethod
    def _five_fields(cls, cron: str) -> str:
        from croniter import CroniterBadDateError, croniter  # few households have schedules

        if len(cron.split()) != 5 or not croniter.is_valid(cron):
            raise ValueError(f"'{cron}' is not a cron expression of five fields")
        try:
            croniter(cron, _ANY_DAY).get_next(datetime)
        except CroniterBadDateError:
            raise ValueError(f"'{cron}' names a day that never comes") from None
        return cron

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, zone: str) -> str:
        try:
            ZoneInfo(zone)
        except (KeyError, ValueError, OSError):
            raise ValueError(f"'{zone}' is not an IANA time zone") from None
        return zone

    @model_validator(mode="after")
    def _one_kind(self) -> Schedule:
        if (self.prompt is None) == (self.notify is None):
            raise ValueError("give either prompt or notify")
        return self


class EnvironmentNames(RosterTable):
    """Variables a butler's model is given; nothing else of the environment reaches it."""

    required: tuple[str, ...] = ()
    """Variables the model must be given."""
    optional: tuple[str, ...] = ()
    """Variables it is given if they are set."""


class ButlerMessages(RosterTable):
    outbox: tuple[Path, ...] = ()
    """Folders below which this butler may name files to attach, beside `[messages] outbox` of the settings."""


class ButlerSection(RosterTable):
    name: Annotated[str, Field(pattern=_NAME)]
    """As its folder is called."""
    port: Annotated[int, Field(ge=0, le=65535)]
    """Where it listens; `[ports]` of the settings wins."""
    description: str = ""
    """What it looks after, for people and models."""
    db: DatabasePlace
    runtime: RuntimeLimits = RuntimeLimits()
    switchboard: SwitchboardPlace | None = None
    env: EnvironmentNames = EnvironmentNames()
    messages: ButlerMessages = ButlerMessages()
    schedule: tuple[Schedule, ...] = ()


class RuntimeKind(RosterTable):
    type: Literal["codex", "claude", "gemini", "none"] = "none"
    """The program a model runs in; `none`: this butler has no model."""


class ButlerConfig(RosterTable):
    butler: ButlerSection
    runtime: RuntimeKind = RuntimeKind()
    modules: dict[str, dict[str, Any]] = Field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.butler.name


def parse_butler(document: Mapping[str, Any], environment: Mapping[str, str], *, file: str) -> ButlerConfig:
    unset: list[MissingVariable] = []
    resolved = resolve(document, environment, unset)
    if unset:
        names = sorted({one.variable for one in unset})
        raise RosterError(
            f"{file}: these variables are not set: {', '.join(names)}. Set them, or take them out of the file."
        )
    try:
        config = ButlerConfig.model_validate(resolved)
    except ValidationError as error:
        raise RosterError(_explain(error, file)) from None
    if missing := {name for name in config.butler.env.required if not environment.get(name)}:
        raise RosterError(
            f"{file}: butler.env.required: not set: {', '.join(sorted(missing))}. Set them in the environment."
        )
    return _checked(config, file)


def check_roster(configs: Mapping[str, ButlerConfig]) -> None:
    """What no single file can know, by its file: names and ports are used once."""
    names: dict[str, str] = {}
    ports: dict[int, str] = {}
    for file, config in configs.items():
        if config.name in names:
            other = names[config.name]
            raise RosterError(f"{file}: butler.name: '{config.name}' is the name in {other} too; rename one of them.")
        names[config.name] = file
        port = config.butler.port
        if port and port in ports:
            raise RosterError(f"{file}: butler.port: {port} is the port in {ports[port]} too; change one of them.")
        ports[port] = file


def _gated(config: ButlerConfig, file: str) -> None:
    """The gate stands at the delivery boundary, whether a file says so or not; one that says otherwise is refused."""
    section = config.modules.pop("approvals", None) or {}
    named = section.get("gated_tools", _GATED_TOOLS)
    if section.keys() - {"gated_tools"} or not isinstance(named, list | tuple) or set(_GATED_TOOLS) - set(named):
        raise RosterError(
            f"{file}: modules.approvals: gated_tools is all it can have, and none of {', '.join(_GATED_TOOLS)} can be "
            "left out; add what is missing, or take the section out."
        )


def _checked(config: ButlerConfig, file: str) -> ButlerConfig:
    _gated(config, file)
    if config.name in _RESERVED:
        raise RosterError(f"{file}: butler.name: '{config.name}' is a name the household uses itself; choose another.")
    if config.name != MESSENGER:
        sending = sorted(_SENDING_MODULES & config.modules.keys())
        if sending:
            raise RosterError(
                f"{file}: modules.{sending[0]} sends to people, and only the messenger may do that; "
                f"{config.name} has notify."
            )
    elif config.butler.schedule:
        raise RosterError(f"{file}: butler.schedule: the messenger has no schedules; take them out.")
    names = [schedule.name for schedule in config.butler.schedule]
    for name in names:
        if names.count(name) > 1:
            raise RosterError(f"{file}: butler.schedule: two schedules are called '{name}'; rename one of them.")
    return config


def _explain(error: ValidationError, file: str) -> str:
    sentences = []
    for item in error.errors(include_url=False):
        key = ".".join(str(part) for part in item["loc"])
        told = f"{words(item)}."
        if item["type"] == "extra_forbidden":
            told = f"unknown key{unknown_key(ButlerConfig, item['loc'])}"
        sentences.append(f"{file}: {key}: {told}")
    return "\n".join(sentences)


# Read the roster: the shipped household, or the folder of butlers the settings name.

_REQUIRED = ("switchboard", MESSENGER)


def load_roster(settings: Settings, environment: Mapping[str, str]) -> tuple[ButlerConfig, ...]:
    folder = settings.roster if settings.roster is not None else shipped_roster()
    if not folder.is_dir():
        raise RosterError(
            f"{folder}: there is no such folder of butlers (roster); name one by --roster, or see `postroom init`."
        )
    read = {str(file): _read(file, environment) for file in sorted(folder.glob("*/butler.toml"))}
    configs = tuple(read.values())
    for name in _REQUIRED:
        if name not in {config.name for config in configs}:
            raise RosterError(f"{folder}: a household needs a {name}/butler.toml; `postroom init` writes one.")
    check_roster(read)
    return configs


def shipped_roster() -> Path:
    return Path(str(files("postroom.settings").joinpath("butlers")))


def _read(file: Path, environment: Mapping[str, str]) -> ButlerConfig:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RosterError(f"{file}: is not valid TOML ({error}); mend that line.") from None
    config = parse_butler(document, environment, file=str(file))
    if config.name != file.parent.name:
        raise RosterError(
            f"{file}: butler.name is '{config.name}', but its folder is '{file.parent.name}'; call both alike."
        )
    if config.name == MESSENGER and (file.parent / "skills").exists():
        raise RosterError(f"{file.parent / 'skills'}: the messenger has no skills of its own; remove the folder.")
    return config


# Where each part is.


def port_for(settings: Settings, config: ButlerConfig) -> int:
    """The settings' word counts when it was given; otherwise the butler's own file."""
    if config.name in settings.ports.model_fields_set:
        port: int = getattr(settings.ports, config.name)
        return port
    return config.butler.port


class Endpoints:
    """URLs of the parts: this machine's own ports unless the settings say that a part lives elsewhere."""

    def __init__(self, settings: Settings, roster: Iterable[ButlerConfig]) -> None:
        self._host = settings.host
        self._elsewhere = settings.endpoints
        self._ports: dict[str, int] = {}
        self._own_switchboards: dict[str, str] = {}
        for config in roster:
            self._ports[config.name] = port_for(settings, config)
            if config.butler.switchboard is not None:
                self._own_switchboards[config.name] = config.butler.switchboard.url

    def bound(self, name: str, port: int) -> None:
        """A port that was left to the system to choose is known now."""
        self._ports[name] = port

    def port(self, name: str) -> int:
        return self._ports[name]

    def own_switchboard(self, caller: str) -> str | None:
        """Where that butler's file says its switchboard is."""
        return self._own_switchboards.get(caller)

    def url(self, name: str) -> str | None:
        if name in self._elsewhere:
            return self._elsewhere[name]
        return f"{web_address(self._host, self._ports[name])}/mcp" if name in self._ports else None
