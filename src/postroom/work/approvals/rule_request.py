"""A rule as a person asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from postroom.domain.approval import Constraint, StandingRule
from postroom.domain.fields import Fields
from postroom.domain.ids import DeliveryId
from postroom.domain.time import parse_text
from postroom.work.approvals.rules import parse_constraints

_LONGEST_DESCRIPTION: Final = 500
_MOST_USES: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRequest:
    """`constraints` None takes the suggestion made from an action."""

    constraints: Mapping[str, Constraint] | None = None
    description: str = ""
    expires_at_us: int | None = None
    max_uses: int | None = None

    def to_rule(
        self,
        *,
        rule_id: str,
        actor: str,
        now_us: int,
        suggestion: Mapping[str, Constraint] | None = None,
        created_from: DeliveryId | None = None,
    ) -> StandingRule:
        return StandingRule(
            id=rule_id,
            constraints=dict(self.constraints if self.constraints is not None else suggestion or {}),
            description=self.description,
            created_by=actor,
            created_at_us=now_us,
            created_from=created_from,
            expires_at_us=self.expires_at_us,
            max_uses=self.max_uses,
        )

    def once(self, rule: StandingRule) -> StandingRule:
        """Where an unbounded rule would be refused, agreeing "and the next one too" is still a sensible wish."""
        return replace(rule, max_uses=1)


def wanted_rule(create_rule: bool | dict[str, Any]) -> RuleRequest | None:
    """The rule that comes with an approval: none, the one that suggests itself, or one with bounds of its own."""
    if isinstance(create_rule, bool):
        return RuleRequest() if create_rule else None
    return parse_rule_request(create_rule)


def parse_rule_request(payload: object) -> RuleRequest:
    fields = Fields(payload, whole="create_rule")
    fields.refuse_unknown(("constraints", "description", "expires_at", "max_uses"))
    request = RuleRequest(
        description=fields.text("description", maximum=_LONGEST_DESCRIPTION, required=False, blank=True).strip(),
        expires_at_us=_moment(fields),
        max_uses=_uses(fields),
    )
    fields.finish()
    if not fields.has("constraints"):
        return request
    return replace(request, constraints=parse_constraints(fields.raw("constraints")))


def _moment(fields: Fields) -> int | None:
    text = fields.optional_text("expires_at", maximum=64)
    try:
        return parse_text(text) if text else None
    except (ValueError, OverflowError):
        fields.complain("expires_at", "must be an RFC 3339 time with an offset", "rfc3339_string_required")
        return None


def _uses(fields: Fields) -> int | None:
    value: Any = fields.raw("max_uses")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_USES:
        fields.complain("max_uses", f"must be a whole number from 1 to {_MOST_USES}", "out_of_range")
        return None
    return value
