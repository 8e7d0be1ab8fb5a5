"""How a person wants to be told: where, and at which hours not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from postroom.domain.errors import ValidationError
from postroom.domain.notification import DeliveryChannel
from postroom.domain.principal import Role
from postroom.domain.zone import zone_names
from postroom.doors.console.inbox_page import has_inbox, own_inbox
from postroom.doors.console.visit import ConsolePage, Visit
from postroom.work.inbox.acts import InboxActs
from postroom.work.inbox.ports import PreferenceBook
from postroom.work.inbox.preferences import warnings_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferencePages:
    book: PreferenceBook
    acts: InboxActs
    email_enabled: bool

    async def show(self, visit: Visit) -> Response:
        kept = await self.book.of(own_inbox(visit))
        shown = {
            "delivery_channel": str(kept.delivery_channel),
            "email": kept.email_pending or kept.email or "",
            "quiet_hours_start": kept.quiet_hours_start.isoformat("minutes") if kept.quiet_hours_start else "",
            "quiet_hours_end": kept.quiet_hours_end.isoformat("minutes") if kept.quiet_hours_end else "",
            "quiet_hours_timezone": kept.quiet_hours_timezone,
            "high_priority_passes": kept.high_priority_passes,
        }
        warnings = warnings_of(kept, email_enabled=self.email_enabled)
        return _page(visit, shown, {}, warnings=warnings, waits=kept.email_pending is not None)

    async def save(self, visit: Visit) -> Response:
        wishes = _wishes(visit)
        try:
            confirmed = visit.principal.role is Role.OPERATOR
            await self.acts.prefer(own_inbox(visit), wishes, visit.now_us, confirmed=confirmed)
        except ValidationError as error:
            typed = {name: "" if value is None else value for name, value in wishes.items()}
            return _page(visit, typed, {one.field: one.error for one in error.fields}, status=422)
        return visit.go("/inbox/preferences", "Saved.")


def preference_pages(pages: PreferencePages) -> Sequence[ConsolePage]:
    return (
        ConsolePage("/inbox/preferences", pages.show, open_to=has_inbox),
        ConsolePage("/inbox/preferences", pages.save, "POST", open_to=has_inbox),
    )


def _wishes(visit: Visit) -> dict[str, Any]:
    texts = {name: visit.form.get(name).strip() or None for name in ("email", "quiet_hours_start", "quiet_hours_end")}
    return {
        "delivery_channel": visit.form.get("delivery_channel"),
        **texts,
        "quiet_hours_timezone": visit.form.get("quiet_hours_timezone").strip() or None,
        "high_priority_passes": visit.form.get("high_priority_passes") == "yes",
    }


def _page(
    visit: Visit,
    shown: dict[str, Any],
    complaints: dict[str, str],
    *,
    status: int = 200,
    warnings: Sequence[str] = (),
    waits: bool = False,
) -> Response:
    return visit.show(
        "inbox_preferences.html",
        status=status,
        shown=shown,
        complaints=complaints,
        warnings=warnings,
        waits=waits,
        channels=[
            (DeliveryChannel.IN_APP, "In the inbox"),
            (DeliveryChannel.EMAIL, "By e-mail"),
            (DeliveryChannel.BOTH, "In the inbox and by e-mail"),
        ],
        zones=sorted(zone_names()),
    )
