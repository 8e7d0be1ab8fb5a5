"""How long a provider asks us to wait."""

from __future__ import annotations

from postroom.world.http.retry_after import wait_seconds as wait_seconds
