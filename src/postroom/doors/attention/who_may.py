"""
Who may do what about notices.

    acting for a person   that person with a token of their own, and the owner: acknowledge, snooze, mute, away, policy.
                          No butler, program or connector may: an agent must not silence what others have to say to a
                          person, nor say in a person's name that something was seen. A notice that reached another
                          person, as a step of an escalation or standing in, that person acknowledges or snoozes, too.
    reading               the same people; an agent sees its own notices, one at a time, by their ids.
    withdrawing           the agent whose notice it is, and the owner.
"""

from __future__ import annotations

from dataclasses import dataclass

from postroom.domain.errors import Code, Refused
from postroom.domain.principal import Principal
from postroom.doors.guard.sender import sender_of
from postroom.doors.guard.tool_policy import Rule
from postroom.work.attention.views import NoticeView


@dataclass(frozen=True, slots=True)
class WhoMay:
    """`decides`: whose token is a person's own."""

    decides: Rule

    def act_for(self, caller: Principal, person: str) -> None:
        if not self.decides(caller):
            raise Refused(Code.POLICY_DENIED, f"{caller} may not do this: it needs a person's own token")
        if not caller.is_owner and caller.name != person:
            raise Refused(Code.POLICY_DENIED, f"{caller} may not do this for another person")

    def see(self, caller: Principal, view: NoticeView) -> bool:
        return self._concerns(caller, view) or view.agent == sender_of(caller)

    def act_on(self, caller: Principal, view: NoticeView) -> None:
        """What an agent sees is its own, so it hears why not."""
        if not self._concerns(caller, view):
            self.act_for(caller, view.person)

    def withdraws_as(self, caller: Principal, view: NoticeView | None) -> str:
        """In whose name; of a key it is always the caller's own."""
        if view is not None and caller.is_owner:
            return view.agent
        if (sender := sender_of(caller)) is None:
            raise Refused(Code.POLICY_DENIED, f"{caller} sends no messages of its own")
        return sender

    def _concerns(self, caller: Principal, view: NoticeView) -> bool:
        people = {view.person, *(person for person, _ in view.standing.reached)}
        return self.decides(caller) and (caller.is_owner or caller.name in people)


def no_such_notice() -> Refused:
    return Refused(Code.NOT_FOUND, "there is no such notice")
