"""Everything the household itself says in a conversation, in the languages there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    stranger: str
    forwarded: str
    choose: str
    nothing_asked: str
    no_model: str
    butler_without_model: str
    no_model_works: str
    unknown_command: str
    command_alone: str
    command_in_private: str
    did_you_mean: str
    limit: str
    flood: str
    failed: str
    timed_out: str
    unfinished: str
    unreachable: str
    files_not_taken: str
    silent: str
    stopped: str
    nothing_runs: str
    help: str
    status: str
    works: str
    idle: str
    default: str
    no_default: str
    inbox: str
    inbox_empty: str
    asks: str
    asks_none: str
    paired: str
    why: str
    why_none: str


_HOW: Final = (
    "To set one up, name claude, codex or gemini as [runtime] type in a butler.toml, install that program, set its key "
    "in the household's environment and start the household again; “postroom doctor” says what is missing."
)
_HOW_GERMAN: Final = (
    "So geht es: claude, codex oder gemini als [runtime] type in einer butler.toml nennen, das Programm installieren, "
    "seinen Schlüssel in der Umgebung des Haushalts setzen und den Haushalt neu starten; „postroom doctor“ sagt, was "
    "fehlt."
)
ENGLISH: Final = Texts(
    stranger=(
        "I do not know you yet, so what you wrote has not been read and answers nothing. If you belong to this "
        "household, ask its owner for a pairing code (postroom pair) and send it here."
    ),
    forwarded="Forwarded messages start nothing here. Please write it in your own words.",
    choose="Which butler do you mean? Begin with its name:\n{names}",
    nothing_asked="Write what {butler} should do after its name: /{butler} …",
    no_model=f"No butler of this household has a model, so none can answer. {_HOW} Commands still work: /help",
    butler_without_model="{butler} has no model, so it cannot answer. " + _HOW,
    no_model_works="{butler} cannot answer, because no model is set up for it: {reason}. " + _HOW,
    unknown_command="There is no /{word} here; /help says what can be written.",
    command_alone="/{word} is written without more words. /help says what can be written.",
    command_in_private="/{word} is answered where you write to me alone, because others would read it here.",
    did_you_mean=" Did you mean /{word}?",
    limit=(
        "This was not handed on: within 24 hours butlers answer one person {sessions} times, "
        "with {tokens} tokens at the most. Please try again later."
    ),
    flood=(
        "That was a lot at once: {most} messages within a minute are read here, and this one and those after it were "
        "not. Please wait a minute and send them again."
    ),
    failed="{butler} could not answer this. Please try again.",
    timed_out="{butler} did not finish in time and was ended. Please try again.",
    unfinished="{butler} was interrupted before it had finished. If something is missing, please ask again.",
    unreachable="{butler} could not be reached, so this is not answered. Please try again.",
    files_not_taken="I could not take this over:\n{files}",
    silent="{butler} has finished and has said nothing.",
    stopped="Stopped.",
    nothing_runs="There is nothing to stop here.",
    help=(
        "Write what you want, or begin with the name of a butler: {names}\n"
        "/status  what is being worked on\n/inbox  what is new for you\n/asks  questions that wait for you\n"
        "/stop  ends what is being worked on\n/why  why your last message went where it went\n"
        "/snooze 2h, /mute NAME 2h  less noise for a while\n/pair  how another address becomes yours"
    ),
    status="{running} You wrote to butlers {count} times within 24 hours; {most} are answered.",
    works="{butler} works on your last message; {waiting} more are waiting.",
    idle="Nothing is being worked on.",
    default="{butler} answers when you name no other.",
    no_default="You have no default butler.",
    inbox="{count} unread in your inbox:",
    inbox_empty="Nothing is unread in your inbox.",
    asks="{count} questions wait for you. Reply to the message that asked:",
    asks_none="No question waits for you.",
    paired=(
        "This address is yours already. For another one, ask for a code (postroom pair {name} --channel NAME) and "
        "send the code from there."
    ),
    why="Your last message went to {butler}: {reason}. It is {status}.",
    why_none="You have written to no butler here yet.",
)
GERMAN: Final = Texts(
    stranger=(
        "Ich kenne dich noch nicht, darum wurde nicht gelesen, was du geschrieben hast, und es beantwortet nichts. "
        "Wenn du zu diesem Haushalt gehörst, bitte um einen Code (postroom pair) und sende ihn hierher."
    ),
    forwarded="Weitergeleitete Nachrichten lösen hier nichts aus. Bitte schreib es mit eigenen Worten.",
    choose="Welchen Butler meinst du? Beginne mit seinem Namen:\n{names}",
    nothing_asked="Schreib hinter den Namen, was {butler} tun soll: /{butler} …",
    no_model=f"Kein Butler hier hat ein Modell, darum kann keiner antworten. {_HOW_GERMAN} Befehle gehen: /help",
    butler_without_model="{butler} hat kein Modell und kann nicht antworten. " + _HOW_GERMAN,
    no_model_works="{butler} kann nicht antworten, weil kein Modell eingerichtet ist: {reason}. " + _HOW_GERMAN,
    unknown_command="/{word} gibt es hier nicht; /help sagt, was man schreiben kann.",
    command_alone="/{word} schreibt man ohne weitere Worte. /help sagt, was man schreiben kann.",
    command_in_private="/{word} beantworte ich nur unter vier Augen, denn hier würden andere es lesen.",
    did_you_mean=" Meintest du /{word}?",
    limit=(
        "Das wurde nicht weitergegeben: In 24 Stunden antworten Butler einer Person {sessions} Mal, "
        "mit höchstens {tokens} Tokens. Bitte versuch es später noch einmal."
    ),
    flood=(
        "Das war viel auf einmal: Hier werden {most} Nachrichten in einer Minute gelesen; diese und die danach wurden "
        "es nicht. Bitte warte eine Minute und sende sie noch einmal."
    ),
    failed="{butler} konnte das nicht beantworten. Bitte versuch es noch einmal.",
    timed_out="{butler} ist nicht rechtzeitig fertig geworden und wurde beendet. Bitte versuch es noch einmal.",
    unfinished="{butler} wurde unterbrochen, bevor es fertig war. Wenn etwas fehlt, frag bitte noch einmal.",
    unreachable="{butler} war nicht zu erreichen, darum bleibt das ohne Antwort. Bitte versuch es noch einmal.",
    files_not_taken="Das konnte ich nicht übernehmen:\n{files}",
    silent="{butler} ist fertig und hat nichts gesagt.",
    stopped="Angehalten.",
    nothing_runs="Hier gibt es nichts anzuhalten.",
    help=(
        "Schreib, was du möchtest, oder beginne mit dem Namen eines Butlers: {names}\n"
        "/status  woran gearbeitet wird\n/inbox  was es Neues für dich gibt\n/asks  Fragen, die auf dich warten\n"
        "/stop  beendet, woran gearbeitet wird\n/why  warum deine letzte Nachricht dorthin ging\n"
        "/snooze 2h, /mute NAME 2h  weniger Lärm für eine Weile\n/pair  wie eine weitere Adresse deine wird"
    ),
    status="{running} Du hast Butlern in 24 Stunden {count} Mal geschrieben; {most} werden beantwortet.",
    works="{butler} arbeitet an deiner letzten Nachricht; {waiting} weitere warten.",
    idle="Es wird an nichts gearbeitet.",
    default="{butler} antwortet, wenn du keinen anderen nennst.",
    no_default="Du hast keinen Standard-Butler.",
    inbox="{count} ungelesen in deinem Postfach:",
    inbox_empty="In deinem Postfach ist nichts ungelesen.",
    asks="{count} Fragen warten auf dich. Antworte auf die Nachricht, die gefragt hat:",
    asks_none="Keine Frage wartet auf dich.",
    paired=(
        "Diese Adresse gehört dir schon. Für eine weitere bitte um einen Code (postroom pair {name} --channel NAME) "
        "und sende ihn von dort."
    ),
    why="Deine letzte Nachricht ging an {butler}: {reason}. Sie ist {status}.",
    why_none="Du hast hier noch keinem Butler geschrieben.",
)
LANGUAGES: Final = {"en": ENGLISH, "de": GERMAN}


def texts_for(language: str | None) -> Texts:
    """By the first part of a language tag; English where there are no others."""
    return LANGUAGES.get((language or "").partition("-")[0].lower(), ENGLISH)
