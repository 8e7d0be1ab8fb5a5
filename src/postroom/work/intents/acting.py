"""As whom a caller acts, and whether it may answer."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.domain.errors import Code, Refused
from postroom.domain.intent import APPROVAL, AgentIntent


@dataclass(frozen=True, slots=True)
class Acting:
    """
    As whom a caller acts.

    `by_person` is whether a person holds the token, `anyone` whether it is the
    operator. `caller` is the principal and `name` what its acts are recorded
    under; `own` are the addresses it speaks for.
    """

    agent: str
    by_person: bool
    anyone: bool = False
    caller: str = ""
    name: str = ""
    own: frozenset[str] = frozenset()

    @property
    def actor(self) -> str:
        return self.name or self.agent


def check_may_answer(intent: AgentIntent, acting: Acting) -> None:
    """Raises Refused for a caller this was not put to, for the one that asked, and for a program that would decide."""
    if acting.agent not in intent.asked and not acting.anyone:
        raise Refused(Code.POLICY_DENIED, "only somebody this was put to can answer it")
    if asked_it(intent, acting):
        raise Refused(Code.POLICY_DENIED, "the caller that asked this cannot answer it")
    if intent.macro_id == APPROVAL and not acting.by_person:
        raise Refused(Code.POLICY_DENIED, "only a person can decide this")


def asked_it(intent: AgentIntent, acting: Acting) -> bool:
    """
    Whether this caller asked, itself or in the sender's name.

    What a program asks of the person it speaks for has that person's address on
    both sides; the person may answer it, and no program that speaks for them may.
    """
    if acting.caller == intent.submitted_by:
        return True
    return not acting.by_person and intent.from_agent in acting.own | {acting.agent}
