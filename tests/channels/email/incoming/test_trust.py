from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.channels.email.incoming.trust import is_proved

GMAIL = (
    "mx.google.com; dkim=pass header.i=@example.org header.s=s1 header.b=abc; "
    "spf=pass (google.com: domain of ada@example.org designates 1.2.3.4) smtp.mailfrom=ada@example.org; "
    "dmarc=pass (p=REJECT sp=REJECT dis=NONE) header.from=example.org"
)
PROVED = {
    "gmail": GMAIL,
    "dmarc": "mx.google.com; dmarc=pass header.from=example.org",
    "with a version": "mx.google.com 1; dmarc/1=pass header.from=example.org",
    "in capitals": "MX.Google.com; DMARC=Pass header.From=Example.org",
    "aligned signature": "mx.google.com; dkim=pass header.d=example.org",
    "signature and no policy": "mx.google.com; dmarc=none header.from=example.org; dkim=pass header.d=example.org",
    "quoted": 'mx.google.com; dmarc=pass reason="all; is (well" header.from=example.org',
}
NOT_PROVED = {
    "another server": "mx.evil.example; dmarc=pass header.from=example.org",
    "failed": "mx.google.com; dmarc=fail header.from=example.org; dkim=pass header.d=example.org",
    "about another": "mx.google.com; dmarc=pass header.from=evil.example",
    "about none": "mx.google.com; dmarc=pass",
    "sender policy alone": "mx.google.com; spf=pass smtp.mailfrom=ada@example.org",
    "signed by another": "mx.google.com; dkim=pass header.d=evil.example",
    "signed by a name that ends alike": "mx.google.com; dkim=pass header.d=ple.org",
    "signed by a whole top level": "mx.google.com; dkim=pass header.d=org",
    "in a comment": "mx.google.com; spf=none (dmarc=pass header.from=example.org)",
    "in a string": 'mx.google.com; spf=fail reason="x; dmarc=pass header.from=example.org"',
    "in a nested comment": "mx.google.com (a (b) ; dmarc=pass header.from=example.org); none",
    "both": "mx.google.com; dmarc=pass header.from=example.org; dmarc=fail header.from=example.org",
    "said twice": "mx.google.com; dmarc=pass header.from=evil.example header.from=example.org",
    "none": "mx.google.com; none",
    "empty": "",
}


@pytest.mark.requirement("mail:proved-sender")
@pytest.mark.parametrize("header", PROVED.values(), ids=PROVED)
def test_our_own_receiver_proves_a_sender(header: str) -> None:
    assert is_proved([header], "mx.google.com", "example.org")


@pytest.mark.requirement("mail:proved-sender")
@pytest.mark.parametrize("header", NOT_PROVED.values(), ids=NOT_PROVED)
def test_nothing_else_does(header: str) -> None:
    assert not is_proved([header], "mx.google.com", "example.org")


def test_only_the_topmost_header_counts() -> None:
    assert is_proved([GMAIL, NOT_PROVED["failed"]], "mx.google.com", "example.org")
    assert not is_proved([NOT_PROVED["another server"], GMAIL], "mx.google.com", "example.org")
    assert not is_proved([], "mx.google.com", "example.org")


def test_without_a_name_for_our_receiver_nothing_is_proved() -> None:
    assert not is_proved(["; dmarc=pass header.from=example.org"], "", "example.org")


def test_a_domain_below_the_signing_one_is_aligned() -> None:
    assert is_proved(["mx; dkim=pass header.d=example.org"], "mx", "mail.example.org")
    assert not is_proved(["mx; dkim=pass header.d=mail.example.org"], "mx", "example.org")


@given(st.text(alphabet=st.sampled_from('mx;=()"\\ .dmarcpheorfg'), max_size=200))
def test_no_header_makes_it_stumble(header: str) -> None:
    is_proved([header], "mx", "example.org")
