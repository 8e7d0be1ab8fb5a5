"""How long a provider asks us to wait; for channels of any author, at a path that stays."""

from __future__ import annotations

from postroom.kernel.http.answers import wait_seconds

__all__ = ["wait_seconds"]
