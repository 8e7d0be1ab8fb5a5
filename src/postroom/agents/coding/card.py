"""The words of a card about a coding agent, what an answer to it allows, and what a model should know about asking."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from postroom.kernel.text.visible import masked
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWish:
    """`who` is the agent as a person knows it; `lasting`: what its program offers to allow for the session."""

    who: str
    tool: str
    tool_input: dict[str, Any] = field(default_factory=dict)
    folder: str = ""
    lasting: tuple[dict[str, Any], ...] = ()


def permission(wish: AgentWish, reveal: Reveal) -> dict[str, Any]:
    """The body of one `ask`."""
    shown = reveal(masked("\n\n".join([_what(wish), *([_for_session(wish.lasting)] if wish.lasting else [])])))
    if len(shown) > _MOST_SHOWN:
        raise TooLong
    does = "run a command" if wish.tool in _SHELLS else f"use {line(wish.tool, 80, reveal)}"
    options = [{"value": ALLOW, "label": "Allow"}, {"value": DENY, "label": "Deny"}]
    if wish.lasting:
        options.append({"value": _ALLOW_SESSION, "label": "Allow for this session"})
    return {
        "question": f"{wish.who} wants to {does}.",
        "context": shown,
        "kind": "choice",
        "options": options,
        "allow_text": False,
    }


def plan(wish: AgentWish, reveal: Reveal) -> dict[str, Any]:
    """Words of one's own send the plan back with them."""
    shown = reveal(masked(_value(wish.tool_input.get("plan"))))
    if len(shown) > _MOST_SHOWN:
        raise TooLong
    return {
        "question": f"{wish.who} has a plan. May it begin? In words of your own you say what to change.",
        "context": shown,
        "kind": "choice",
        "options": [{"value": ALLOW, "label": "Allow"}, {"value": DENY, "label": "Deny"}],
        "allow_text": True,
    }


def questions(wish: AgentWish, reveal: Reveal) -> list[dict[str, Any]]:
    """One card for each; their options by number, because labels are the client's own words."""
    return [_question(one, wish, reveal) for one in _listed_questions(wish.tool_input)]


def _listed_questions(tool_input: dict[str, Any]) -> list[dict[str, Any]]:
    given = tool_input.get("questions")
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def line(text: str, most: int, reveal: Reveal) -> str:
    shown = reveal(masked(" ".join(text.split())))
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def _question(one: dict[str, Any], wish: AgentWish, reveal: Reveal) -> dict[str, Any]:
    options = [
        {
            "value": str(place),
            "label": line(str(option.get("label")), _MOST_LABEL, reveal),
            **({"description": said} if (said := _described(option, reveal)) else {}),
        }
        for place, option in enumerate(_options(one))
    ]
    words = reveal(masked(str(one.get("question") or "")))
    if not words.strip() or len(words) > _MOST_QUESTION:
        raise TooLong
    return {
        "question": words,
        "context": f"{wish.who} asks.",
        "kind": "choice" if options else "text",
        **({"options": options, "multiple": bool(one.get("multiSelect"))} if options else {}),
        "allow_text": True,
    }


def _options(one: dict[str, Any]) -> list[dict[str, Any]]:
    given = one.get("options")
    return [option for option in given if isinstance(option, dict)] if isinstance(given, list) else []


def _described(option: dict[str, Any], reveal: Reveal) -> str:
    said = option.get("description")
    return line(said, _MOST_DESCRIPTION, reveal) if isinstance(said, str) else ""


def _what(wish: AgentWish) -> str:
    """A command as it is; of everything else each part with its name."""
    given = dict(wish.tool_input)
    command = given.pop("command", None) if wish.tool in _SHELLS else None
    lines = [] if command is None else [_command(command)]
    lines += [f"{name}: {_value(value)}" for name, value in given.items()]
    return "\n\n".join([*lines, *([f"in {wish.folder}"] if wish.folder else [])])


def _for_session(suggestions: tuple[dict[str, Any], ...]) -> str:
    """What else would be allowed: it can be more than the one command."""
    return f"For this session means: {'; '.join(map(_suggested, suggestions))}."


def _suggested(one: dict[str, Any]) -> str:
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
Ended = Mapping[str, Any]  # a question that was answered, as the doors show it


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """`why` is for the agent when it may not."""

    allowed: bool
    for_session: bool = False
    why: str = ""


def permission_of(ended: Ended) -> Permission | None:
    """None when it says neither yes nor no."""
    said, by = ended.get("answer") or {}, ended.get("answered_by") or {}
    name = by.get("name") or "The person"
    value = said.get("value")
    if value in (ALLOW, _ALLOW_SESSION):  # a mail that anyone could have written allows nothing
        certain = by.get("assurance") in _CERTAIN
        return Permission(allowed=True, for_session=value == _ALLOW_SESSION) if certain else None
    if value == DENY:
        return Permission(allowed=False, why=f"{name} said no (via {by.get('channel')}).")
    words = said.get("text")
    return Permission(allowed=False, why=f"{name} says: {words}") if words else None


def answers_of(tool_input: dict[str, Any], ended: Sequence[Ended]) -> dict[str, str] | None:
    """By the client's own questions and labels; None unless each has an answer: the model would take an empty one."""
    listed = _listed_questions(tool_input)
    words = {one["question"]: _words(one, answer) for one, answer in zip(listed, ended, strict=True)}
    return words if words and all(words.values()) else None


def _words(question: Mapping[str, Any], ended: Ended) -> str:
    answer = ended.get("answer") or {}
    labels = [str(one.get("label")) for one in question.get("options") or () if isinstance(one, dict)]
    chosen = answer.get("selected") or ([answer["value"]] if answer.get("value") else [])
    named = [labels[int(one)] for one in chosen if one.isdecimal() and int(one) < len(labels)]
    return ", ".join(named) or str(answer.get("text") or "")


# Advice for models: as a file for clients that read skills, and as ready prompts.


@cache
def skill_text() -> str:
    return Path(__file__).with_name("skill.md").read_text(encoding="utf-8")


@cache
def skill_section(title: str) -> str:
    """The words below one of its headings."""
    _, _, rest = skill_text().partition(f"\n## {title}\n")
    return rest.partition("\n## ")[0].strip()
