from __future__ import annotations

import pytest
from tests.work.approvals.parked import content, pending_action

from postroom.domain.delivery import Format
from postroom.domain.risk_and_urgency import Risk
from postroom.work.approvals.links import links_of
from postroom.work.approvals.risk import RiskPolicy, risk_of
from postroom.work.approvals.shapes import detail


@pytest.mark.requirement("content:links-in-approvals")
@pytest.mark.parametrize(
    ("source", "misleading"),
    [
        ("[here](https://a.example/x)", False),
        ("[a.example](https://a.example/x)", False),
        ("[www.a.example](https://a.example)", False),
        ("[a.example](https://docs.a.example)", False),
        ("[https://bank.example/login](https://evil.example)", True),
        ("[pay at bank.example now](https://evil.example)", True),
        ("[bank.example](https://bank.example.evil.example)", True),
        ("[click](https://bank.example@evil.example)", True),
        ("[ann@bank.example](mailto:eve@evil.example)", True),
        ("[ann@bank.example](mailto:ann@bank.example)", False),
        ("![bank.example](https://evil.example/i.png)", True),
    ],
)
def test_a_label_that_names_another_host_misleads_and_is_a_high_risk(source: str, misleading: bool) -> None:
    written = content(message=source, format=Format.MARKDOWN)

    (link,) = links_of(written)
    assert link.misleading is misleading
    assert risk_of(written, RiskPolicy()) is (Risk.HIGH if misleading else Risk.MEDIUM)


@pytest.mark.requirement("content:links-in-approvals")
def test_who_decides_sees_the_text_how_it_reads_and_where_links_lead() -> None:
    written = content(message="**Hi** [there](https://a.example/x)", format=Format.MARKDOWN)

    shown = detail(pending_action(content=written, content_hash=written.hash), [])

    assert shown["content"]["message"] == "**Hi** [there](https://a.example/x)"
    assert (shown["format"], shown["rendered"], shown["intact"]) == ("markdown", "Hi there", True)
    assert shown["links"] == [
        {"label": "there", "target": "https://a.example/x", "host": "a.example", "misleading": False}
    ]


def test_plain_text_has_no_links_and_the_same_text_in_another_format_is_another_content() -> None:
    assert links_of(content(message="[a.example](https://b.example)")) == ()
    assert content(message="x").hash != content(message="x", format=Format.MARKDOWN).hash
