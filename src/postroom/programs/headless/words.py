"""The command line of `claude -p`: what the person wrote, with our hook added, for the first start and later ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from postroom.domain.errors import UserError

TEXT: Final = "text"
JSON: Final = "json"
STREAM: Final = "stream-json"
_PRINT: Final = ("-p", "--print")
_OURS: Final = ("--session-id", "--resume", "-r", "--continue", "-c", "--fork-session", "--no-session-persistence")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadlessWords:
    """`prompt` is None when it comes on standard input; `form` is what the person wants printed."""

    program: str
    prompt: str | None
    options: tuple[str, ...]
    form: str
    settings: str

    def first(self, session: str) -> list[str]:
        said = [] if self.prompt is None else [self.prompt]
        return [self.program, "-p", *said, "--session-id", session, *self._options()]

    def later(self, session: str) -> list[str]:
        """Without the prompt: Claude Code goes on with the call that it deferred."""
        return [self.program, "-p", "--resume", session, *self._options()]

    def _options(self) -> list[str]:
        form = STREAM if self.form == STREAM else JSON
        return [*self.options, "--output-format", form, "--settings", self.settings]


def understood(words: Sequence[str], hook: dict[str, Any]) -> HeadlessWords:
    """Raises UserError for what could not be resumed later."""
    program, rest = words[0], list(words[1:])
    for word in rest:
        if word.partition("=")[0] in _OURS:
            raise UserError(f"Leave out {word}: the session is chosen here, so that it can be resumed.")
    rest, form = _taken(rest, "--output-format")
    rest, settings = _taken(rest, "--settings")
    if (form or TEXT) not in (TEXT, JSON, STREAM):
        raise UserError(f"--output-format is text, json or stream-json, not '{form}'.")
    prompt, options = _prompt(rest)
    return HeadlessWords(
        program=program,
        prompt=prompt,
        options=tuple(options),
        form=form or TEXT,
        settings=json.dumps(_hooked(_read(settings), hook)),
    )


def _prompt(words: list[str]) -> tuple[str | None, list[str]]:
    """Directly after -p, where it cannot be mistaken for the value of an option."""
    place = next((place for place, word in enumerate(words) if word in _PRINT), None)
    if place is None:
        raise UserError('Start Claude Code without a screen: postroom headless -- claude -p "what to do".')
    after = words[place + 1 : place + 2]
    prompt = after[0] if after and not after[0].startswith("-") else None
    return prompt, words[:place] + words[place + (1 if prompt is None else 2) :]


def _taken(words: list[str], option: str) -> tuple[list[str], str | None]:
    """The words without that option, and its last value."""
    kept, value, rest = list[str](), None, list(words)
    while rest:
        word = rest.pop(0)
        name, is_joined, joined = word.partition("=")
        if name != option:
            kept.append(word)
        elif is_joined or rest:
            value = joined if is_joined else rest.pop(0)
        else:
            raise UserError(f"{option} needs a value.")
    return kept, value


def _read(settings: str | None) -> dict[str, Any]:
    """As Claude Code takes them: JSON, or a file of it."""
    if settings is None:
        return {}
    try:
        text = settings if settings.lstrip().startswith("{") else Path(settings).read_text(encoding="utf-8")
        found = json.loads(text)
    except (OSError, ValueError):
        raise UserError(
            f"--settings is neither JSON nor a file of it, so give one of these: {settings[:200]}"
        ) from None
    if not isinstance(found, dict):
        raise UserError("--settings is no JSON object: write one.")
    return found


def _hooked(settings: dict[str, Any], hook: dict[str, Any]) -> dict[str, Any]:
    hooks = settings.get("hooks") or {}
    if not isinstance(hooks, dict) or not isinstance(hooks.get("PreToolUse", []), list):
        raise UserError("--settings: hooks is not what Claude Code takes; correct it there.")
    return {**settings, "hooks": {**hooks, "PreToolUse": [*hooks.get("PreToolUse", []), hook]}}
