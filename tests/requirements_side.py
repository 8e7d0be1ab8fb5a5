"""What the person's side promises: the console, the phone, signing in, and the first ten minutes."""

from __future__ import annotations

SIDE: dict[str, dict[str, str]] = {
    "People": {},
    "Today": {},
    "Phone": {},
    "Signing in": {},
    "Pictures": {},
    "First ten minutes": {},
    "Words": {
        "words-alone": "Without arguments `postroom` says what runs and what waits, quickly and honestly.",
        "words-json": "Every command that prints a result has --json, and says under it in JSON what went wrong.",
        "words-completion": "The Tab key completes commands, options and the household's own names.",
        "words-progress": "Work of more than two seconds shows how far it is, and never in a script's way.",
        "words-errors": "An error says what to do, and the command it names exists.",
        "words-glossary": "One word, one thing: the glossary holds every word, and no twin is used for it.",
        "words-help": "Help has an order, and every command an example that is understood.",
    },
}
