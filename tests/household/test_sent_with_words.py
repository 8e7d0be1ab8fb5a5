"""What people send with their words is kept: for the butler they write to, and with the answer they give."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from postroom.channels.email.incoming import listening as mail_listening
from postroom.channels.telegram.channel import Telegram
from tests.household.asked_household import ask, phone, write
from tests.household.talking import PNG, Talking, answered, read, reply, script, sent, talking, told

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(180)]
VOICE = b"OggS" + bytes(200)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def filing_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talking]:
    folder = tmp_path_factory.mktemp("files")
    async with talking(folder / "home", folder) as one:
        yield one


@pytest.mark.requirement("content:files-from-people")
async def test_a_photo_reaches_the_butler_with_its_caption_and_can_be_sent_on(filing_house: Talking) -> None:
    await filing_house.write(2001, "/general " + script(reply("Thank you.")), files=[sent(PNG)])
    await filing_house.said(2001)
    [kept] = await filing_house.kept(2001, "answered")
    [file] = told(filing_house, kept)

    assert (file["media_type"], file["size"]) == ("image/png", len(PNG))
    assert await read(filing_house, file["upload_id"], "general") == (200, PNG)
    assert (await read(filing_house, file["upload_id"], "health"))[0] == 404
    passed_on = {"channel": "telegram", "message": "The bill", "attachments": [{"upload_id": file["upload_id"]}]}
    assert (await filing_house.call("general", "notify", {**passed_on, "wait_seconds": 20}))["status"] == "ok"
    assert (await phone(filing_house, "The bill"))["attachments"][0]["size"] == len(PNG)


@pytest.mark.requirement("content:files-from-people")
async def test_a_voice_note_without_words_reaches_the_butler_of_the_thread(filing_house: Talking) -> None:
    await filing_house.write(2002, "/health " + script(say="Yes?"))
    [before] = await filing_house.said(2002)
    await filing_house.write(
        2002, "", files=[sent(VOICE, "v.ogg", **{"as": "voice"})], reply_to_message_id=before["message_id"]
    )
    _, kept = await filing_house.kept(2002, "answered", "failed")  # the scripted model makes nothing of such words
    [file] = told(filing_house, kept)

    assert (file["media_type"], file["name"]) == ("audio/ogg", "voice.ogg")
    assert kept["text"] == "(files, without words)"


@pytest.mark.requirement("content:files-from-people")
@pytest.mark.parametrize(
    ("chat", "asked"), [(2023, " " + script(say="Two.")), (2024, "")], ids=["words", "the name alone"]
)
async def test_photos_that_named_no_butler_go_to_the_one_that_is_named_then(
    filing_house: Talking, chat: int, asked: str
) -> None:
    await filing_house.write(chat, "", files=[sent(PNG)])
    await filing_house.write(chat, "The bills", files=[sent(PNG + b"2", "second.png")])
    first, _ = await filing_house.said(chat, 2)
    await filing_house.write(chat, "/general" + asked)
    await filing_house.said(chat, 3)
    *_, kept = await filing_house.kept(chat, "handled", "handled", "answered" if asked else "failed")

    assert first["text"].startswith("Which butler do you mean?")
    assert sorted(one["size"] for one in told(filing_house, kept)) == [len(PNG), len(PNG) + 1]
    await filing_house.write(chat, "/general " + script(say="None."))
    await filing_house.said(chat, 4)
    assert filing_house.messages(chat)[-1]["attachments"] is None


@pytest.mark.requirement("content:files-from-people")
async def test_photos_that_are_sent_together_are_one_message(filing_house: Talking) -> None:
    files = [sent(PNG), sent(PNG + b"2"), sent(b"%PDF-1.7", "note.pdf")]
    await filing_house.write(2003, "/general " + script(say="Three."), files=files)
    await filing_house.said(2003)
    [kept] = await filing_house.kept(2003, "answered")

    assert [one["size"] for one in told(filing_house, kept)] == [len(PNG), len(PNG) + 1, 8]


@pytest.mark.requirement("content:files-from-people", "content:files-from-people-told")
async def test_what_is_too_large_or_no_file_is_said_and_the_words_go_on(filing_house: Talking) -> None:
    large = sent(bytes(21 * 1024 * 1024), "film.mp4")
    await filing_house.write(2004, "/general " + script(say="Heard."), files=[large])

    first, second = [one["text"] for one in await filing_house.said(2004, 2)]
    assert {first, second} >= {"Heard."}
    words = first if second == "Heard." else second
    assert "film.mp4: it is larger than the 20 MB that Telegram gives to a bot" in words
    await filing_house.write(2004, "", files=[sent(b"", "empty.txt", **{"as": "document"})])
    assert "empty.txt: is empty" in (await filing_house.said(2004, 3))[2]["text"]


@pytest.mark.requirement("content:files-from-people")
async def test_of_a_mail_that_is_too_large_the_butler_has_the_files_that_fit_and_the_person_is_told_of_the_other(
    filing_house: Talking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail_listening, "_MOST_MAIL_BYTES", 3 * 1_048_576)
    mail = {"from": "owner@sandbox.example", "to": "postroom@sandbox.example", "subject": "The bill"}
    files = [sent(PNG, "bill.png"), sent(bytes(4 * 1_048_576), "film.mp4")]
    words = "/general " + script(say="Seen.")
    await filing_house.post("email/inbound", {**mail, "body": words, "attachments": files})

    told_of = await filing_house.arrived("email", "could not take this over")
    await filing_house.arrived("email", "Seen.")
    [kept] = await filing_house.kept("owner@sandbox.example", "answered")

    assert "film.mp4: of one mail 3 MB are taken" in told_of["body"] and "bill.png" not in told_of["body"]
    assert told_of["subject"] == "Re: The bill"
    assert [one["name"] for one in told(filing_house, kept)] == ["bill.png"]


async def test_a_file_that_no_one_can_make_anything_of_holds_up_nobody(
    filing_house: Talking, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stumbles(*_: Any) -> None:
        raise LookupError

    with monkeypatch.context() as patched:
        patched.setattr(Telegram, "bring_files", stumbles)
        await filing_house.write(2012, "/general " + script(say="Looked."), files=[sent(PNG)])

        said = [one["text"] for one in await filing_house.said(2012, 2)]

    assert "could not take this over" in said[0] and said[1] == "Looked."


@pytest.mark.requirement("content:files-from-people")
async def test_nothing_of_a_strangers_is_fetched(filing_house: Talking) -> None:
    before = len(filing_house.rows("uploads"))
    await filing_house.write(4711, "look", files=[sent(PNG + b"stranger")])
    await filing_house.said(4711)
    await filing_house.write(2005, "/general " + script(say="Here."), files=[sent(PNG + b"known")], forwarded=True)
    await filing_house.said(2005)

    assert len(filing_house.rows("uploads")) == before


@pytest.mark.requirement("content:files-with-answers")
async def test_a_photo_answers_a_question_in_own_words_and_the_asker_has_it(filing_house: Talking) -> None:
    view = await ask(filing_house, question="What does the meter say?", kind="text", options=None)
    card = await phone(filing_house, "What does the meter say?")
    await write(filing_house, "", reply_to_message_id=card["message_id"], files=[sent(PNG + b"meter", "meter.png")])
    seen = await answered(filing_house, view.question.id)

    [file] = seen["answer"]["files"]
    over_http = await filing_house.api("GET", f"/v1/asks/{view.question.id}", who="health")
    assert over_http[1]["answer"] == seen["answer"]
    assert await read(filing_house, file["upload_id"], "health") == (200, PNG + b"meter")
    assert seen["answer"]["text"] == "" and file["media_type"] == "image/png"
    assert (await read(filing_house, file["upload_id"], "general"))[0] == 404


@pytest.mark.requirement("content:files-with-answers")
async def test_a_caption_is_the_answer_and_a_photo_alone_approves_nothing(filing_house: Talking) -> None:
    view = await ask(filing_house, question="May I pay this?", kind="approve", options=None)
    card = await phone(filing_house, "May I pay this?")
    await write(filing_house, "", reply_to_message_id=card["message_id"], files=[sent(PNG)])
    await phone(filing_house, "A file alone does not answer this")
    await write(filing_house, "Approve", reply_to_message_id=card["message_id"], files=[sent(PNG)])
    seen = await answered(filing_house, view.question.id)

    assert (seen["answer"]["value"], len(seen["answer"]["files"])) == ("approve", 1)


@pytest.mark.requirement("content:files-with-answers")
async def test_what_is_attached_to_a_mail_comes_with_the_answer(filing_house: Talking) -> None:
    view = await ask(filing_house, question="Have you signed?", options=["yes", "no"], channels=["email"])
    card = await filing_house.arrived("email", "Have you signed?")
    more = bytes(range(256)) * 8192  # of the mail only the first megabyte is read at once
    await filing_house.post(
        "email/inbound",
        {
            "from": "owner@sandbox.example",
            "to": "postroom@sandbox.example",
            "body": "yes",
            "subject": "Re: x",
            "in_reply_to": card["message_id"],
            "attachments": [sent(b"%PDF-1.7 " + more, "Vertrag Grün.pdf"), sent(PNG, "seal.png")],
        },
    )
    seen = await answered(filing_house, view.question.id)
    first, second = seen["answer"]["files"]

    assert (seen["answer"]["value"], first["name"], second["name"]) == ("yes", "Vertrag Grün.pdf", "seal.png")
    assert await read(filing_house, first["upload_id"], "health") == (200, b"%PDF-1.7 " + more)
