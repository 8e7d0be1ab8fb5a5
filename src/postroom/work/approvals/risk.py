"""How much harm a message could do if it left unseen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from postroom.domain.approval import Content
from postroom.domain.delivery import Intent
from postroom.domain.risk_and_urgency import Risk
from postroom.work.approvals.links import links_of
from postroom.work.approvals.visible import findings
from postroom.work.files.media_type import is_dangerous


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskPolicy:
    default: Risk = Risk.MEDIUM
    by_channel: Mapping[str, Risk] = field(default_factory=dict)

    def of_channel(self, channel: str) -> Risk:
        return self.by_channel.get(channel, self.default)

    @property
    def worst(self) -> Risk:
        return max([self.default, *self.by_channel.values()], key=lambda risk: risk.rank)


def risk_of(content: Content, policy: RiskPolicy) -> Risk:
    """
    A reaction says little; a text that hides something says that somebody has something to hide.

    A file is one step more than its message, for fewer people look into it.
    """
    base = policy.of_channel(content.channel)
    if content.attachments:
        base = list(Risk)[min(base.rank + 1, len(Risk) - 1)]
    if deceptive(content):
        return max(base, Risk.HIGH, key=lambda risk: risk.rank)
    if content.intent is Intent.REACT and not base.is_high:
        return Risk.LOW
    return base


def always_asks(content: Content) -> bool:
    """Whatever the recipient and the standing rules: archives, and what a machine may run."""
    return any(is_dangerous(one.media_type, one.name) for one in content.attachments)


def deceptive(content: Content) -> bool:
    names = (one.name for one in content.attachments)
    shown = (content.address, content.thread, content.subject, content.message, content.emoji, content.buttons, *names)
    return any(findings(text) for text in shown if text) or any(link.misleading for link in links_of(content))
