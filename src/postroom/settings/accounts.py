"""The household's accounts: what the folder of a channel says of itself, where such folders are found, what is set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, distribution, entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SerializeAsAny, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from postroom.kernel.running.process import Secret, household_key
from postroom.kernel.values.errors import SettingsError
from postroom.kernel.values.fields import did_you_mean
from postroom.message.attachment import FileContents
from postroom.message.channel import Capabilities, Channel
from postroom.settings.written import SHIPPED

_LONGEST_SECONDS = 366 * 24 * 3600
Positive = Annotated[int, Field(gt=0, le=10**9)]
Seconds = Annotated[float, Field(gt=0, le=_LONGEST_SECONDS)]
Port = Annotated[int, Field(ge=0, le=65535)]


class SettingsSection(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True, use_attribute_docstrings=True
    )


# What a channel's folder says of itself.


class AccountOptions(SettingsSection):
    """What a household sets of one account."""

    @property
    def is_set(self) -> bool:
        """It can be used outside the sandbox."""
        return True

    @property
    def has_credentials(self) -> bool:
        """Somebody who gave these wants a real household, and not the sandbox."""
        return self.is_set

    @property
    def hears(self) -> bool:
        """What people answer comes back, if it does on this kind of channel at all."""
        return True

    @property
    def clock(self) -> tuple[str, str] | None:
        """A server of the provider's that tells the time to everybody: whose it is, and a page that needs no login."""
        return None

    def credential(self, option: str) -> Secret:
        value = getattr(self, option)
        return value if isinstance(value, Secret) else Secret(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a household lends the channels of its accounts."""

    home: Path
    files: FileContents | None = None
    devices: Any = None
    """The record of devices (`people.devices`), for a channel whose messages are shown by the household's own app."""

    def key(self, purpose: str) -> bytes:
        """The household's own: it stays the same, is known to every process and stands nowhere."""
        return household_key(self.home, purpose)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelKind:
    """
    All that the house knows of a kind of channel before it sends anything.

    The entry point `postroom.channels` names it. What it sends with is loaded when an account is opened, so most of
    the house never loads it.
    """

    title: str
    """What people call it."""
    guide: str
    """Its page, for people: below docs/how-to, or a whole address."""
    options: type[AccountOptions]
    """What is read from a table `[channels.NAME]` with this kind."""
    capabilities: Capabilities
    channel: str
    """`module:class` of the channel; its `of(name, options, surroundings)` makes one of an account."""
    section: type[AccountOptions] | None = None
    """Of a kind whose first account has a section of the settings to itself."""
    module: type[BaseModel] | None = None
    """And what a butler's file may say of it, below `[modules.NAME]`."""
    credentials: str = ""
    """What to set there before it can be used, in words."""

    def address(self, text: str) -> str | None:
        """The text as a canonical address, or None when it is not one."""
        found: str | None = self._loaded().address(text)
        return found

    def opened(self, name: str, options: AccountOptions, surroundings: Surroundings) -> Channel:
        """Raises ValueError for credentials that cannot be any; it never repeats them."""
        channel: Channel = self._loaded().of(name, options, surroundings)
        return channel

    def _loaded(self) -> Any:
        module, _, name = self.channel.partition(":")
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise SettingsError(f"{self.channel} cannot be loaded: {error}; install its package again") from None


# Where the folders are found: ours first, then those of anybody whose package is installed beside us.


_GROUP: Final = "postroom.channels"


@cache
def shipped_kinds() -> Mapping[str, ChannelKind]:
    return MappingProxyType({name: _kind(entry) for name, entry in _shipped().items()})


def channel_kind(name: str) -> ChannelKind:
    """Raises SettingsError for a kind there is not."""
    if (kind := _known(name)) is None:
        known = kind_names()
        raise SettingsError(f"there is no such kind{did_you_mean(name, known)} There are {', '.join(known)}")
    return kind


def kind_names() -> tuple[str, ...]:
    return (*_shipped(), *sorted(_others()))


@cache
def _known(name: str) -> ChannelKind | None:
    """Others' packages are only asked for what is not ours: that looks through everything that is installed."""
    entry = _shipped().get(name) or _others().get(name)
    return None if entry is None else _kind(entry)


@cache
def _shipped() -> Mapping[str, EntryPoint]:
    """In the order of people's tables: those with a section of their own, then the others by name."""
    found = {one.name: one for one in distribution("postroom").entry_points if one.group == _GROUP}
    if not found.keys() >= set(SHIPPED):
        raise SettingsError("the installed package is older than its code, and lists no channels; install it again")
    return {name: found[name] for name in (*SHIPPED, *sorted(found.keys() - set(SHIPPED)))}


@cache
def _others() -> Mapping[str, EntryPoint]:
    return {one.name: one for one in entry_points(group=_GROUP) if one.name not in _shipped()}


def _kind(entry: EntryPoint) -> ChannelKind:
    try:
        kind = entry.load()
    except (ImportError, AttributeError):
        raise SettingsError(f"the kind '{entry.name}' cannot be loaded: there is no {entry.value}") from None
    if not isinstance(kind, ChannelKind):
        raise SettingsError(f"the kind '{entry.name}' is no ChannelKind: mend {entry.value}")
    return kind


# What a household has set.


FACTORY: Final = "factory"


class ChannelSettings(AccountOptions):
    """A channel of your own; one `[channels.NAME]` table each."""

    factory: str
    """`module:function` that is given the options and returns the channel."""
    options: dict[str, Secret] = Field(default_factory=dict)
    """What the function is given, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One that is set up; what addresses and messages call its channel is its name."""

    name: str
    kind: str
    options: AccountOptions


def kind_of_options(options: AccountOptions) -> str:
    """Of a table `[channels.NAME]`; one without a kind names a factory."""
    return str(getattr(options, "kind", FACTORY))


def section_of_table(table: object) -> type[AccountOptions]:
    """What a `[channels.NAME]` table is read by; raises ValidationError for a kind there is not."""
    if not isinstance(table, Mapping) or "kind" not in table:
        return ChannelSettings
    try:
        return channel_kind(str(table["kind"])).options
    except SettingsError as error:
        raise wrong_key(("kind",), str(error)) from None


def section_named(name: str) -> type[AccountOptions]:
    """What the section `[NAME]` is read by."""
    section = channel_kind(name).section
    if section is None:
        raise SettingsError(f"{name} has no section of its own")
    return section


def _read(table: Any) -> Any:
    if isinstance(table, SettingsSection):
        return table
    if isinstance(table, Mapping) and not table.keys() & {"kind", FACTORY}:
        raise wrong_key(("kind",), f"is required, one of {', '.join(kind_names())}; or a factory of your own")
    return section_of_table(table).model_validate(table)


def wrong_key(place: tuple[str, ...], sentence: str) -> ValidationError:
    """Our own sentence, under the key it is about."""
    error = PydanticCustomError("value_error", "{error}", {"error": ValueError(sentence)})
    return ValidationError.from_exception_data("channels", [InitErrorDetails(type=error, loc=place, input=None)])


AccountTable = Annotated[SerializeAsAny[AccountOptions], BeforeValidator(_read)]
