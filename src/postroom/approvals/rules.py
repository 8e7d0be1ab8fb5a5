"""What is asked about and how dangerous it is; and standing rules: what they say, match, and which is asked first."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Final
from urllib.parse import urlsplit

from postroom.approvals.model import (
    CONSOLE,
    Action,
    ActionStatus,
    ApprovalDecision,
    Constraint,
    ConstraintKind,
    Content,
    Ruling,
    StandingRule,
)
from postroom.delivery.files.kinds import is_dangerous, preview
from postroom.delivery.rules.target import prepared
from postroom.kernel.text.markdown import parse
from postroom.kernel.text.rich import RichText
from postroom.kernel.text.visible import findings, reveal
from postroom.kernel.values.errors import FieldError, PostroomError, ValidationError
from postroom.kernel.values.fields import Document, Fields
from postroom.kernel.values.ids import SECOND_US, DeliveryId, parse_text, seconds
from postroom.message.attachment import FileContents
from postroom.message.channel import Channel, KnownChannels
from postroom.message.delivery import Format, Intent, folded
from postroom.message.outgoing import SEVERAL_AGENTS
from postroom.message.wire import parse_notify
from postroom.message.wishes import Risk

CONSTRAINABLE: Final = ("channel", "recipient", "origin_butler", "intent", "thread", "subject", "message", "emoji")
_SPECIFICITY: Final = {ConstraintKind.EXACT: 2, ConstraintKind.PATTERN: 1, ConstraintKind.ANY: 0}
_LONGEST_VALUE: Final = 500
LONGEST_DESCRIPTION: Final = 500
MOST_USES: Final = 1_000_000
_WILDCARDS_ONLY: Final = re.compile(r"[*?]*")
_HOST: Final = re.compile(r"(?<![\w-])(?:[\w-]+\.)+[^\W\d_]{2,}(?![\w-])")
_UNREADABLE: Final = "(its bytes cannot be read just now)"


# ---- how much harm a message could do if it left unseen ----


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskPolicy:
    default: Risk = Risk.MEDIUM
    by_channel: Mapping[str, Risk] = field(default_factory=dict)

    def of_channel(self, channel: str) -> Risk:
        return self.by_channel.get(channel, self.default)

    @property
    def worst(self) -> Risk:
        return max([self.default, *self.by_channel.values()], key=lambda risk: risk.rank)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPolicy:
    expiry_hours: float = 48.0
    risk: RiskPolicy = field(default_factory=RiskPolicy)
    replies_pass: bool = True  # into a thread somebody really wrote from; never on a payload's word
    most_pending_per_origin: int = 100
    phone: Risk | None = Risk.MEDIUM  # the highest that may be decided outside the console

    @property
    def expiry_us(self) -> int:
        return seconds(self.expiry_hours * 3600)


def risk_of(content: Content, policy: RiskPolicy) -> Risk:
    """
    A reaction says little; a text that hides something says that somebody has something to hide.

    A file is one step more than its message, for fewer people look into it.
    """
    base = policy.of_channel(content.channel)
    if content.attachments:
        base = list(Risk)[min(base.rank + 1, len(Risk) - 1)]
    if _deceptive(content):
        return max(base, Risk.HIGH, key=lambda risk: risk.rank)
    if content.intent is Intent.REACT and not base.is_high:
        return Risk.LOW
    return base


def always_asks(content: Content) -> bool:
    """Whatever the recipient and the standing rules: archives, and what a machine may run."""
    return any(is_dangerous(one.media_type, one.name) for one in content.attachments)


def _deceptive(content: Content) -> bool:
    names = (one.name for one in content.attachments)
    shown = (content.address, content.thread, content.subject, content.message, content.emoji, content.buttons, *names)
    return any(findings(text) for text in shown if text) or any(link.misleading for link in links_of(content))


# ---- its links: what a person would read, where they lead, and whether the two disagree ----


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLink:
    """`misleading`: the words name another host than the one it leads to, or the target hides its host."""

    label: str
    target: str
    host: str
    misleading: bool


def rendered(content: Content) -> RichText | None:
    """None when the message is shown to the letter."""
    return parse(content.message) if content.format is Format.MARKDOWN else None


def links_of(content: Content) -> tuple[ShownLink, ...]:
    rich = rendered(content)
    return links_in(rich) if rich else ()


def links_in(rich: RichText) -> tuple[ShownLink, ...]:
    return tuple(_link(rich.under(span), span.detail) for span in rich.links)


def _link(label: str, target: str) -> ShownLink:
    host, hidden = _host(target)
    named = [one.removeprefix("www.") for one in _HOST.findall(unicodedata.normalize("NFKC", label).casefold())]
    other = any(host != name and not host.endswith(f".{name}") for name in named)
    return ShownLink(label=label, target=target, host=host, misleading=hidden or other)


def _host(target: str) -> tuple[str, bool]:
    """Without www; and whether something before an @ pretends to be it."""
    parts = urlsplit(target)
    host = parts.hostname if parts.scheme in ("http", "https") else parts.path.rpartition("@")[2]
    return (host or "").casefold().removeprefix("www."), "@" in parts.netloc


def revealed_link(link: ShownLink) -> ShownLink:
    return replace(link, label=reveal(link.label), target=reveal(link.target))


async def previews(content: Content, files: FileContents | None) -> dict[str, str]:
    """By hash; nothing is shown of bytes that are not the ones that would be sent."""
    if files is None:
        return {}
    shown: dict[str, str] = {}
    for one in content.attachments:
        try:
            shown[one.sha256] = preview(await files.read(one), one.media_type)
        except PostroomError:
            shown[one.sha256] = _UNREADABLE
    return shown


# ---- standing rules ----


def parse_constraints(payload: object, path: str = "constraints") -> dict[str, Constraint]:
    """
    `{"recipient": {"type": "exact", "value": …}}`; a bare string is exact, whatever it holds.

    A star is a wildcard only where somebody wrote "pattern": an address or a text
    that happens to be a star stays what it is.
    """
    fields = Fields(payload, path)
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


def written(constraints: Mapping[str, Constraint]) -> Document:
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


def _is_strict(rule: StandingRule) -> bool:
    """Good enough for what is dangerous: it says for what, and it ends by itself."""
    return specificity(rule) > 0 and rule.bounded


def standing(
    rules: Iterable[StandingRule], arguments: Mapping[str, str | None], risk: Risk, now_us: int
) -> list[StandingRule]:
    """The rules that let this pass, the most specific first; bounded before unbounded, newer before older."""
    fitting = [
        rule
        for rule in rules
        if rule.active(now_us) and (_is_strict(rule) or not risk.is_high) and matches(rule, arguments)
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


# ---- a rule as a person asks for it ----


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


def parse_rule_request(payload: object, path: str = "") -> RuleRequest:
    """`path` is where in the call it stands."""
    fields = Fields(payload, path, whole="create_rule")
    fields.refuse_unknown(("constraints", "description", "expires_at", "max_uses"))
    request = RuleRequest(
        description=fields.text("description", maximum=LONGEST_DESCRIPTION, required=False, blank=True).strip(),
        expires_at_us=_moment(fields),
        max_uses=_uses(fields),
    )
    fields.finish()
    if not fields.has("constraints"):
        return request
    return replace(request, constraints=parse_constraints(fields.raw("constraints"), fields.path("constraints")))


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
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_USES:
        fields.complain("max_uses", f"must be a whole number from 1 to {MOST_USES}", "out_of_range")
        return None
    return value


# What a decision comes to, from the action as it is and the moment it is taken; edits, and why a person said no.


_EDITABLE: Final = ("message", "subject", "emoji", "recipient")
_EXPIRY_ACTOR = "expiry"
LONGEST_REASON: Final = 500


def approval(
    action: Action,
    *,
    actor: str,
    now_us: int,
    seen_hash: str | None,
    content: Content,
    edited: tuple[str, ...] = (),
    rule: StandingRule | None = None,
    via: str = CONSOLE,
) -> Ruling:
    """`content` is what the person agrees to; without an edit it must be what lies in the ledger."""
    if refused := closed(action, now_us):
        return refused
    if action.content.hash != action.content_hash:
        return _refused((actor, now_us), "content_hash", "the stored content is not what was parked", "content_changed")
    if seen_hash is None and action.revised:
        told = "is needed: the message was worded anew since it was parked; look at it, and name its hash"
        return _refused((actor, now_us), "content_hash", told, "hash_required")
    if seen_hash is not None and seen_hash != action.content_hash:
        return _refused(
            (actor, now_us), "content_hash", "is not the hash of what would be sent; look again", "hash_mismatch"
        )
    return Ruling(
        decision=ApprovalDecision(
            status=ActionStatus.APPROVED,
            actor=actor,
            at_us=now_us,
            content=content,
            edited=edited,
            rule=rule,
            via=via,
        )
    )


def rejection(action: Action, *, actor: str, now_us: int, reason: str, via: str = CONSOLE) -> Ruling:
    if refused := closed(action, now_us):
        return refused
    return Ruling(
        decision=ApprovalDecision(
            status=ActionStatus.REJECTED,
            actor=actor,
            at_us=now_us,
            reason=reason,
            failure=f"a person rejected this message: {reason}",
            via=via,
        )
    )


def expiration(action: Action, now_us: int) -> ApprovalDecision:
    hours = (action.expires_at_us - action.requested_at_us) / (3600 * SECOND_US)
    return ApprovalDecision(
        status=ActionStatus.EXPIRED,
        actor=_EXPIRY_ACTOR,
        at_us=now_us,
        failure=f"nobody approved this message within {hours:g} hours",
    )


def closed(action: Action, now_us: int) -> Ruling | None:
    """Why there is nothing left to decide."""
    if action.status is not ActionStatus.PENDING:
        by = f" by {action.decided_by}" if action.decided_by != _EXPIRY_ACTOR else ""
        return Ruling(refusal=FieldError("action_id", f"was already {action.status}{by}", "already_decided"))
    if action.expires_at_us <= now_us:
        late = "too late: this expired and was not sent"
        return Ruling(refusal=FieldError("action_id", late, "too_late"))
    return None


def _refused(by: tuple[str, int], field: str, error: str, code: str) -> Ruling:
    return Ruling(refusal=FieldError(field, error, code), refused=by)


def read_reason(reason: object) -> str:
    """Raises ValidationError."""
    fields = Fields({"reason": reason})
    text = fields.text("reason", maximum=LONGEST_REASON).strip()
    fields.finish()
    return text


# ---- a parked message changed before it is agreed to, through the same validator as everything else ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    content: Content
    fields: tuple[str, ...]


def edited(action: Action, edits: object, channels: Mapping[str, Channel], known: KnownChannels) -> Edited:
    """Raises ValidationError when the result could not have been sent in the first place."""
    if edits is None:
        return Edited(content=action.content, fields=())
    if not channels:
        raise _wrong("edits", "can be made where the messenger runs; here it can be approved as it is", "not_here")
    channel = channels.get(action.content.channel)
    if channel is None:
        raise _wrong("edits", f"no credentials for {action.content.channel} are set", "channel_unavailable")
    fields = Fields(edits, "edits")
    fields.refuse_unknown(_EDITABLE)
    fields.finish()
    given = {name: fields.raw(name) for name in _EDITABLE if isinstance(edits, Mapping) and name in edits}
    if action.content.revises is not None and "recipient" in given:
        raise _wrong("edits.recipient", "cannot change: the message stands where it was sent", "is_a_correction")
    content = _content(action, given, channel, known)
    prepared(channel, content.to_message(action.id))
    return Edited(content=content, fields=_changed(action.content, content))


def _content(action: Action, given: Document, channel: Channel, known: KnownChannels) -> Content:
    """The envelope as it would have come, had the sender written it so."""
    before = action.content
    fixed = {"intent": str(before.intent), "channel": before.channel, "format": str(before.format)}
    delivery = {"message": before.message, "subject": before.subject, "emoji": before.emoji, **given, **fixed}
    envelope = {**action.envelope, "delivery": {name: value for name, value in delivery.items() if value is not None}}
    notify = parse_notify(envelope, known)
    return Content(
        channel=before.channel,
        intent=before.intent,
        address=_address(before, notify.recipient, channel),
        thread=before.thread,
        subject=notify.subject,
        message=notify.message,
        emoji=notify.emoji,
        markup=before.markup,
        revises=before.revises,
        format=before.format,
        attachments=before.attachments,
    )


def _address(before: Content, recipient: str | None, channel: Channel) -> str:
    if recipient is None:
        return before.address
    if before.intent is not Intent.SEND:
        raise _wrong("edits.recipient", f"a {before.intent} goes where the message it answers came from", "fixed")
    address = channel.address(recipient)
    if address is None:
        raise _wrong("edits.recipient", f"is not an address on {before.channel}", "not_an_address")
    return address


def _changed(before: Content, after: Content) -> tuple[str, ...]:
    pairs = {
        "message": (before.message, after.message),
        "subject": (before.subject, after.subject),
        "emoji": (before.emoji, after.emoji),
        "recipient": (before.address, after.address),
    }
    return tuple(name for name, (old, new) in pairs.items() if old != new)


def _wrong(field: str, error: str, code: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, code)])
