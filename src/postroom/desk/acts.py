"""The desk's one act: to show the person at the screen a message, and to wait for what they type."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from postroom.kernel.acts.declaration import Act, act, said
from postroom.kernel.acts.reading import wrong
from postroom.kernel.values.principal import EVERYONE

MESSAGE_LIMIT = 10_000
TIMEOUT_SECONDS = (5, 300)
DEFAULT_TITLE = "VoiceMode"
OPTIONS_LIMIT = 20
OPTION_LENGTH = 200


def _one_line(option: str) -> str:
    if not option.strip():
        raise wrong("must not be blank", "blank")
    if len(option.splitlines()) != 1:
        raise wrong("must be a single line")
    return option


def _all_different(options: list[str]) -> list[str]:
    if len(set(options)) != len(options):
        raise wrong("must not repeat an option")
    return options


_Option = Annotated[str, Field(min_length=1, max_length=OPTION_LENGTH), AfterValidator(_one_line)]
_Options = Annotated[
    list[_Option],
    Field(min_length=1, max_length=OPTIONS_LIMIT, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_all_different),
]


@act(by=EVERYONE)
class PopupQuestion(Act[None]):
    """
    Display a message in a popup window and optionally wait for user text response. Use this for silent, text-based
    conversation instead of voice.
    """

    message: Annotated[str, Field(min_length=1, max_length=MESSAGE_LIMIT)] = said(
        "The message to display in the popup (1-10,000 characters)", ..., repr=False
    )
    wait_for_response: bool = said("Whether to wait for user input. If false, just displays the message.", True)
    timeout: Annotated[float, Field(ge=TIMEOUT_SECONDS[0], le=TIMEOUT_SECONDS[1])] | None = said(
        "Optional timeout in seconds for user response (5-300 seconds, default: no timeout)"
    )
    title: str = said("Window title for the popup", DEFAULT_TITLE)
    show_history: bool = said("Whether to show recent conversation history in the popup", True)
    chime_enabled: bool = said("Whether to play sound feedback (disabled by default for silent use)", False)
    theme: Literal["auto", "light", "dark"] = said("Color theme for the popup. 'auto' matches system setting.", "auto")
    options: _Options | None = said(
        "Answers offered as buttons. The user can still type a reply, alone or with a choice.", repr=False
    )
    allow_multiple: bool = said("Whether several options can be chosen. If false, choosing one submits it.", False)
    secret: bool = said("Whether the reply is confidential: it is hidden while typed and never logged or kept.", False)
    project: str = said("A label shown in the popup that tells the user which project or task is asking", "")
