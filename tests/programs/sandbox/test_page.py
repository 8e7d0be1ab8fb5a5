from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from postroom.programs.sandbox.faults import Fault, FaultChannel
from postroom.programs.sandbox.page import NOTICE, PAGE_HEADERS, render
from postroom.programs.sandbox.records import ReceivedMail, StoredMail, TelegramMessage

KNOWN = {"html", "head", "meta", "title", "style", "body", "p", "h1", "h2", "h3", "main", "section", "ol", "li", "span"}
text = st.text(alphabet=st.characters(codec="utf-8"), max_size=40) | st.sampled_from(
    ["<script>", "</p><img src=x>", "\"'onload=x", "</style>", "<!--", "]]>", "&lt;"]
)


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}


def message(text: str, name: str, emoji: str) -> TelegramMessage:
    return TelegramMessage(
        message_id=1, chat_id="42", text=text, date_us=1, from_person=True, from_name=name, reactions=(emoji,)
    )


@given(text, text, text)
def test_no_text_becomes_an_element_or_an_attribute(first: str, second: str, third: str) -> None:
    mail = ReceivedMail(sender=first, recipients=(second,), subject=third, body=first)

    page = render([message(first, second, third)], [StoredMail(email_id=1, received_us=1, mail=mail)], [])

    parsed = Elements()
    parsed.feed(page)
    assert set(parsed.tags) <= KNOWN and parsed.tags.count("li") == 2
    assert parsed.attributes <= {"lang", "charset", "name", "content", "class", "role", "aria-label"}


def test_an_empty_sandbox_says_so_and_an_armed_fault_is_announced() -> None:
    page = render([], [], [Fault(channel=FaultChannel.EMAIL, status=503)])

    assert page.count(NOTICE) == 2
    assert "No messages yet." in page and "No e-mail yet." in page
    assert "1 fault armed" in page


def test_the_policy_allows_exactly_the_pages_own_style() -> None:
    found = re.search("<style>(.*)</style>", render([], [], []), re.DOTALL)
    assert found is not None
    fingerprint = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()

    assert f"style-src 'sha256-{fingerprint}'" in PAGE_HEADERS["Content-Security-Policy"]
