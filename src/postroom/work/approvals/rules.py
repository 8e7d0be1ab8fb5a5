"""Standing rules: what they may say, what they match, and which one is asked first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from postroom.domain.address_folding import folded
from postroom.domain.approval import Constraint, ConstraintKind, Content, StandingRule
from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.fields import Fields
from postroom.domain.outgoing import SEVERAL_AGENTS
from postroom.domain.risk_and_urgency import Risk
from postroom.work.approvals.risk import RiskPolicy

CONSTRAINABLE: Final = ("channel", "recipient", "origin_butler", "intent", "thread", "subject", "message", "emoji")
_SPECIFICITY: Final = {ConstraintKind.EXACT: 2, ConstraintKind.PATTERN: 1, ConstraintKind.ANY: 0}
_LONGEST_VALUE: Final = 500
_WILDCARDS_ONLY: Final = re.compile(r"[*?]*")


def parse_constraints(payload: object) -> dict[str, Constraint]:
    """
    `{"recipient": {"type": "exact", "value": …}}`; a bare string is exact, whatever it holds.

    A star is a wildcard only where somebody wrote "pattern": an address or a text
    that happens to be a star stays what it is.
    """
    fields = Fields(payload, "constraints")
    fields.refuse_unknown(CONSTRAINABLE)
    constraints: dict[str, Constraint] = {}
    for name in CONSTRAINABLE:
        if fields.has(name):
            constraints[name] = _constraint(fields, name)
    fields.finish()
    return constraints


def _constraint(fields: Fields, name: str) -> Constraint:
    if isinstance(fields.raw(name), str):
        return Constraint(ConstraintKind.EXACT, fields.text(name, maximum=_LONGEST_VALUE))
    inner = fields.nested(name)
    inner.refuse_unknown(("type", "value"))
    kind = inner.choice("type", list(ConstraintKind))
    if kind == ConstraintKind.ANY:
        return Constraint(ConstraintKind.ANY)
    value = inner.text("value", maximum=_LONGEST_VALUE)
    return Constraint(ConstraintKind(kind) if kind else ConstraintKind.EXACT, value)


def written(constraints: Mapping[str, Constraint]) -> dict[str, Any]:
    """As they are stored and shown; `parse_constraints` reads it back."""
    return {
        name: {"type": str(one.kind)} | ({} if one.kind is ConstraintKind.ANY else {"value": one.value})
        for name, one in constraints.items()
    }


def arguments_of(content: Content, origin_butler: str) -> dict[str, str | None]:
    return {
        "channel": content.channel,
        "recipient": content.address,
        "origin_butler": origin_butler,
        "intent": str(content.intent),
        "thread": content.thread,
        "subject": content.subject,
        "message": content.message,
        "emoji": content.emoji,
    }


def matches(rule: StandingRule, arguments: Mapping[str, str | None]) -> bool:
    return all(_holds(one, name, arguments.get(name)) for name, one in rule.constraints.items())


def _holds(constraint: Constraint, name: str, value: str | None) -> bool:
    if constraint.kind is ConstraintKind.ANY:
        return True
    if value is None:
        return False
    wanted, value = (folded(constraint.value), folded(value)) if name == "recipient" else (constraint.value, value)
    if constraint.kind is ConstraintKind.EXACT:
        return value == wanted
    each = value.split(SEVERAL_AGENTS) if name == "origin_butler" else [value]
    return all(fnmatchcase(one, wanted) for one in each)


def specificity(rule: StandingRule) -> int:
    return sum(_SPECIFICITY[one.kind] for one in rule.constraints.values() if _narrows(one))


def _narrows(constraint: Constraint) -> bool:
    """A pattern made of wildcards alone narrows nothing."""
    if constraint.kind is ConstraintKind.PATTERN:
        return _WILDCARDS_ONLY.fullmatch(constraint.value) is None
    return constraint.kind is ConstraintKind.EXACT


def is_strict(rule: StandingRule) -> bool:
    """Good enough for what is dangerous: it says for what, and it ends by itself."""
    return specificity(rule) > 0 and rule.bounded


def standing(
    rules: Iterable[StandingRule], arguments: Mapping[str, str | None], risk: Risk, now_us: int
) -> list[StandingRule]:
    """The rules that let this pass, the most specific first; bounded before unbounded, newer before older."""
    fitting = [
        rule
        for rule in rules
        if rule.active(now_us) and (is_strict(rule) or not risk.is_high) and matches(rule, arguments)
    ]
    return sorted(fitting, key=lambda rule: (-specificity(rule), not rule.bounded, -rule.created_at_us, rule.id))


def check_rule(rule: StandingRule, policy: RiskPolicy, now_us: int) -> None:
    """Raises ValidationError for a rule nobody should be able to make by mistake."""
    problems: list[FieldError] = []
    if rule.expires_at_us is not None and rule.expires_at_us <= now_us:
        problems.append(FieldError("expires_at", "must be in the future", "in_the_past"))
    if rule.max_uses is not None and rule.max_uses < 1:
        problems.append(FieldError("max_uses", "must be at least 1", "out_of_range"))
    if (risk := widest_risk(rule, policy)).is_high:
        if specificity(rule) == 0:
            problems.append(FieldError("constraints", f"a {risk} rule must name what it is for", "too_wide"))
        if not rule.bounded:
            problems.append(FieldError("max_uses", f"a {risk} rule needs max_uses or expires_at", "unbounded"))
    if problems:
        raise ValidationError.of(problems)


def widest_risk(rule: StandingRule, policy: RiskPolicy) -> Risk:
    """The worst that the rule could let pass, as far as channels tell."""
    channel = rule.constraints.get("channel")
    if channel is not None and channel.kind is ConstraintKind.EXACT:
        return policy.of_channel(channel.value)
    return policy.worst


def suggested(content: Content, origin_butler: str) -> dict[str, Constraint]:
    """From one approval to a rule: the same sender to the same person, whatever the words."""
    exact = {
        "channel": content.channel,
        "recipient": content.address,
        "origin_butler": origin_butler,
        "intent": str(content.intent),
    }
    return {name: Constraint(ConstraintKind.EXACT, value) for name, value in exact.items()}
