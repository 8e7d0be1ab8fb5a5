from __future__ import annotations

import pytest

from postroom.world.channels.apprise.channel import AppriseService
from postroom.world.channels.apprise.url_rules import CHAINS, FILES, HERE, OURS

REFUSED = [
    *(f"{schema}://canary" for schema in sorted(HERE)),
    *(f"{schema}://example.org/canary" for schema in sorted(CHAINS)),
    *(f"json://example.org/canary?{name}=1" for name in sorted(OURS | FILES)),
    "json://example.org/canary?ReTry=3",
    "json://example.org/canary?a=1&%72etry=3",
    "discord://123456/canary-token?template=/etc/passwd",
    "https://discord.com/api/webhooks/123456/canary-token?template=/etc/passwd",
    "fcm://project@canary/token?keyfile=/etc/passwd",
    "vapid://canary@example.org/a@example.org?keyfile=/etc/passwd",
    "mailto://us:canary@example.org?pgpprv=/etc/passwd",
    "json://example.org/a,json://example.org/canary",
    "json://example.org/a, json://example.org/canary",
    "json://example.org/a json://example.org/canary",
    "json://example.org/canary path",
    "json://example.org/\ncanary",
    "tgram://123456789:abcdefg_hijklmnop/11111/22222?from=canary",
    "file:///etc/canary",
    "http://example.org/canary",
    "https://example.org/canary",
    "memory://canary",
    "nosuchservice://canary",
    "json://",
    "canary",
    "",
    "json://127.0.0.1/canary",
    "json://localhost/canary",
    "json://[::1]/canary",
    "ntfy://169.254.169.254/canary",
]


@pytest.mark.requirement("house:apprise-urls")
@pytest.mark.parametrize("url", REFUSED)
def test_such_a_url_is_refused_in_a_sentence_that_does_not_repeat_it(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    with pytest.raises(ValueError, match=r"^the Apprise url ") as caught:
        AppriseService("pager", url)

    assert "canary" not in str(caught.value) + caplog.text
    assert caught.value.__cause__ is None


@pytest.mark.requirement("house:apprise-urls")
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("json://example.org/?retry=3&wait=2", "must not set retry, wait: retries, patience and form"),
        ("json://example.org/?template=x", "must not set template: it can read files"),
        ("syslog://", "must not be syslog: it would do something on this machine"),
        ("apprise://example.org/token", "must not lead to another Apprise"),
        ("tgram://123456789:abcdefg_hijklmnop/11111/22222", "names 2 recipients; make an account for each"),
        ("json://127.0.0.1/", "leads to a private address, which needs allow_private = true"),
    ],
)
def test_the_sentence_says_what_to_change(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^the Apprise url {said}"):
        AppriseService("pager", url)


@pytest.mark.parametrize(
    "url",
    [
        "json://example.org/hook?+X-Key=a",
        "ntfys://ntfy.example.org/kitchen",
        "gotify://example.org/token",
        "tgram://123456789:abcdefg_hijklmnop/11111",
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/%23general",
        "discord://123456/token?avatar_url=https://example.org/a.png",
        "https://discord.com/api/webhooks/123456/token",
        "mailtos://us:secret@example.org?to=ada@example.org",
        "pover://abcdefghijklmnopqrstuvwxyz1234@token1234567890123456789012345",
    ],
)
def test_a_service_elsewhere_is_taken(url: str) -> None:
    assert AppriseService("pager", f" {url} ").address("-") == "-"
