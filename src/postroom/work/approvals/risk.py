"""How much harm a message could do if it left unseen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from postroom.domain.approval import Content, Risk
from postroom.domain.delivery import Intent
from postroom.work.approvals.links import links_of
from postroom.work.approvals.visible import findings


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
    """A reaction says little; a text that hides something says that somebody has something to hide."""
    base = policy.of_channel(content.channel)
    if deceptive(content):
        return max(base, Risk.HIGH, key=lambda risk: risk.rank)
    if content.intent is Intent.REACT and not base.is_high:
        return Risk.LOW
    return base


def deceptive(content: Content) -> bool:
    shown = (content.address, content.thread, content.subject, content.message, content.emoji)
    return any(findings(text) for text in shown if text) or any(link.misleading for link in links_of(content))
