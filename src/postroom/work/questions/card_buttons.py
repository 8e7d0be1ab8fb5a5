"""The buttons of a card, and what each of them stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from postroom.domain.is_approval import is_approval
from postroom.domain.markup import Button, ButtonStyle, Markup, Rows
from postroom.domain.presentation import Presentation, Token, TokenAction
from postroom.domain.question import RATHER_NOT, Question, QuestionKind
from postroom.domain.question_states import APPROVE
from postroom.work.questions.card_words import one_line
from postroom.work.questions.tokens import BACK, MORE, kept_token, token_of

OTHER: Final = "✏️ Other"
ANSWER: Final = "✏️ Answer"  # of a question that has no options
SEND: Final = "Send"
REST: Final = "…"
TO_ANSWERS: Final = "‹ Back"
_TICKED: Final = "✅ "
_SHORT: Final = 16
_BESIDE: Final = 20  # characters in a row that has room for one small button more; each is as wide as the widest
_LONGEST_LABEL: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Buttons:
    rows: Rows = ()
    tokens: tuple[Token, ...] = ()

    @property
    def markup(self) -> Markup | None:
        return Markup(buttons=self.rows) if self.rows else None

    def __add__(self, more: Buttons) -> Buttons:
        return Buttons(rows=self.rows + more.rows, tokens=self.tokens + more.tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonMaker:
    """For one card: the same button of the same wording always has the same token."""

    key: bytes
    question: Question
    shown: Presentation

    def fits(self, most: int | None) -> bool:
        """Whether every answer has its button where there can be so many."""
        return most is None or sum(len(row) for row in self._options()) <= most

    def answers(self) -> Buttons:
        """The options alone."""
        return _of(self._options())

    def pressable(self, most: int | None = None, *, own_words: bool = True, folds: bool = False) -> Buttons:
        """
        Options, and what else may be done about the question as far as there is room.

        `folds`: the card can show several such things in place of the options, so one small button stands for them.
        """
        options, others = self._options(), self._others(own_words)
        room = None if most is None else max(0, most - sum(len(row) for row in options))
        if not (folds and options and len(others) > 1 and room != 0):
            return _of([*options, others[:room]])
        *before, last = _of(options).rows
        more = self._fold(REST, MORE)
        is_beside = all(len(one.label) * len(last) <= _BESIDE for one in last)
        rows = (*before, (*last, more)) if is_beside else (*before, last, (more,))
        return Buttons(rows=rows, tokens=_of([*options, others]).tokens)

    def rest(self, opening: Buttons) -> Buttons:
        """What stood behind that small button, with a page of its own, and the way back."""
        others, pages = _of([self._others(own_words=True)]), [button for row in opening.rows for button in row]
        return replace(others, rows=(*others.rows, (*pages, self._fold(TO_ANSWERS, BACK))))

    def _fold(self, label: str, way: str) -> Button:
        """Of a button that every such card has."""
        return Button(label=label, token=f"{way}{self._token(TokenAction.DECLINE)}")

    def link(self, base_url: str) -> Buttons:
        """A page of its own for this person, on a channel without buttons."""
        token = self._token(TokenAction.OPEN)
        button = Button(label="Answer", url=f"{base_url}/a/{token}")
        return Buttons(rows=((button,),), tokens=(self._kept(token, TokenAction.OPEN),))

    def _options(self) -> list[list[tuple[Button, Token]]]:
        wording = self.question.wording
        if wording.kind is QuestionKind.APPROVE:
            styles = {APPROVE: ButtonStyle.SUCCESS}
            return [
                [
                    self._made(one.label, TokenAction.OPTION, one.value, styles.get(one.value, ButtonStyle.DANGER))
                    for one in wording.options
                ]
            ]
        action = TokenAction.TOGGLE if wording.multiple else TokenAction.OPTION
        made = [self._made(self._label(one.value, one.label), action, one.value) for one in wording.options]
        wide = 1 if any(len(one.label) > _SHORT for one in wording.options) else 2
        rows = [made[start : start + wide] for start in range(0, len(made), wide)]
        return [*rows, [self._made(SEND, TokenAction.SEND, style=ButtonStyle.PRIMARY)]] if wording.multiple else rows

    def _others(self, own_words: bool) -> list[tuple[Button, Token]]:
        wording = self.question.wording
        if is_approval(self.question):
            return []  # not to decide is to leave it alone until its time is over
        is_text = wording.kind is QuestionKind.TEXT
        own_words = own_words and (is_text or (wording.kind is QuestionKind.CHOICE and wording.allow_text))
        others = [self._made(ANSWER if is_text else OTHER, TokenAction.OTHER)] if own_words else []
        return [*others, self._made(RATHER_NOT, TokenAction.DECLINE)] if wording.may_decline else others

    def _label(self, value: str, label: str) -> str:
        return f"{_TICKED}{label}" if value in self.shown.toggles else label

    def _made(
        self, label: str, action: TokenAction, option: str | None = None, style: ButtonStyle | None = None
    ) -> tuple[Button, Token]:
        token = self._token(action, option)
        button = Button(label=one_line(label, _LONGEST_LABEL), token=token, style=style)
        return button, self._kept(token, action, option)

    def _token(self, action: TokenAction, option: str | None = None) -> str:
        return token_of(self.key, self.shown.id, self.question.revision, action, option)

    def _kept(self, token: str, action: TokenAction, option: str | None = None) -> Token:
        return kept_token(token, self.shown.id, self.question.revision, action, option)


def _of(made: Sequence[Sequence[tuple[Button, Token]]]) -> Buttons:
    return Buttons(
        rows=tuple(tuple(button for button, _ in row) for row in made if row),
        tokens=tuple(token for row in made for _, token in row),
    )


def console_link(base_url: str, question: Question) -> Buttons:
    """Where a person signs in first."""
    return Buttons(rows=((Button(label="Open", url=console_page(base_url, question)),),))


def console_page(base_url: str, question: Question) -> str:
    about = question.subject
    page = f"approvals/{about.id}" if about and is_approval(question) else f"questions/{question.id}"
    return f"{base_url}/console/{page}"
