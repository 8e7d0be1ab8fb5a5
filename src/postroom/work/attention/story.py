"""All that was ever noted about one notice: what happened to it and what was decided, in order."""

from __future__ import annotations

from postroom.work.attention.decisions import Decision
from postroom.work.attention.facts import Fact
from postroom.work.attention.notice_book import NoticeBook
from postroom.work.attention.stored import event_of
from postroom.work.attention.views import NoticeView


async def story(book: NoticeBook, view: NoticeView) -> tuple[Fact | Decision, ...]:
    return tuple(event_of(row) for row in await book.store.log(view.person, notice=view.id))
