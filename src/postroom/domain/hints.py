"""What a person does about an error, by the code that programs see: one sentence each."""

from __future__ import annotations

from typing import Final

from postroom.domain.errors import Code, PostroomError, StoreUnavailable

HINTS: Final[dict[Code, str]] = {
    Code.INVALID_JSON: "Send one JSON object in UTF-8, with `Content-Type: application/json`.",
    Code.SCHEMA_INVALID: "Correct the fields that are named; docs/reference/routes.md lists what each may hold.",
    Code.VALIDATION_ERROR: "Correct what is named and try again; `--help` after the command lists what it takes.",
    Code.INVALID_AGENT_ADDRESS: "Write it as agent://household/owner, or name a person of `postroom people list`.",
    Code.RECIPIENT_REQUIRED: "Name a person of `postroom people list`, or leave the recipient out for the owner.",
    Code.MACRO_INVALID: "Choose a macro of `GET /v1/macros`, with the parameters it names.",
    Code.IMPORT_INVALID: "Correct the file's lines that are named; docs/how-to/add-a-contact.md shows the columns.",
    Code.AUTH_FAILED: "Set POSTROOM_TOKEN to a token that counts; `postroom token list` shows them at the household.",
    Code.POLICY_DENIED: "Ask the owner, or use a token of the right kind: `postroom token create --help` lists them.",
    Code.AGENT_NOT_FOUND: "Name a butler or a person that the household knows; `postroom people list` shows them.",
    Code.CONTACT_NOT_FOUND: "See who is known with `postroom people list`, or write them down: `postroom people add`.",
    Code.INTENT_NOT_FOUND: "Check the id: it stands in the answer that accepted the intent.",
    Code.NOT_FOUND: "Check the id or the name: `postroom asks` and `postroom people list` show what there is.",
    Code.KEY_INVALID: "Give a key of 1 to 255 printable characters, or none.",
    Code.KEY_REUSED: "Use another key for another request, or send exactly the first one again.",
    Code.ILLEGAL_TRANSITION: "It has ended or moved on meanwhile: look at it again before you decide.",
    Code.CONTACT_EXISTS: "Change the one there is: `postroom people edit NAME`.",
    Code.RESOLUTION_EXPIRED: "Look the name up again, and use the newer resolution.",
    Code.RESOLUTION_STALE: "Look the name up again: the contact has changed meanwhile.",
    Code.TOO_LARGE: "Send less at once; a file belongs to `postroom notify MESSAGE --attach FILE`.",
    Code.TOO_MANY_OPEN: "Wait for answers, or take some back: `postroom asks` lists them, `postroom recall` ends one.",
    Code.DELIVERY_FAILED: "`postroom why ID` says what happened to it; `postroom channels` shows what does not work.",
    Code.INTENT_TIMEOUT: "Ask again with more time, or look at it later: it may still be answered.",
    Code.UPSTREAM_UNAVAILABLE: "Try again in a moment; `postroom doctor` says what does not work.",
    Code.INTERNAL: "A fault of ours: `postroom doctor` and the household's log say more; please report it.",
}
_STORE: Final = "`postroom doctor` checks the database (POSTROOM_DATABASE_URL); nothing was changed."


def hint_of(error: PostroomError) -> str:
    return _STORE if isinstance(error, StoreUnavailable) else HINTS[error.code]
