"""Acts as commands: what is typed is read by the act, and complaints name the options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Final

import typer

from postroom.kernel.acts.declaration import Act, Command, CommandOption, names_at, words_of
from postroom.kernel.acts.reading import answer_of, arguments_schema, kinds_of, read
from postroom.kernel.running.terminal import Database, Home, Json, hold_to, say, say_json, seconds_of
from postroom.kernel.values.errors import FieldError, Mistyped, Refused, sentence

Perform = Callable[[Act[Any]], Any]
Performing = Callable[[str | None, str | None], Perform]
"""Of the home and the database that were named at the command: how an act is done there."""
_SECONDS: Final = "_seconds"
_HOW_LONG: Final = "30m, 2h, 1d"


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """How an answer is told: `says` in lines for a person, `prints` under `--json`, `ends` by the exit code."""

    says: Callable[[Any, Perform], Iterable[str]] | None = None
    prints: Callable[[Any], Any] | None = None
    ends: Callable[[Any], int] | None = None

    def tell(self, one: Act[Any], perform: Perform, json: bool) -> None:
        answer = perform(one)
        if json or self.says is None:
            say_json(self.prints(answer) if self.prints else as_json(one, answer))
        else:
            for line in self.says(answer, perform):
                say(line)
        if self.ends is not None and (code := self.ends(answer)):
            raise typer.Exit(code)


def add_command(
    app: typer.Typer,
    kind: type[Act[Any]],
    performing: Performing,
    telling: Telling = Telling(),  # noqa: B008  # frozen
) -> None:
    command = kind.declared.command
    if command is None:
        raise LookupError(f"{kind.__name__} has no command")

    @with_options_of(kind, command)
    def run(home: Home = None, database: Database = None, json: Json = False, **typed: Any) -> None:
        telling.tell(read_typed(kind, typed, command), performing(home, database), json)

    app.command(command.path.rpartition(" ")[2], help=help_of(kind, command))(run)


def with_options_of(kind: type[Act[Any]], command: Command) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command by hand: `typed` gets what `read_typed` reads, and the options of its own come after the act's."""

    def sign(run: Callable[..., None]) -> Callable[..., None]:
        own = [one for one in signature(run, eval_str=True).parameters.values() if one.kind is not one.VAR_KEYWORD]
        parameters = [parameter_of(kind, name, command) for name in names_at(kind, command).values()]
        parameters += [one.replace(kind=one.KEYWORD_ONLY) for one in own]
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        run.former = {flag: flags_of(kind, name, command)[0] for flag, name in command.former.items()}  # type: ignore[attr-defined]
        return run

    return sign


def help_of(kind: type[Act[Any]], command: Command) -> str:
    """The words of the act, with its arguments as they are typed."""
    words = words_of(kind)
    for alias, name in names_at(kind, command).items():
        words = words.replace(f"`{alias}`", _shown(kind, name, command))
    return words


def as_json(one: Act[Any], answer: Any) -> Any:
    """As the route answers, without `ok`: a command that failed ends otherwise."""
    document = answer_of(type(one)).dump_python(answer, mode="json", by_alias=True)
    return {key: value for key, value in document.items() if key != "ok"} if isinstance(document, dict) else document


def read_typed(kind: type[Act[Any]], typed: Mapping[str, Any], command: Command) -> Any:
    """Raises Mistyped, which says the options as they are typed."""
    given = {name: value for name, value in typed.items() if _is_typed(value)}
    names = {name: alias for alias, name in names_at(kind, command).items()}
    sent = {names[name]: _value(kind, name, value, command) for name, value in given.items()}
    texts = {name for name, value in sent.items() if isinstance(value, str)}
    try:
        one = read(kind, sent, command, texts)[0]
    except Refused as error:
        raise Mistyped(f"{sentence([_typed(kind, one, command) for one in error.fields])}.") from None
    shown = arguments_schema(kind)["properties"]
    for name in given:
        hold_to(shown[names[name]], getattr(one, name), _shown(kind, name, command))
    return one


def _is_typed(value: Any) -> bool:
    return value not in (None, (), [])


def _value(kind: type[Act[Any]], name: str, value: Any, command: Command) -> Any:
    option = command.options.get(name, CommandOption())
    if option.reads is not None:
        return [option.reads(one) for one in value] if isinstance(value, list | tuple) else option.reads(value)
    if name.endswith(_SECONDS) and isinstance(value, str):
        return int(seconds_of(value, flags_of(kind, name, command)[0]))
    return list(value) if isinstance(value, tuple) else value


def _typed(kind: type[Act[Any]], complaint: FieldError, command: Command) -> FieldError:
    name, dot, rest = complaint.field.partition(".")
    field = names_at(kind, command).get(name, name)
    return FieldError(f"{_shown(kind, field, command)}{dot}{rest}", complaint.error, complaint.code)


def _shown(kind: type[Act[Any]], name: str, command: Command) -> str:
    """A positional argument is called as the usage calls it."""
    return name.upper() if name in command.positional else flags_of(kind, name, command)[0]


def flags_of(kind: type[Act[Any]], name: str, command: Command) -> tuple[str, ...]:
    """`for_seconds` is `--for 15m`; what is wholly a number of seconds in programs is a length of time here."""
    if (option := command.options.get(name)) is not None and option.flags:
        return option.flags
    return (f"--{name.removesuffix(_SECONDS).rstrip('_').replace('_', '-')}",)


def parameter_of(kind: type[Act[Any]], name: str, command: Command) -> Parameter:
    about, option = kind.model_fields[name], command.options.get(name, CommandOption())
    shape, words = arguments_schema(kind)["properties"][about.alias or name], option.words or about.description
    kinds, is_required = kinds_of(shape), about.is_required()
    if name in command.positional:
        metavar = option.metavar or (name.upper() if is_required else f"[{name.upper()}]")
        told: Any = typer.Argument(metavar=metavar, help=words)
    else:
        if name.endswith(_SECONDS) and option.reads is None:
            words = f"{(words or 'How long').rstrip('.')}: {_HOW_LONG}."
        flags = flags_of(kind, name, command)
        shown = None if "boolean" in kinds else option.metavar or flags[0].lstrip("-").replace("-", "_").upper()
        told = typer.Option(*flags, metavar=shown, help=words)
    if "boolean" in kinds:
        return _keyword(name, Annotated[bool | None, told], None)
    if "array" in kinds:
        return _keyword(name, Annotated[list[str] | None, told], None)
    if is_required:
        return _keyword(name, Annotated[str, told], Parameter.empty)
    return _keyword(name, Annotated[str | None, told], None)


def _keyword(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
