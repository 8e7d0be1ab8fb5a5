from __future__ import annotations

from email.message import Message

import pytest

from postroom.channels.email.building import checked
from postroom.channels.email.incoming.reading import LONGEST_SUBJECT, subject_of


def mail(subject: str) -> Message:
    message = Message()
    message["Subject"] = subject
    return message


@pytest.mark.requirement("talk:subject")
@pytest.mark.parametrize(
    ("written", "carried"),
    [
        ("Today", "Today"),
        ("Re: RE: Aw: Re[2]: Today", "Today"),
        ("=?utf-8?b?R3LDvMOfZQ==?=", "Grüße"),
        ("=?utf-8?q?a=0D=0ABcc:_evil=40example.org?=", "a Bcc: evil@example.org"),
        ("=?utf-8?q?=3D=3Futf-8=3Fq=3Fhidden=3F=3D?=", "= ?utf-8?q?hidden?="),
        ("=?utf-8?q?a=00b=E2=80=AEc?=", "a b c"),
        ("Regarding: it", "Regarding: it"),
        ("Re:", None),
        ("", None),
    ],
)
def test_a_subject_is_one_line_with_nothing_hidden_in_it(written: str, carried: str | None) -> None:
    assert subject_of(mail(written)) == carried
    assert checked("subject", carried or "") == (carried or "")


def test_a_subject_is_bounded_and_a_mail_may_have_none() -> None:
    assert len(subject_of(mail("x" * 5_000)) or "") == LONGEST_SUBJECT
    assert subject_of(Message()) is None
