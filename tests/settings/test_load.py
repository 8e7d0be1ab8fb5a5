"""Settings: where they come from, which wins, and one sentence for every mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from postroom.kernel.values.errors import SettingsError
from postroom.message.delivery import OnUncertain
from postroom.settings import Settings
from postroom.settings.load import MissingVariable, load, resolve


def loaded(home: Path, environment: dict[str, str] | None = None, **overrides: Any) -> Settings:
    return load({"POSTROOM_HOME": str(home), **(environment or {})}, overrides)[0]


def complaint(home: Path, environment: dict[str, str] | None = None, **overrides: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        loaded(home, environment, **overrides)
    return str(caught.value)


def test_without_anything_there_are_the_defaults_of_the_specification(tmp_path: Path) -> None:
    settings = loaded(tmp_path)

    assert (settings.limits.global_per_minute, settings.limits.in_flight, settings.limits.recipient_per_minute) == (
        60,
        100,
        10,
    )
    assert (settings.retry.max_attempts, settings.retry.base_seconds, settings.retry.max_seconds) == (3, 1.0, 60.0)
    assert (settings.breaker.failure_threshold, settings.breaker.recovery_seconds) == (5, 60.0)
    assert (settings.timeouts.telegram_seconds, settings.timeouts.email_seconds) == (15.0, 45.0)
    assert (settings.host, settings.ports.messenger, settings.in_sandbox) == ("127.0.0.1", 40104, True)
    assert settings.database == f"sqlite:///{tmp_path}/postroom.db"


def test_each_source_wins_over_the_one_before(tmp_path: Path) -> None:
    (tmp_path / "postroom.toml").write_text(
        'host = "file"\n[retry]\nmax_attempts = 4\nbase_seconds = 2\n[owner]\nname="A"'
    )
    (tmp_path / "secrets.toml").write_text('[telegram]\ntoken = "1:from-secrets"\n[retry]\nmax_attempts = 5\n')
    environment = {
        "POSTROOM_HOME": str(tmp_path),
        "POSTROOM_RETRY__MAX_ATTEMPTS": "6",
        "POSTROOM_HOST": "environment",
        "BUTLER_EMAIL_ADDRESS": "bot@example.com",
    }

    settings, sources = load(environment, {"host": "line", "redis_url": None})

    assert (settings.host, settings.retry.max_attempts, settings.retry.base_seconds) == ("line", 6, 2.0)
    assert settings.telegram.token.reveal() == "1:from-secrets"
    assert (settings.email.address, settings.owner.name) == ("bot@example.com", "A")
    assert sources["host"] == "command line"
    assert sources["retry.max_attempts"] == "POSTROOM_RETRY__MAX_ATTEMPTS"
    assert sources["retry.base_seconds"] == str(tmp_path / "postroom.toml")
    assert sources["telegram.token"] == str(tmp_path / "secrets.toml")
    assert sources["email.address"] == "BUTLER_EMAIL_ADDRESS"


@pytest.mark.requirement("messenger:module-profile")
def test_the_three_credentials_of_the_specification_end_the_sandbox(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        {
            "BUTLER_TELEGRAM_TOKEN": "1:a",
            "BUTLER_EMAIL_ADDRESS": "bot@example.com",
            "BUTLER_EMAIL_PASSWORD": "pass",
        },
    )

    assert (settings.telegram.token.reveal(), settings.email.password.reveal()) == ("1:a", "pass")
    assert (settings.in_sandbox, settings.approvals_on) == (False, True)
    assert loaded(tmp_path, {"BUTLER_TELEGRAM_TOKEN": "1:a", "POSTROOM_SANDBOX": "true"}).in_sandbox
    assert loaded(tmp_path, {"POSTROOM_APPROVALS__ENABLED": "true"}).approvals_on


def test_tables_and_lists_come_as_json_in_the_environment(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        {
            "POSTROOM_LIMITS__CHANNELS": '{"telegram.bot": 5}',
            "POSTROOM_ALLOWED_HOSTS": '["post.example"]',
            "POSTROOM_CONTACTS": '[{"name": "Ann", "telegram_chat_id": 77}]',
            "POSTROOM_DELIVERY__ON_UNCERTAIN_BY_CHANNEL": '{"email": "hold"}',
        },
    )

    assert settings.limits.channels == {"telegram.bot": 5}
    assert settings.allowed_hosts == ("post.example",)
    assert settings.contacts[0].telegram_chat_id == "77"
    assert settings.delivery.on_uncertain_by_channel == {"email": OnUncertain.HOLD}


def test_a_chat_may_be_written_as_a_number(tmp_path: Path) -> None:
    (tmp_path / "postroom.toml").write_text("[owner]\ntelegram_chat_id = -1001234\n")

    assert loaded(tmp_path).owner.telegram_chat_id == "-1001234"


MISTAKES = {
    "an unknown table": ("[limts]\nin_flight = 1", "{file}: unknown key 'limts', did you mean 'limits'?"),
    "an unknown key": (
        "[limits]\nin_fligth = 1",
        "{file}: unknown key 'limits.in_fligth', did you mean 'in_flight'?",
    ),
    "an unknown key nowhere near": ("zzzzzz = 1", "{file}: unknown key 'zzzzzz'."),
    "an unknown key of a contact": (
        '[[contacts]]\nname = "Ann"\ntelegramm_chat_id = 1',
        "{file}: unknown key 'contacts.0.telegramm_chat_id', did you mean 'telegram_chat_id'?",
    ),
    "an unknown key of a connector": (
        "[connectors.chatgpt]\nagentz = []",
        "{file}: unknown key 'connectors.chatgpt.agentz', did you mean 'agents'?",
    ),
    "a word for a number": (
        '[limits]\nin_flight = "many"',
        "{file}: limits.in_flight: must be a whole number.",
    ),
    "nothing at all": ("[limits]\nin_flight = 0", "{file}: limits.in_flight: must be more than 0."),
    "endless": ("[retry]\nmax_seconds = inf", "{file}: retry.max_seconds: must be a finite number."),
    "not a number": ("[retry]\njitter = nan", "{file}: retry.jitter: must be a finite number."),
    "longer than a life": (
        "[breaker]\nrecovery_seconds = 1e300",
        "{file}: breaker.recovery_seconds: must be at most 31622400.",
    ),
    "a port nobody has": ("[ports]\napi = 70000", "{file}: ports.api: must be at most 65535."),
    "a choice that is none": (
        '[email]\nsmtp_security = "maybe"',
        "{file}: email.smtp_security: must be one of starttls, tls or none.",
    ),
    "a contact without a name": ('[[contacts]]\nemail = "a@b"', "{file}: contacts.0.name: is required."),
    "a secret that is none": ("[telegram]\ntoken = 123", "{file}: telegram.token: must be a string."),
    "no TOML": ("host = ", "{file}: is not valid TOML (Invalid value (at end of document)); mend that line."),
}


@pytest.mark.parametrize(("text", "sentence"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_in_the_file_is_one_sentence_with_file_and_key(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "postroom.toml"
    file.write_text(text)

    assert complaint(tmp_path) == sentence.format(file=file)


def test_a_mistake_in_the_environment_names_the_variable(tmp_path: Path) -> None:
    assert complaint(tmp_path, {"POSTROOM_LIMTS__IN_FLIGHT": "5"}) == (
        "POSTROOM_LIMTS__IN_FLIGHT: unknown key 'limts', did you mean 'limits'?"
    )
    assert complaint(tmp_path, {"POSTROOM_RETRY__JITTER": "2"}) == (
        "POSTROOM_RETRY__JITTER: retry.jitter: must be at most 1."
    )
    assert complaint(tmp_path, {"POSTROOM_CONTACTS": "[{"}).startswith("POSTROOM_CONTACTS: contacts: ")


def test_a_mistake_on_the_command_line_says_so(tmp_path: Path) -> None:
    assert complaint(tmp_path, sandbox="perhaps").startswith("command line: sandbox: ")


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "postroom.toml").write_text("zzzzzz = 1\n[limits]\nin_flight = 0\n")

    assert len(complaint(tmp_path).splitlines()) == 2


def test_a_file_that_is_named_must_exist(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere.toml"

    assert complaint(tmp_path, {"POSTROOM_CONFIG": str(missing)}) == (
        f"{missing}: no such file, though POSTROOM_CONFIG names it; correct or unset that variable."
    )


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "postroom.toml").mkdir()
    assert "postroom.toml: cannot be read" in complaint(tmp_path)
    (tmp_path / "postroom.toml").rmdir()
    (tmp_path / "postroom.toml").write_bytes(b"\xff\xfe")
    assert "postroom.toml: cannot be read" in complaint(tmp_path)


@pytest.mark.parametrize(
    ("environment", "home"),
    [
        ({"POSTROOM_HOME": "/a", "HOME": "/h"}, "/a"),
        ({"XDG_DATA_HOME": "/data", "HOME": "/h"}, "/data/postroom"),
        ({"HOME": "/h"}, "/h/.local/share/postroom"),
    ],
)
def test_the_home_is_where_data_belongs(environment: dict[str, str], home: str) -> None:
    assert load(environment)[0].home == Path(home)


def test_variables_of_the_test_run_are_nobody_s_settings(tmp_path: Path) -> None:
    assert loaded(tmp_path, {"POSTROOM_TEST_POSTGRES_URL": "x"}).database.startswith("sqlite")


def test_every_text_is_looked_at_and_nothing_else() -> None:
    missing: list[MissingVariable] = []
    written = {"a": "${ONE}-${TWO}", "b": ["${ONE}", 3], "c": {"d": True, "e": "$ONE ${} ${1X}"}}

    assert resolve(written, {"ONE": "1", "TWO": "2"}, missing) == {
        "a": "1-2",
        "b": ["1", 3],
        "c": {"d": True, "e": "$ONE ${} ${1X}"},
    }
    assert missing == []


def test_a_value_is_not_read_again() -> None:
    assert resolve("${ONE}", {"ONE": "${TWO}", "TWO": "2"}, []) == "${TWO}"


def test_what_is_missing_is_noted_with_its_key() -> None:
    missing: list[MissingVariable] = []

    resolve({"a": {"b": ["x", "${GONE}${AWAY}"]}}, {}, missing, "top")

    assert missing == [MissingVariable("top.a.b.1", "GONE"), MissingVariable("top.a.b.1", "AWAY")]
