"""Where a message goes that a person wrote to us: one pure decision, with its reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from postroom.conversations.model import RoutedMessage, RouteKind
from postroom.message.inbound import Flag, InboundMessage
from postroom.people.model import Person

_NAMED: Final = re.compile(r"\s*[/@]([A-Za-z][\w-]{0,63})(?:@\w{1,64})?(?:[\s,:]+(.*))?", re.ASCII | re.DOTALL)
_WORD: Final = re.compile(r"/([A-Za-z][\w-]{0,63})(?:@\w{1,64})?(?:\s.*)?", re.ASCII | re.DOTALL)
COMMANDS: Final = ("help", "status", "inbox", "asks", "stop", "why", "mute", "snooze", "pair")
FILES_ALONE: Final = "(files, without words)"
_FLAG_WORDS: Final = {
    Flag.FORWARDED: "forwarded words start nothing",
    Flag.BOT: "what a bot writes starts nothing",
    Flag.ANONYMOUS: "who writes in the name of a chat starts nothing",
    Flag.AUTOMATIC: "what was sent by a machine starts nothing",
    Flag.UNVERIFIED: "it is not proved who wrote it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundFacts:
    """
    What the decision rests on.

    `person` has proved the address that wrote; `open_questions` are those the message answers, `thread` is whose
    message of ours it replies to; `butlers` can be written to, each with whether it has a model.
    """

    message: InboundMessage
    person: Person | None = None
    open_questions: tuple[str, ...] = ()
    thread: str | None = None
    butlers: Mapping[str, bool] = field(default_factory=dict)
    sessions_today: int = 0
    sessions_per_day: int = 1
    tokens_today: int = 0
    tokens_per_day: int = 1


def route(facts: InboundFacts) -> RoutedMessage:
    """Answers first, then threads, names, the person's own butler, the only one, a choice."""
    if facts.open_questions:
        return RoutedMessage(kind=RouteKind.ANSWER, reason=f"it answers {facts.open_questions[0]}")
    if (refused := _refused(facts)) is not None:
        return refused
    chosen = _chosen(facts)
    if chosen.kind is RouteKind.BUTLER and not facts.butlers[chosen.target or ""]:
        return RoutedMessage(kind=RouteKind.NO_MODEL, target=chosen.target, reason=f"{chosen.target} has no model")
    if chosen.kind is RouteKind.BUTLER and (spent := _spent(facts)):
        return RoutedMessage(kind=RouteKind.LIMIT, target=chosen.target, reason=spent)
    return chosen


def _spent(facts: InboundFacts) -> str:
    if facts.sessions_today >= facts.sessions_per_day:
        return f"{facts.sessions_per_day} sessions within a day are the most for one person"
    if facts.tokens_today >= facts.tokens_per_day:
        return f"{facts.tokens_per_day} tokens within a day are the most for one person"
    return ""


def _refused(facts: InboundFacts) -> RoutedMessage | None:
    message = facts.message
    if machine := message.flags & {Flag.BOT, Flag.AUTOMATIC}:
        return RoutedMessage(kind=RouteKind.IGNORED, reason=_FLAG_WORDS[min(machine)])
    if not message.alone and not message.addressed and facts.thread is None:
        return RoutedMessage(kind=RouteKind.IGNORED, reason="it was not written to us")
    if facts.person is None:
        return RoutedMessage(kind=RouteKind.STRANGER, reason="the sender has not proved who they are")
    if message.flags:
        return RoutedMessage(kind=RouteKind.IGNORED, reason=_FLAG_WORDS[min(message.flags)])
    if not (message.text or "").strip() and not message.files:
        return RoutedMessage(kind=RouteKind.IGNORED, reason="there are no words in it")
    return None


def _chosen(facts: InboundFacts) -> RoutedMessage:
    text, butlers = (facts.message.text or "").strip() or FILES_ALONE, facts.butlers
    name, words = named(text, butlers)
    if name is None and (word := _WORD.fullmatch(text)):
        return RoutedMessage(kind=RouteKind.UNKNOWN, reason="there is no such command", words=word[1].lower())
    if facts.thread in butlers:
        return _to(facts.thread, f"a reply to a message of {facts.thread}", text)
    if name is not None and (words or facts.message.files):
        return _to(name, f"{name} is named in it", words or FILES_ALONE)
    if name is not None:
        return RoutedMessage(kind=RouteKind.CHOICE, target=name, reason=f"{name} is named, and nothing is asked")
    own = facts.person.default_butler if facts.person else None
    if own in butlers:
        return _to(own, f"{own} is the person's default butler", text)
    return _of_all([one for one, has_model in butlers.items() if has_model], text)


def _of_all(able: list[str], text: str) -> RoutedMessage:
    if not able:
        return RoutedMessage(kind=RouteKind.NO_MODEL, reason="no butler has a model")
    if len(able) == 1:
        return _to(able[0], f"{able[0]} is the only butler with a model", text)
    return RoutedMessage(kind=RouteKind.CHOICE, reason="no butler is named, and the person has no default butler")


def named(text: str, butlers: Mapping[str, bool]) -> tuple[str | None, str]:
    """The butler whose name stands first, as `/name` or `@name`, and the words after it."""
    found = _NAMED.fullmatch(text)
    name = next((one for one in butlers if found and one.casefold() == found[1].casefold()), None)
    return name, ((found[2] or "").strip() if found and name else text)


def is_for_named(message: InboundMessage, butlers: Mapping[str, bool]) -> bool:
    """Words to a butler by its name, in reply to nothing: they answer no question, whichever are open."""
    return message.replies_to is None and named((message.text or "").strip(), butlers)[0] is not None


def _to(butler: str | None, reason: str, words: str) -> RoutedMessage:
    return RoutedMessage(kind=RouteKind.BUTLER, target=butler, reason=reason, words=words)
