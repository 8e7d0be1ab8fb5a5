"""Everything below /console/attention."""

from __future__ import annotations

from postroom.doors.console.attention_notice_page import NoticePages
from postroom.doors.console.attention_page import AttentionPages
from postroom.doors.console.attention_people import AttentionPeople, Folk, is_somebody
from postroom.doors.console.attention_policy_page import PolicyPages
from postroom.doors.console.navigation import NavigationGroup
from postroom.doors.console.visit import ConsolePage, ConsoleSection, Handler
from postroom.work.attention.attention import Attention


def attention_section(attention: Attention, folk: Folk) -> ConsoleSection:
    people = AttentionPeople(attention=attention, folk=folk)
    pages = AttentionPages(attention=attention, people=people)
    notices = NoticePages(attention=attention, people=people)
    policies = PolicyPages(attention=attention, people=people)
    return ConsoleSection(
        name="Attention",
        group=NavigationGroup.YOURS,
        pages=(
            _get("/attention", pages.show),
            _post("/attention/unmute", pages.unmute),
            _post("/attention/away", pages.away),
            _post("/attention/back", pages.back),
            _get("/attention/policy", policies.show),
            _post("/attention/policy", policies.change),
            _get("/attention/notices/{id}", notices.show),
            _post("/attention/notices/{id}/ok", notices.ok),
            _post("/attention/notices/{id}/later", notices.later),
            _post("/attention/notices/{id}/withdraw", notices.withdraw),
            _post("/attention/notices/{id}/mute", notices.mute),
        ),
    )


def _get(path: str, handler: Handler) -> ConsolePage:
    return ConsolePage(path, handler, open_to=is_somebody)


def _post(path: str, handler: Handler) -> ConsolePage:
    return ConsolePage(path, handler, "POST", open_to=is_somebody)
