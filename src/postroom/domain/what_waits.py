"""How much waits for one person."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatWaits:
    """Questions that ask them, messages that wait for a decision in the household, notes not yet read."""

    questions: int
    approvals: int
    unread: int
