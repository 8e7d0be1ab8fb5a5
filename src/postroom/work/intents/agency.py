"""For which agents a caller may speak: told by the token, never by the request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from postroom.domain.agent_address import BUTLER_PREFIX, HOUSEHOLD_OWNER, is_of_people, parse_address, user_address
from postroom.domain.errors import Code, FieldError, Refused
from postroom.domain.principal import Principal, Role


@dataclass(frozen=True, slots=True)
class Agency:
    """`connector_agents` gives the senders a connector's token stands for."""

    connector_agents: Callable[[str], tuple[str, ...]]

    def agents(self, principal: Principal) -> tuple[str, ...]:
        """Its own addresses, the usual one first."""
        match principal.role:
            case Role.OPERATOR:
                return (HOUSEHOLD_OWNER,)
            case Role.PERSON | Role.USER:
                return (HOUSEHOLD_OWNER,) if principal.is_owner else (user_address(principal.name),)
            case Role.PROGRAM:
                return ()
            case Role.BUTLER:
                return (BUTLER_PREFIX + principal.name,)
            case Role.CONNECTOR:
                return self.connector_agents(principal.name)
            case Role.PERSON | Role.PROGRAM:
                return ()
            case _:
                assert_never(principal.role)

    def speaks_for(self, principal: Principal, agent: str) -> bool:
        return principal.role is Role.OPERATOR or agent in self.agents(principal)

    def name(self, principal: Principal, agent: str) -> str:
        """Who acts when this caller speaks as this agent: never a person by the mouth of a program."""
        if principal.is_person:
            return self.agents(principal)[0]
        return str(principal) if is_of_people(agent) else agent

    def sender(self, principal: Principal, claimed: str | None, field: str = "from_agent") -> str:
        """The agent this caller acts as; what the request says may only repeat it."""
        own = self.agents(principal)
        if claimed is None:
            if own:
                return own[0]
            raise Refused(Code.POLICY_DENIED, f"{principal} speaks for no agent")
        agent = checked_address(claimed, field)
        if not self.speaks_for(principal, agent):
            raise Refused(
                Code.POLICY_DENIED,
                f"{principal} may not speak for this agent",
                fields=[FieldError(field, "is not an agent of the caller", "policy_denied")],
            )
        return agent


def checked_address(text: str, field: str) -> str:
    address = parse_address(text)
    if address is None:
        error = "must be agent:// followed by one to three names of lower-case letters, digits, dots and dashes"
        raise Refused.of(Code.INVALID_AGENT_ADDRESS, [FieldError(field, error, "invalid_agent_address")])
    return address
