from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.desk import history as drafts
from postroom.desk.history import (
    LINE_BYTES,
    ConversationLog,
    ConversationRecord,
    Line,
    Who,
    conversation_id,
    decode,
    encode,
    history,
    split,
    voicemode_directory,
)

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def record(
    text: str, *, minutes_ago: float = 1, who: Who = Who.ASSISTANT, project: str = "/p", conversation: str = "conv_a"
) -> ConversationRecord:
    moment = NOW - timedelta(minutes=minutes_ago)
    return ConversationRecord(
        version=3, timestamp=moment, conversation_id=conversation, who=who, text=text, project_path=project
    )


def exchanges(count: int) -> list[ConversationRecord]:
    return [
        record(f"{who.value} {number}", minutes_ago=count - number, who=who)
        for number in range(count)
        for who in (Who.ASSISTANT, Who.PERSON)
    ]


@pytest.mark.parametrize(
    ("minutes_ago", "project", "adopted"),
    [(4.9, "/p", True), (5.0, "/p", False), (1, "/other", False)],
    ids=["fresh", "too old", "another project"],
)
@pytest.mark.requirement("popup:switch-session")
def test_a_fresh_conversation_of_the_project_goes_on(minutes_ago: float, project: str, adopted: bool) -> None:
    found = conversation_id(
        [record("hi", minutes_ago=minutes_ago, project=project)], project_path="/p", now=NOW, dice=Random(1)
    )
    assert (found == "conv_a") is adopted
    assert adopted or found.startswith("conv_20261115_120000_")


@given(st.integers(0, 12), st.integers(0, 8))
@pytest.mark.requirement("popup:history-limit")
def test_the_last_exchanges_are_shown_and_no_more(count: int, limit: int) -> None:
    lines = history(exchanges(count), project_path="/p", limit=limit)
    assert len(lines) == 2 * min(count, limit)
    assert not lines or lines[-1].text == f"stt {count - 1}"


def test_an_unanswered_message_is_an_exchange_and_an_answer_may_have_several_lines() -> None:
    said = [
        record("one", minutes_ago=9),
        record("old", minutes_ago=8, who=Who.PERSON),
        record("two", minutes_ago=7),
        record("and three", minutes_ago=6),
        record("yes", minutes_ago=5, who=Who.PERSON),
        record("really", minutes_ago=4, who=Who.PERSON),
    ]
    shown = [[line.text for line in history(said, project_path="/p", limit=limit)] for limit in (1, 2)]
    assert shown == [["and three", "yes", "really"], ["two", "and three", "yes", "really"]]


@pytest.mark.requirement("popup:switch-history")
def test_spoken_and_typed_lines_stand_in_order_whatever_their_ids() -> None:
    said = [
        record("popup", minutes_ago=3, conversation="conv_b"),
        record("voice", minutes_ago=5, conversation="conv_a"),
        record("[no speech detected]", minutes_ago=4, who=Who.PERSON),
        record("elsewhere", minutes_ago=2, project="/other"),
    ]
    assert history(said, project_path="/p", limit=5) == (
        Line(who=Who.ASSISTANT, text="voice"),
        Line(who=Who.ASSISTANT, text="popup"),
    )


def test_a_text_that_was_logged_in_parts_is_one_again() -> None:
    text = "long words " * 300
    written = [decode(encode(part)) for part in split(record(text, who=Who.PERSON))]
    assert len(written) == 2
    assert history([part for part in written if part], project_path="/p", limit=5) == (Line(who=Who.PERSON, text=text),)


ZONE = timezone(timedelta(hours=2))


