"""News that a channel brings goes to the record, and to no other handler."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from postroom.domain.ids import DeliveryId
from postroom.domain.inbound_message import InboundMessage, LateNews, NewsKind
from postroom.work.delivery.late_news import LONGEST, keep_news, news_handler

READ = LateNews(channel="slack", event_id="e1", kind=NewsKind.READ, at_us=1, provider_id="7", words="fine")


@dataclass
class Notebook:
    kept: list[LateNews] = field(default_factory=list)

    async def keep(self, news: LateNews) -> DeliveryId | None:
        self.kept.append(news)
        return DeliveryId("d1") if news.provider_id == "7" else None


@pytest.mark.requirement("chan:late-news")
async def test_news_is_handed_to_the_record_also_when_it_is_about_nothing_of_ours() -> None:
    notebook = Notebook()
    handle = news_handler(notebook)
    strange = replace(READ, provider_id="8")

    assert [await handle(READ), await handle(strange)] == [True, True]
    assert notebook.kept == [READ, strange]


async def test_what_people_write_is_for_others() -> None:
    notebook = Notebook()
    message = InboundMessage(channel="slack", number=1, message_id="1", places=("D1",))

    assert await news_handler(notebook)(message) is False
    assert notebook.kept == []


async def test_words_are_kept_as_one_short_line_that_every_store_can_hold() -> None:
    notebook = Notebook()

    assert await keep_news(notebook, replace(READ, words="a\x00b\r\n\u202ec\ud800 " + "x" * 999)) == "d1"

    [kept] = notebook.kept
    assert kept.words.startswith("a\ufffdb c\ufffd xxx")
    assert len(kept.words) == LONGEST
