"""The words of a card about a coding agent, what an answer to it allows, and what a model should know about asking."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from postroom.message.wishes import ALLOW, DENY

# What it wants to do, whole and as it is, and nothing it says of itself.

Reveal = Callable[[str], str]  # names every character that cannot be seen

_ALLOW_SESSION: Final = "allow_session"
QUESTIONS: Final = "AskUserQuestion"
PLAN: Final = "ExitPlanMode"
_MOST_SHOWN: Final = 20_000  # characters; more than that cannot be judged on a phone
_MOST_LABEL: Final = 200
_MOST_DESCRIPTION: Final = 1_000
_MOST_QUESTION: Final = 3_500
_SHELLS: Final = frozenset({"Bash", "run_shell_command", "shell", "PowerShell"})


class TooLong(Exception):
    """It could not be shown whole, so no one may allow it without seeing it."""


JsonObject = dict[str, Any]  # as a client's program writes it


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWish:
    """`who` is the agent as a person knows it; `lasting`: what its program offers to allow for the session."""

    who: str
    tool: str
    tool_input: JsonObject = field(default_factory=dict)
    folder: str = ""
    lasting: tuple[JsonObject, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCard:
    """What one `ask` says; `options` are value, label and description, and without any it is a question for words."""

    question: str
    context: str
    options: tuple[tuple[str, str, str], ...] = ()
    multiple: bool = False
    allow_text: bool = True

    @property
    def body(self) -> JsonObject:
        options = [
            {"value": value, "label": label, **({"description": more} if more else {})}
            for value, label, more in self.options
        ]
        return {
            "question": self.question,
            "context": self.context,
            "kind": "choice" if options else "text",
            **({"options": options, "multiple": self.multiple} if options else {}),
            "allow_text": self.allow_text,
        }


_YES_OR_NO: Final = ((ALLOW, "Allow", ""), (DENY, "Deny", ""))


def permission(wish: AgentWish, reveal: Reveal) -> AgentCard:
    shown = reveal(masked("\n\n".join([_what(wish), *([_for_session(wish.lasting)] if wish.lasting else [])])))
    does = "run a command" if wish.tool in _SHELLS else f"use {line(wish.tool, 80, reveal)}"
    for_session = ((_ALLOW_SESSION, "Allow for this session", ""),) if wish.lasting else ()
    question, options = f"{wish.who} wants to {does}.", (*_YES_OR_NO, *for_session)
    return AgentCard(question=question, context=_whole(shown), options=options, allow_text=False)


def plan(wish: AgentWish, reveal: Reveal) -> AgentCard:
    """Words of one's own send the plan back with them."""
    question = f"{wish.who} has a plan. May it begin? In words of your own you say what to change."
    shown = reveal(masked(_value(wish.tool_input.get("plan"))))
    return AgentCard(question=question, context=_whole(shown), options=_YES_OR_NO)


def _whole(shown: str) -> str:
    if len(shown) > _MOST_SHOWN:
        raise TooLong
    return shown


def questions(wish: AgentWish, reveal: Reveal) -> list[AgentCard]:
    """One card for each; their options by number, because labels are the client's own words."""
    return [_question(one, wish, reveal) for one in objects(wish.tool_input.get("questions"))]


