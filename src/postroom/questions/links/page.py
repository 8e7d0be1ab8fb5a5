"""The pages behind a one-time link: no script, nothing from elsewhere, every word of others shown as text."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

from postroom.kernel.text.markdown import parse
from postroom.kernel.text.rich import RichText, SpanStyle, html_of
from postroom.kernel.values.errors import FieldError, ValidationError
from postroom.kernel.values.zones import said_moment
from postroom.message.delivery import Format
from postroom.questions.model import RATHER_NOT, Question, QuestionKind, Said, Wording, is_approval
from postroom.questions.rules.form import FormField, form_fields
from postroom.questions.rules.reading import filled_in
from postroom.questions.rules.words import asker_name, without_unseen

NONCE: Final = "nonce"
ACT: Final = "act"  # which button was pressed
DECLINE: Final = "decline"
CONFIRM: Final = "confirm"
VALUE: Final = "value"
_TEXT: Final = "text"
_FIELD: Final = "field."
_MOST_FIELDS: Final = 500
_CONSOLE: Final = Path(__file__).parents[2] / "console" / "static"
_STYLE: Final = (_CONSOLE / "console.css").read_text("utf-8") + (
    "main{margin:0 auto;max-width:38rem;padding:1.5rem 1rem 3rem}main>.card{display:grid;gap:1rem}"
    "svg{display:block;height:2.5rem;margin-bottom:1rem;width:2.5rem}.asked>*{margin:0}.asked>*+*{margin-top:.75rem}"
    ".asked>pre,summary+pre{background:none;border:0;font-family:inherit;font-size:1rem;padding:0}"
    "main>.card{overflow-wrap:anywhere}.asked>pre,.asked>.shown{font-size:1.125rem;font-weight:600}.choice>span{min-width:0}"
    ".shown>:first-child{margin-top:0}.shown>:last-child{margin-bottom:0}summary{cursor:pointer;margin-bottom:.5rem}"
    "blockquote{border-left:.2rem solid var(--line);margin-left:0;padding-left:.8rem}fieldset{border:0;padding:0}"
)
_ICON: Final = (_CONSOLE / "icon.svg").read_text("utf-8")
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
HEADERS: Final = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Cache-Control": "no-store",
}
_TYPES: Final = {"email": "email", "uri": "url", "date": "date"}


# ---- what a person sends from such a page, as the answer it is ----


@dataclass(frozen=True, slots=True)
class SentForm:
    fields: Sequence[tuple[str, str]] = ()

    def get(self, name: str) -> str:
        return next((value for key, value in self.fields if key == name), "")

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.fields if key == name]


def read_form(body: bytes) -> SentForm:
    """What cannot be read is a form with nothing in it."""
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return SentForm()
    return SentForm(tuple((name, value.replace("\0", "")) for name, value in pairs))


def given_of(form: SentForm, wording: Wording) -> Said:
    """Raises ValidationError when nothing was chosen or written. What counts as an answer is judged elsewhere."""
    if form.get(ACT) == DECLINE:
        return Said(declined=True)
    if wording.kind is QuestionKind.FORM:
        return Said(fields=filled_in(wording.form, lambda name: [one.strip() for one in form.all(_FIELD + name)]))
    if text := form.get(_TEXT).strip():
        return Said(text=text)
    if wording.multiple:
        return Said(selected=tuple(form.all(VALUE)))
    if value := form.get(VALUE):
        return Said(value=value)
    raise ValidationError.of([FieldError("answer", "choose or write something first", "required")])


# ---- the pages ----


def plain_page(sentence: str) -> str:
    return _page("Postroom", f'<p role="status">{escape(sentence)}</p>')


def question_page(
    question: Question, person_name: str, nonce: str, problem: str | None = None, *, zone: str = "UTC"
) -> str:
    wording = question.wording
    body = f"{_asked(question, person_name)}{_problem(problem)}{_form_of(nonce)}{''.join(_inputs(wording))}"
    sending = _button("answer", "Go on" if _is_approval(wording) else "Send answer", "main")
    declining = _button(DECLINE, RATHER_NOT, "quiet") if wording.may_decline and not is_approval(question) else ""
    until = f"Answer by {said_moment(question.expires_at_us, zone, question.created_at_us)}."
    buttons = f'<div class="row">{sending}{declining}</div></form><p class="hint">{until}</p>'
    return _page("A question for you", f"{body}{buttons}")


def confirm_page(question: Question, person_name: str, nonce: str, act: str, value: str) -> str:
    """The second step of an approval: what was chosen, once more in words."""
    label = next((one.label for one in question.wording.options if one.value == value), RATHER_NOT)
    body = f"{_asked(question, person_name)}<p>You chose <strong>{escape(label)}</strong>. Nothing is decided yet.</p>"
    kept = "".join(_hidden(name, text) for name, text in ((VALUE, value), (CONFIRM, act)))
    sending = _button("answer", f"Confirm: {label}", "main")
    return _page("Please confirm", f"{body}{_form_of(nonce)}{kept}{sending}</form>")


def _is_approval(wording: Wording) -> bool:
    return wording.kind is QuestionKind.APPROVE


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">'
        f"<style>{_STYLE}</style></head><body><main>{_ICON}"
        f'<div class="card"><h1>{escape(title)}</h1>{body}</div></main></body></html>'
    )


def _asked(question: Question, person_name: str) -> str:
    wording = question.wording
    told = f'<p class="faint">{escape(asker_name(question))} asks {escape(person_name or "you")}</p>'
    context = _words(wording, wording.context) if wording.context else ""
    shown = f'<details open><summary class="hint">Background</summary>{context}</details>' if context else ""
    return f'{told}<div class="asked">{_words(wording, wording.question)}</div>{shown}'


def _words(wording: Wording, text: str) -> str:
    """Markdown as it looks, its links beside it: the page leads nowhere but back to the household."""
    text = without_unseen(text)
    if wording.format is Format.PLAIN:
        return f"<pre>{escape(text)}</pre>"
    rich = parse(text)
    links = "".join(f"<li>{escape(rich.under(one))}: <code>{escape(one.detail)}</code></li>" for one in rich.links)
    return _shown(rich) + (f"<ul>{links}</ul>" if links else "") + _as_written(text)


def _shown(rich: RichText) -> str:
    looks = rich.without(lambda span: span.style is SpanStyle.LINK)
    return f'<div class="shown" dir="auto">{html_of(looks, headings=False)}</div>'


def _as_written(text: str) -> str:
    written = f"<pre>{escape(text)}</pre>"
    return f'<details><summary class="hint">As it was written</summary>{written}</details>'


def _problem(problem: str | None) -> str:
    return f'<p class="notice bad flush" role="alert">{escape(problem)}</p>' if problem else ""


def _inputs(wording: Wording) -> Iterator[str]:
    match wording.kind:
        case QuestionKind.TEXT:
            yield _textarea("Your answer")
        case QuestionKind.APPROVE:
            yield _options(wording, "radio")
        case QuestionKind.CHOICE:
            yield _options(wording, "checkbox" if wording.multiple else "radio")
            if wording.allow_text:
                yield _textarea("Or in your own words")
        case QuestionKind.FORM:
            yield from map(_field, form_fields(wording.form))


def _options(wording: Wording, kind: str) -> str:
    lines = []
    for one in wording.options:
        label, about = without_unseen(one.label), without_unseen(one.description or "")
        more = f'<span class="hint">{escape(about)}</span>' if about else ""
        lines.append(_ticked(kind, f'name="{VALUE}" value="{escape(one.value)}"', f"{escape(label)}{more}"))
    return f'<fieldset class="ticks">{"".join(lines)}</fieldset>'


def _ticked(kind: str, named: str, words: str) -> str:
    box = f'<input type="{kind}" {named}>'
    return f'<label class="choice tappable">{box} <span dir="auto">{words}</span></label>'


def _textarea(label: str) -> str:
    written = f'<textarea name="{_TEXT}" rows="4" maxlength="32000"></textarea>'
    return f'<label class="field">{escape(label)}{written}</label>'


def _field(field: FormField) -> str:
    title = escape(without_unseen(field.title)) + (" *" if field.is_required else "")
    about = f'<span class="hint">{escape(field.description)}</span>' if field.description else ""
    named = f'name="{escape(_FIELD + field.name)}"'
    if field.kind == "array":
        boxes = (_ticked("checkbox", f'{named} value="{escape(v)}"', escape(t)) for v, t in field.choices)
        return f'<fieldset class="ticks plain"><legend>{title}</legend>{about}{"".join(boxes)}</fieldset>'
    return f'<label class="field">{title}{about}{_input(named, field)}</label>'


def _input(named: str, field: FormField) -> str:
    if field.offered:
        lines = "".join(f'<option value="{escape(value)}">{escape(title)}</option>' for value, title in field.offered)
        return f'<select {named}><option value="">—</option>{lines}</select>'
    given = escape(str("" if field.default is None else field.default))
    kind = _TYPES.get(field.format, "text")
    mode = ' inputmode="decimal"' if field.kind in ("number", "integer") else ""
    return f'<input type="{kind}" {named} value="{given}"{mode}>'


def _hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'


def _form_of(nonce: str) -> str:
    return f'<form method="post" class="stack">{_hidden(NONCE, nonce)}'


def _button(act: str, label: str, look: str) -> str:
    return f'<button type="submit" class="{look}" name="{ACT}" value="{escape(act)}">{escape(label)}</button>'
