"""What a question was answered with, and by whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from postroom.domain.assurance import Assurance

if TYPE_CHECKING:  # a hook reads answers, and files are none of its business
    from postroom.domain.attachment import Attachment


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswer:
    """`value` of one option, `selected` of several, `text` in the person's words, `fields` of a form."""

    value: str | None = None
    text: str | None = None
    selected: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[Attachment, ...] = ()
    """What came with the answer, as uploads of the asker's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredBy:
    """Who acted, as it was attested; never what a payload claims."""

    person_id: str
    name: str
    channel: str
    assurance: Assurance


BY_DEFAULT: Final = AnsweredBy(
    person_id="system:default", name="the default", channel="system", assurance=Assurance.NONE
)