def objects(value: Any) -> tuple[JsonObject, ...]:
    return tuple(one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def line(text: str, most: int, reveal: Reveal) -> str:
    shown = reveal(masked(" ".join(text.split())))
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def _question(one: JsonObject, wish: AgentWish, reveal: Reveal) -> AgentCard:
    words = reveal(masked(str(one.get("question") or "")))
    if not words.strip() or len(words) > _MOST_QUESTION:
        raise TooLong
    options = tuple(
        (str(place), line(str(option.get("label")), _MOST_LABEL, reveal), _described(option, reveal))
        for place, option in enumerate(objects(one.get("options")))
    )
    return AgentCard(
        question=words, context=f"{wish.who} asks.", options=options, multiple=bool(one.get("multiSelect"))
    )


def _described(option: JsonObject, reveal: Reveal) -> str:
    said = option.get("description")
    return line(said, _MOST_DESCRIPTION, reveal) if isinstance(said, str) else ""


def _what(wish: AgentWish) -> str:
    """A command as it is; of everything else each part with its name."""
    given = dict(wish.tool_input)
    command = given.pop("command", None) if wish.tool in _SHELLS else None
    lines = [] if command is None else [_command(command)]
    lines += [f"{name}: {_value(value)}" for name, value in given.items()]
    return "\n\n".join([*lines, *([f"in {wish.folder}"] if wish.folder else [])])


def _for_session(suggestions: tuple[JsonObject, ...]) -> str:
    """What else would be allowed: it can be more than the one command."""
    return f"For this session means: {'; '.join(map(_suggested, suggestions))}."


def _suggested(one: JsonObject) -> str:
    match one:
        case {"type": "addRules", "rules": [*rules], "behavior": behavior}:
            named = (f"{rule.get('toolName')}({rule.get('ruleContent') or '*'})" for rule in rules if rule)
            return f"{behavior} {', '.join(named)}"
        case {"type": "setMode", "mode": mode}:
            return f"permission mode {mode}"
        case {"type": "addDirectories", "directories": [*directories]}:
            return f"work in {', '.join(map(str, directories))}"
        case _:
            return _value({name: value for name, value in one.items() if name != "destination"})


def _command(command: Any) -> str:
    return " ".join(map(str, command)) if isinstance(command, list) else _value(command)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


# What a person's answer lets it do.

_CERTAIN: Final = ("channel", "signed_in")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAsk:
    """A question of an agent's as it is now, and what a person answered; `joined`: it was there before."""

    ask_id: str
    status: str
    joined: bool = False
    by: str = ""
    channel: str = ""
    assurance: str = ""
    value: str | None = None
    selected: tuple[str, ...] = ()
    text: str = ""

    @property
    def is_open(self) -> bool:
        return self.status == "open"

    @property
    def is_answered(self) -> bool:
        return self.status == "answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """`why` is for the agent when it may not."""

    allowed: bool
    for_session: bool = False
    why: str = ""


def permission_of(ended: AgentAsk) -> Permission | None:
    """None when it says neither yes nor no."""
    name = ended.by or "The person"
    if ended.value in (ALLOW, _ALLOW_SESSION):  # a mail that anyone could have written allows nothing
        is_certain = ended.assurance in _CERTAIN
        return Permission(allowed=True, for_session=ended.value == _ALLOW_SESSION) if is_certain else None
    if ended.value == DENY:
        return Permission(allowed=False, why=f"{name} said no (via {ended.channel}).")
    return Permission(allowed=False, why=f"{name} says: {ended.text}") if ended.text else None


def answers_of(tool_input: JsonObject, ended: Sequence[AgentAsk]) -> dict[str, str] | None:
    """By the client's own questions and labels; None unless each has an answer: the model would take an empty one."""
    listed = objects(tool_input.get("questions"))
    words = {one["question"]: _words(one, answer) for one, answer in zip(listed, ended, strict=True)}
    return words if words and all(words.values()) else None


def _words(question: JsonObject, ended: AgentAsk) -> str:
    labels = [str(one.get("label")) for one in objects(question.get("options"))]
    chosen = ended.selected or ((ended.value,) if ended.value else ())
    named = [labels[int(one)] for one in chosen if one.isdecimal() and int(one) < len(labels)]
    return ", ".join(named) or ended.text


# Advice for models: as a file for clients that read skills, and as ready prompts.


@cache
def skill_text() -> str:
    return Path(__file__).with_name("skill.md").read_text(encoding="utf-8")


@cache
def skill_section(title: str) -> str:
    """The words below one of its headings."""
    _, _, rest = skill_text().partition(f"\n## {title}\n")
    return rest.partition("\n## ")[0].strip()


# Hide what looks like a secret, and only that: a mask must never hide a piece of a command.

# Only letters, digits and the few signs that keys are made of: nothing that a shell would act on.
_KEY: Final = r"[A-Za-z0-9_\-+/=.]"
_KNOWN: Final = re.compile(
    r"\b(?:sk-|pk-|rk_|ghp_|gho_|ghs_|ghu_|github_pat_|glpat-|xox[abpros]-|AKIA|ASIA|AIza|hf_|npm_|pypi-|pr_[a-z]+_|eyJ)"
    rf"{_KEY}{{12,}}"
)
_NAMED: Final = re.compile(
    r"(?i)((?:pass(?:word|wd)?|secret|token|api[_-]?key|access[_-]?key|authorization|bearer)"
    r"[\"']?\s*[:= ]\s*[\"']?(?:bearer\s+)?)"
    rf"({_KEY}{{8,}})"
)
_IN_ADDRESS: Final = re.compile(rf"(://[^/\s:@]+:)({_KEY}+)(@)")
_SHOWN: Final = 3


def masked(text: str) -> str:
    text = _KNOWN.sub(lambda found: _hidden(found[0]), text)
    text = _IN_ADDRESS.sub(lambda found: f"{found[1]}{_hidden(found[2])}{found[3]}", text)
    return _NAMED.sub(lambda found: found[1] + _hidden(found[2]), text)


def _hidden(secret: str) -> str:
    return secret if "•" in secret else f"{secret[:_SHOWN]}•••"