class Hands:
    """A clock whose hands the test turns."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 15, 12, 0, tzinfo=ZONE)

    def __call__(self) -> datetime:
        return self.now

    def turn(self, **amount: float) -> None:
        self.now += timedelta(**amount)


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def log(tmp_path: Path, clock: Hands) -> ConversationLog:
    return ConversationLog(tmp_path, "/p", now=clock, dice=Random(7))


def file(base: Path, day: str = "2026-11-15") -> Path:
    return base / "logs" / "conversations" / f"exchanges_{day}.jsonl"


def lines(base: Path, day: str = "2026-11-15") -> list[dict[str, Any]]:
    return [json.loads(line) for line in file(base, day).read_text().splitlines()]


def last_as_voicemode_finds_it(base: Path) -> dict[str, Any]:
    """VoiceMode reads the last 1,024 bytes as UTF-8 and takes the last line of them."""
    tail = file(base).read_bytes()[-1_024:].decode("utf-8")
    found: dict[str, Any] = json.loads(tail.strip().split("\n")[-1])
    return found


def voice_line(clock: Hands, text: str, kind: str = "stt", version: int = 4) -> str:
    """As VoiceMode writes it."""
    return json.dumps(
        {
            "version": version,
            "timestamp": clock.now.isoformat(),
            "conversation_id": "conv_20261115_115900_voice1",
            "type": kind,
            "text": text,
            "project_path": "/p",
            "metadata": {"voice_mode_version": "9.0.0", "transport": "local"},
        }
    )


@pytest.mark.requirement("popup:converse-shared")
@pytest.mark.requirement("popup:converse-parallel")
@pytest.mark.requirement("popup:switch-session")
def test_a_popup_goes_on_with_the_conversation_that_was_spoken(
    log: ConversationLog, clock: Hands, tmp_path: Path
) -> None:
    file(tmp_path).parent.mkdir(parents=True)
    spoken = voice_line(clock, "Hello?", "tts") + "\n" + voice_line(clock, "Yes") + "\n"
    file(tmp_path).write_text(spoken)
    clock.turn(minutes=1)
    log.append(Who.ASSISTANT, "Typed question")
    assert file(tmp_path).read_text().startswith(spoken)
    line = lines(tmp_path)[-1]
    assert (line["conversation_id"], line["version"], line["type"]) == ("conv_20261115_115900_voice1", 4, "tts")
    assert [said.text for said in log.history(5)] == ["Hello?", "Yes", "Typed question"]


def test_a_conversation_ends_after_five_minutes_but_a_late_reply_stays_with_its_question(
    log: ConversationLog, clock: Hands, tmp_path: Path
) -> None:
    first = log.append(Who.ASSISTANT, "Question")
    clock.turn(minutes=6)
    log.append(Who.PERSON, "Late answer", conversation=first)
    clock.turn(minutes=5)
    second = log.append(Who.ASSISTANT, "New")
    assert [line["conversation_id"] for line in lines(tmp_path)] == [first, first, second]
    assert first != second


def test_a_conversation_runs_past_midnight(log: ConversationLog, clock: Hands, tmp_path: Path) -> None:
    clock.turn(hours=11, minutes=58)
    first = log.append(Who.ASSISTANT, "Late")
    clock.turn(minutes=4)
    assert log.append(Who.PERSON, "Later") == first
    assert lines(tmp_path, "2026-11-16")[0]["timestamp"].startswith("2026-11-16T00:02:00.000000+02:00")
    assert len(log.history(5)) == 2


@pytest.mark.parametrize("text", ["x" * 3000, "é" * 10_000, "😀" * 10_000], ids=["ascii", "accents", "emoji"])
def test_voicemode_finds_the_last_line_of_any_reply(log: ConversationLog, tmp_path: Path, text: str) -> None:
    conversation = log.append(Who.PERSON, text)
    assert last_as_voicemode_finds_it(tmp_path)["conversation_id"] == conversation
    assert [line.text for line in log.history(5)] == [text]


def test_only_the_owner_can_read_what_we_create(log: ConversationLog, tmp_path: Path) -> None:
    log.append(Who.PERSON, "private")
    assert stat.S_IMODE(file(tmp_path).stat().st_mode) == 0o600
    assert stat.S_IMODE(file(tmp_path).parent.stat().st_mode) == 0o700


def test_bad_lines_are_skipped_and_never_grow(log: ConversationLog, tmp_path: Path) -> None:
    file(tmp_path).parent.mkdir(parents=True)
    file(tmp_path).write_bytes(b'{"half a line": \xff\xfe')
    log.append(Who.PERSON, "whole")
    assert [line.text for line in log.history(5)] == ["whole"]
    assert file(tmp_path).read_bytes().splitlines()[0] == b'{"half a line": \xff\xfe'


def test_writers_at_the_same_time_lose_no_line(tmp_path: Path, clock: Hands) -> None:
    desks = [ConversationLog(tmp_path, "/p", now=clock, dice=Random(number)) for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda number: desks[number % 8].append(Who.PERSON, "x" * number * 40), range(64)))
    assert len(lines(tmp_path)) >= 64
    assert len(ids) == 1


MOMENT = datetime(2026, 11, 15, 6, 38, 47, 848101, tzinfo=UTC)


def records_record(text: str, who: Who = Who.PERSON) -> ConversationRecord:
    return ConversationRecord(
        version=3,
        timestamp=MOMENT,
        conversation_id="conv_20261115_063847_rt9mxu",
        who=who,
        text=text,
        project_path="/srv/project",
    )


@pytest.mark.requirement("popup:converse-shared")
def test_a_line_has_the_shape_that_voicemode_reads() -> None:
    line = json.loads(encode(records_record("Fix it — naïve ☕", Who.ASSISTANT)))
    assert line == {
        "version": 3,
        "timestamp": "2026-11-15T06:38:47.848101+00:00",
        "conversation_id": "conv_20261115_063847_rt9mxu",
        "type": "tts",
        "text": "Fix it — naïve ☕",
        "project_path": "/srv/project",
        "metadata": {
            "voice_mode_version": "postroom",
            "provider": "popup",
            "transport": "notify",
            "mode": "notify",
        },
    }


@given(st.text())
def test_what_is_written_is_read_back(text: str) -> None:
    assert decode(encode(records_record(text))) == records_record(text)


@given(st.text(max_size=3000))
def test_the_last_line_fits_where_voicemode_looks_for_it(text: str) -> None:
    parts = split(records_record(text))
    assert "".join(part.text for part in parts) == text
    lines = [encode(part) for part in parts]
    assert len(lines[-1]) <= LINE_BYTES < 1_024
    assert all(line.isascii() for line in lines)
    assert [(part.part, part.parts) for part in parts] in ([(1, 1)], [(1, 2), (2, 2)])


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"text": "x"}',
        b'{"timestamp": "x", "type": "stt", "text": "", "conversation_id": ""}',
    ],
)
def test_a_broken_line_is_no_record(line: bytes) -> None:
    assert decode(line) is None


@pytest.mark.parametrize(
    ("kind", "who"),
    [("stt", Who.PERSON), ("notify_in", Who.PERSON), ("tts", Who.ASSISTANT), ("notify_out", Who.ASSISTANT)],
)
def test_older_names_of_the_two_sides_are_known(kind: str, who: Who) -> None:
    raw = json.loads(encode(records_record("hi"))) | {"type": kind, "timestamp": "2026-11-15T06:38:47Z"}
    found = decode(json.dumps(raw).encode())
    assert found is not None
    assert found.who is who


@pytest.mark.parametrize("text", ["[no speech detected]", "[empty]", " "])
def test_silence_is_no_speech(text: str) -> None:
    assert records_record(text).silent


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / "project" / "deep").mkdir(parents=True)
    return tmp_path / "home"


def found(home: Path, **environ: str) -> Path:
    return voicemode_directory(environ, working_directory=home / "project" / "deep", user_home=home)


def test_without_any_setting_it_is_in_the_home_folder(home: Path) -> None:
    assert found(home) == home / ".voicemode"


def test_the_environment_wins_over_files(home: Path) -> None:
    (home / "project" / ".voicemode.env").write_text("VOICEMODE_BASE_DIR=/from/file\n")
    assert found(home, VOICEMODE_BASE_DIR="$ROOT/vm", ROOT="/env") == Path("/env/vm")


@pytest.mark.parametrize("name", [".voicemode.env", ".voicemode/voicemode.env"])
def test_the_nearest_project_file_wins_over_the_persons(home: Path, name: str) -> None:
    for folder, value in ((home / "project", "~/near"), (home, "/far")):
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f'# comment\nexport VOICEMODE_BASE_DIR="{value}"\n')
    assert found(home) == home / "near"


@given(st.text(min_size=1).filter(str.strip))
def test_a_draft_is_kept_to_the_letter(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("drafts")
    drafts.save(folder / "a.json", text)
    assert [draft.text for draft in drafts.waiting(folder)] == [text]


def test_the_newest_comes_first_and_broken_files_are_left_alone(tmp_path: Path) -> None:
    for name in ("1", "3", "2"):
        drafts.save(tmp_path / f"{name}.json", f"text {name}")
    (tmp_path / "4.json").write_text("{")
    assert [draft.text for draft in drafts.waiting(tmp_path)] == ["text 3", "text 2", "text 1"]
    assert (tmp_path / "4.json").exists()


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    file = tmp_path / "project" / "a.json"
    drafts.save(file, "private")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_an_emptied_text_leaves_no_file(tmp_path: Path) -> None:
    drafts.save(tmp_path / "a.json", "x")
    drafts.save(tmp_path / "a.json", " \n")
    assert not list(tmp_path.iterdir())


def test_very_old_drafts_make_room(tmp_path: Path) -> None:
    for number in range(drafts.KEPT + 3):
        drafts.save(tmp_path / f"{number:03}.json", str(number))
    drafts.prune(tmp_path)
    kept = drafts.waiting(tmp_path)
    assert len(kept) == drafts.KEPT
    assert kept[-1].text == "3"


def test_projects_do_not_share_drafts() -> None:
    folders = {drafts.folder_for(Path("d"), path, label) for path in ("/a", "/b") for label in ("", "x")}
    assert len(folders) == 4


def test_a_turn_is_over_when_someone_else_takes_it(tmp_path: Path) -> None:
    file = tmp_path / "desk" / "turn"
    assert not drafts.turn_is_over(file, "first")
    drafts.take_turn(file, "first")
    assert not drafts.turn_is_over(file, "first")
    drafts.take_turn(file, "second")
    assert drafts.turn_is_over(file, "first")
    assert not drafts.turn_is_over(file, "second")
    assert [entry.name for entry in file.parent.iterdir()] == ["turn"]


def test_the_screen_is_free_when_the_last_window_gave_it_back_or_fell_silent(tmp_path: Path) -> None:
    file = tmp_path / "turn"
    assert drafts.screen_is_free(file)
    drafts.take_turn(file, "a")
    assert not drafts.screen_is_free(file)
    drafts.give_turn_back(file, "b")
    assert not drafts.screen_is_free(file)
    drafts.give_turn_back(file, "a")
    assert drafts.screen_is_free(file)
    drafts.keep_turn(file, "b")
    assert drafts.screen_is_free(file)
    drafts.keep_turn(file, "a")
    assert not drafts.screen_is_free(file)
