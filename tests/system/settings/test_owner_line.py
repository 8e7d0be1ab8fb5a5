"""The owner's chat is written into any settings file that can take it; everything else stays as it was."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.system.settings.owner_line import with_owner_chat

LINE = 'telegram_chat_id = "42"'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("", f"[owner]\n{LINE}\n", id="nothing"),
        pytest.param("# mine\n", f"# mine\n\n[owner]\n{LINE}\n", id="a comment"),
        pytest.param('host = "::1"', f'host = "::1"\n\n[owner]\n{LINE}\n', id="no last line end"),
        pytest.param(
            '[owner] # me\nname = "Ada"\n\n[ports]\napi = 1\n',
            f'[owner] # me\n{LINE}\nname = "Ada"\n\n[ports]\napi = 1\n',
            id="an owner without a chat",
        ),
        pytest.param(
            '[owner]\ntelegram_chat_id   =  "7"  # old\n', '[owner]\ntelegram_chat_id   =  "42"  # old\n', id="another"
        ),
        pytest.param("[owner]\ntelegram_chat_id = -7\n", f"[owner]\n{LINE}\n", id="a number"),
        pytest.param("[owner]\r\n[ports]\r\napi = 1\r\n", f"[owner]\r\n{LINE}\r\n[ports]\r\napi = 1\r\n", id="CRLF"),
        pytest.param("[owner]\n# telegram_chat_id = 1\n", f"[owner]\n{LINE}\n# telegram_chat_id = 1\n", id="commented"),
        pytest.param(
            '[[contacts]]\nname = "Bob"\ntelegram_chat_id = "9"\n',
            f'[[contacts]]\nname = "Bob"\ntelegram_chat_id = "9"\n\n[owner]\n{LINE}\n',
            id="somebody else's",
        ),
    ],
)
def test_only_the_one_line_changes(before: str, after: str) -> None:
    assert with_owner_chat(before, "42") == after


@pytest.mark.parametrize(
    "text",
    [
        'owner = {name = "Ada"}\n',
        'owner.name = "Ada"\n',
        "owner = 5\n",
        "not toml",
        '[owner]\ntelegram_chat_id = """7"""\n',
        'note = """\n[owner]\n"""\n',
    ],
)
def test_a_file_that_only_a_person_should_change_is_left_alone(text: str) -> None:
    assert with_owner_chat(text, "42") is None


@given(st.text(alphabet='[]owner = "\n#\ttelegram_chat_id7', max_size=60))
def test_whatever_stands_in_the_file_nothing_else_changes(text: str) -> None:
    after = with_owner_chat(text, "42")

    if after is not None:
        wanted = tomllib.loads(text)
        wanted.setdefault("owner", {})["telegram_chat_id"] = "42"
        assert tomllib.loads(after) == wanted
