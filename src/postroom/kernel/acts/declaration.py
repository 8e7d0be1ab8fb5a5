"""
An act is declared once: a pydantic model of its arguments, with who may call it, where it is reached, and what it does.

    @act(by=PEOPLE, tool=Tool("mute"), route=HttpRoute("POST /v1/people/{person}/mute", "attention"))
    class Mute(Act[Muted]):
        '''Show nothing of an `agent`, a `thread` or a `category` for a while.'''
        agent: Name | None = said("A butler's or a program's name.")
        async def do(self, call: Call[AttentionDesk]) -> Muted: ...

An instance is one call. `reading` makes it of what a caller sent; `tools`, `routes`, `commands` and `calling` are its
doors. A module of acts imports pydantic, its slice's words and pure rules; no framework.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from inspect import cleandoc
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from postroom.kernel.values.errors import Code, PostroomError, failure_document
from postroom.kernel.values.principal import Kind, Principal, kind_of

Answer = TypeVar("Answer")
Work = TypeVar("Work")
Made = TypeVar("Made", bound="type[Act[Any]]")
Complain = Callable[[str, str, str], None]
"""Of a field, in words, with a code."""
_NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})

# Where an act is reached.


@dataclass(frozen=True, slots=True)
class Hints:
    """What a client is told of a tool before it calls it."""

    reads: bool = False
    destroys: bool = False
    repeats: bool = False  # a second call changes nothing more
    open_world: bool = False


READS: Final = Hints(reads=True, repeats=True)
CHANGES: Final = Hints(repeats=True)


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """
    `by` where fewer kinds of callers have the tool than may do the act; `without` are arguments it has not; `answers`
    are what its output schema tells of the answer, if that is not all of it.
    """

    name: str
    hints: Hints = Hints()
    by: frozenset[Kind] | None = None
    without: Collection[str] = ()
    answers: Collection[str] = ()
    meta: Mapping[str, Any] | None = None  # what a client is told of it besides


@dataclass(frozen=True, slots=True, eq=False)
class HttpRoute:
    """
    `line` is such as `POST /v1/notices/{notice_id}/ack`. What stands in the query is in `in_query`; of GET and DELETE
    all. `absent` is what a caller who names nobody means where the path needs a name.
    """

    line: str
    tag: str
    operation: str = ""  # the name of the class, unless it says otherwise
    summary: str = ""  # the words of the act, unless it says otherwise
    refusals: tuple[int, ...] = (400, 401, 403, 404, 409, 413, 422, 503)
    status: int = 200
    more: Mapping[int, str] = field(default_factory=dict)  # other statuses of such an answer, in words
    in_query: Collection[str] = ()
    without: Collection[str] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    is_private: bool = False  # its answer is kept nowhere on the way
    streams: bool = False  # server-sent events, each one such an answer

    @property
    def method(self) -> str:
        return self.line.partition(" ")[0]

    @property
    def path(self) -> str:
        return self.line.partition(" ")[2]

    def is_in_path(self, name: str) -> bool:
        return f"{{{name}}}" in self.path or f"{{{name}:path}}" in self.path

    def is_in_query(self, name: str) -> bool:
        return not self.is_in_path(name) and (self.method in ("GET", "DELETE") or name in self.in_query)


@dataclass(frozen=True, slots=True, eq=False)
class CommandOption:
    """An argument on the command line where it is not simply `--its-name`; `reads` makes a value of what was typed."""

    flags: tuple[str, ...] = ()
    reads: Callable[[str], Any] | None = None
    words: str = ""
    metavar: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Command:
    """Values go as they were typed, and the act reads them."""

    path: str
    positional: tuple[str, ...] = ()
    options: Mapping[str, CommandOption] = field(default_factory=dict)
    without: Collection[str] = ()
    former: Mapping[str, str] = field(default_factory=dict)
    """Flags that were called otherwise before, with the argument each one means: `cli.application` still takes them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Declared:
    """Written above the class of an act, as `@act(...)`."""

    by: frozenset[Kind]
    tool: Tool | None = None
    route: HttpRoute | None = None
    command: Command | None = None
    waits: bool = False  # may last as long as its caller stays

    def __call__(self, kind: Made) -> Made:
        kind.declared = self
        return kind

    def admits(self, caller: Principal, tool: Tool | None = None, server: str = "") -> bool:
        kind = kind_of(caller, server)
        return kind in self.by and (tool is None or tool.by is None or kind in tool.by)


act: Final = Declared


# The act itself.


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[Work]):
    """What surrounds a call: on what it works, who calls, and what travels beside the arguments."""

    work: Work
    caller: Principal
    door: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = None  # under which the same call again does nothing more
    reserved_id: str | None = None  # of what a call under a key makes
    context: Any = None  # of a tool: the client that called it


class Shape(BaseModel):
    """An answer: made from the attributes of one of our own values here, and from its own JSON at the client."""

    model_config = ConfigDict(from_attributes=True, validate_by_name=True, validate_by_alias=True)


class Act(BaseModel, Generic[Answer]):
    """Types are checked and never converted, and unknown arguments are refused, at every door."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, validate_by_name=True, validate_by_alias=True)
    declared: ClassVar[Declared]
    renamed: ClassVar[Mapping[str, str]] = _NOTHING
    """What an argument was called before: it is still taken, and the answer says what it is called now."""
    malformed: ClassVar[Code] = Code.VALIDATION_ERROR
    """The code of a call whose arguments are wrong."""
    null_counts: ClassVar[Collection[str]] = ()
    """Of these arguments null says something; of all others it is the same as nothing."""

    async def do(self, call: Call[Any]) -> Answer:
        raise NotImplementedError

    def check(self, complain: Complain) -> None:
        """What does not fit together."""

    @classmethod
    def refused(cls, error: PostroomError) -> Mapping[str, Any]:
        """How a caller is told no; an act with a contract of its own says it in its own shape."""
        return failure_document(error)

    @classmethod
    def in_words(cls, document: Mapping[str, Any]) -> str:
        """What a tool says before its answer or refusal, for clients that show a model nothing else."""
        return ""

    @classmethod
    def refused_over_http(cls, error: PostroomError) -> tuple[int, Mapping[str, Any]]:
        return error.code.status, cls.refused(error)

    @classmethod
    def status_of(cls, answer: Answer) -> int:
        """Of what the route answers."""
        route = cls.declared.route
        return 200 if route is None else route.status

    @classmethod
    def is_answer(cls, status: int, document: Mapping[str, Any]) -> bool:
        """Whether what its route answered is for whoever asked, or a refusal that is raised."""
        return 200 <= status < 300

    @classmethod
    def retry_after(cls, answer: Answer) -> float | None:
        """In how many seconds, where an answer says no for now."""
        return None


def said(words: str, default: Any = None, **bounds: Any) -> Any:
    """An argument that may be left out, with its words; `said(words, ...)` is needed."""
    return Field(default, description=words, **bounds)


def words_of(kind: type[Act[Any]]) -> str:
    """What models and people read: the docstring, without its line ends."""
    paragraphs = cleandoc(kind.__doc__ or "").split("\n\n")
    words = "\n\n".join(" ".join(one.split()) for one in paragraphs)
    return words if words.endswith((".", "!", "?", ":")) else f"{words}."


def names_at(kind: type[Act[Any]], door: Tool | HttpRoute | Command | None) -> dict[str, str]:
    """The arguments as callers of this door call them, and each one's field."""
    without = door.without if door is not None else ()
    return {one.alias or name: name for name, one in kind.model_fields.items() if name not in without}
