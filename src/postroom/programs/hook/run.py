"""One call of a hook, from what the client says to what it hears; in every doubt it hears nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from postroom.domain.agent_answer import answers_of, permission_of
from postroom.programs.hook import card, shapes
from postroom.programs.hook.call import HookCall, Moment, parse
from postroom.programs.hook.open_cards import OpenCards
from postroom.programs.hook.phone import LONGEST_DEADLINE, Ask, PersonAsker, Silent, Stopped
from postroom.programs.hook.transcript import is_alone
from postroom.programs.small_http import NoHousehold

AGENT_WAIT_SECONDS: Final = 60.0  # a helper in the background shows its dialog only when its hooks have ended
_AT_TERMINAL: Final = "answered at the terminal"
_IN_VAIN: Final = "not answered in time; the terminal asks now"
_ENDED: Final = "the program that asked has ended"

Decision = dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """`finished`: the end of every turn is worth a message. `defer`: do not wait, the agent is resumed later."""

    home: Path
    phone: PersonAsker
    reveal: Callable[[str], str]
    finished: bool = False
    defer: bool = False

    def heard(self, client: str, text: str) -> str:
        """What to print. Raises nothing that the client could mistake for an answer."""
        call = parse(client, text)
        if call is None:
            return ""
        try:
            return shapes.written(self._decided(call))
        except (NoHousehold, card.TooLong):
            return ""

    def _decided(self, call: HookCall) -> Decision:
        match call.moment:
            case Moment.PERMISSION | Moment.BEFORE_TOOL:
                return self._asked(call)
            case Moment.AFTER_TOOL:
                self._close(OpenCards.of(self.home, call).taken())
            case Moment.NOTICE:
                self._tell(call)
            case Moment.PROMPT | Moment.SESSION_OVER:
                self._close(OpenCards.of(self.home, call).all_taken())
            case Moment.TURN_OVER:
                self._close(OpenCards.of(self.home, call).all_taken())
                is_wished = self.finished or not call.event[0].isupper()  # `notify` of Codex is set up for nothing else
                if is_wished and not call.will_go_on:
                    self._tell(call)
        return None

    def _close(self, ask_ids: list[str]) -> None:
        for ask_id in ask_ids:
            self.phone.cancel(ask_id, _AT_TERMINAL)

    def _tell(self, call: HookCall) -> None:
        self.phone.tell(card.notice(call, self.reveal))

    def _asked(self, call: HookCall) -> Decision:
        match call.tool:
            case tool if tool == card.QUESTIONS and call.client == "claude":
                bodies = card.questions(call, self.reveal)
                return self._questions_decided(call, self._answers(call, bodies))
            case tool if tool == card.PLAN and call.client == "claude":
                return self._decision(call, self._answers(call, [card.plan(call, self.reveal)]), call.tool_input)
            case _:
                return self._decision(call, self._answers(call, [card.permission(call, self.reveal)]), None)

    def _answers(self, call: HookCall, bodies: list[dict[str, Any]]) -> list[Ask] | None:
        """Of all questions; None when one of them has no answer of a person. Empty while they may wait."""
        later = self._later(call)
        return self._waiting(call, bodies) if later is None else self._presently(call, bodies, later)

    def _waiting(self, call: HookCall, bodies: list[dict[str, Any]]) -> list[Ask] | None:
        cards, phone = OpenCards.of(self.home, call), self.phone
        if call.agent:
            phone = replace(phone, wait_seconds=min(phone.wait_seconds, AGENT_WAIT_SECONDS))
        asked: list[Ask] = []
        try:
            is_whole = self._put(phone, bodies, f"{call.prompt}:{call.request_digest}", call, cards, asked)
            if is_whole:
                answers = self._waited_for(phone, asked)
                cards.forget()
                return answers
        except Silent:
            return None  # what is noted closes the cards later, when the household is back
        except (Stopped, NoHousehold, KeyboardInterrupt):
            pass
        cards.forget()
        self._give_up(asked, _ENDED)
        return None

    def _presently(self, call: HookCall, bodies: list[dict[str, Any]], cards: OpenCards) -> list[Ask] | None:
        """As they are now. What was deferred once stays so while no household can say more."""
        phone = replace(self.phone, wait_seconds=0.0, deadline_seconds=LONGEST_DEADLINE)
        was_deferred, asked = bool(cards.noted()), list[Ask]()
        try:
            is_whole = self._put(phone, bodies, call.tool_use_id, call, cards, asked)
            over = [phone.until_over(one["ask_id"]) for one in asked]
        except NoHousehold:
            return [] if was_deferred else None
        if is_whole and not all(over):
            return []
        cards.forget()
        self._give_up([] if is_whole else asked, _ENDED)
        answers = [one for one in over if one is not None and one.get("status") == "answered"]
        return answers if is_whole and len(answers) == len(over) else None

    def _put(
        self,
        phone: PersonAsker,
        bodies: list[dict[str, Any]],
        what: str,
        call: HookCall,
        cards: OpenCards,
        asked: list[Ask],
    ) -> bool:
        """Whether all of them are asked; the same call that comes once more meets the same questions."""
        for place, body in enumerate(bodies):
            key = f"hook:{call.client}:{call.session_digest}:{what}:{place}"[:180]
            one = phone.ask(body, key, again=what != call.tool_use_id)
            if one is None:
                return False
            asked.append(one)
            cards.note([known["ask_id"] for known in asked])
        return bool(asked)

    def _later(self, call: HookCall) -> OpenCards | None:
        """Where a deferred call is noted; None for one that has to be waited for."""
        if not self.defer or call.moment is not Moment.BEFORE_TOOL or not call.tool_use_id:
            return None
        cards = OpenCards.deferred(self.home, call.client, call.session, call.tool_use_id)
        return cards if cards.noted() or is_alone(Path(call.transcript), call.tool_use_id) else None

    def _waited_for(self, phone: PersonAsker, asked: list[Ask]) -> list[Ask] | None:
        """One time for all of them: a client gives its hook no more."""
        over, until = [], phone.now() + phone.wait_seconds
        for one in asked:
            ended = phone.until_over(one["ask_id"], until) or phone.cancel(one["ask_id"], _IN_VAIN)
            if ended is None or ended.get("status") != "answered":
                self._give_up(asked, _IN_VAIN)
                return None
            over.append(ended)
        return over

    def _give_up(self, asked: list[Ask], reason: str) -> None:
        for one in asked:
            if self.phone.cancel(one["ask_id"], reason) is None:
                return  # nobody is there to be told

    def _decision(self, call: HookCall, answers: list[Ask] | None, updated_input: dict[str, Any] | None) -> Decision:
        if answers is None:
            return None
        if not answers:
            return shapes.deferred(call)
        said = permission_of(answers[0])
        if said is None:
            return None
        if not said.allowed:
            return shapes.denied(call, said.why)
        changed = None if said.for_session else updated_input
        return shapes.allowed(call, for_session=said.for_session, updated_input=changed)

    def _questions_decided(self, call: HookCall, answers: list[Ask] | None) -> Decision:
        """Never an empty answer: the model would take it for the person's."""
        if answers is None:
            return None
        if not answers:
            return shapes.deferred(call)
        words = answers_of(call.tool_input, answers)
        return None if words is None else shapes.allowed(call, updated_input={**call.tool_input, "answers": words})
