"""Markdown on a page: nothing of it can be followed or run."""

from __future__ import annotations

import pytest

from postroom.console.words import FILTERS, formatted, shown_links


@pytest.mark.requirement("content:links-in-approvals", "content:no-injection")
def test_a_message_is_shown_as_it_will_look_with_its_links_apart() -> None:
    source = "# T\n\n**b** [bank.example](https://evil.example) <script>x</script>"

    assert (
        formatted(source)
        == "<strong>T</strong><br>\n<br>\n<strong>b</strong> bank.example &lt;script&gt;x&lt;/script&gt;"
    )
    (link,) = shown_links(source)
    assert (link.target, link.misleading) == ("https://evil.example", True)


def test_the_pages_know_both() -> None:
    assert (FILTERS["formatted"], FILTERS["shown_links"]) == (formatted, shown_links)
