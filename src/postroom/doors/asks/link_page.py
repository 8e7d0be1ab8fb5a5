"""The pages behind a one-time link: no script, nothing from elsewhere, every word of others shown as text."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final

from postroom.domain.delivery import Format
from postroom.domain.html_text import html_of
from postroom.domain.markdown import parse
from postroom.domain.question import RATHER_NOT, Question, QuestionKind, Wording
from postroom.domain.rich_text import RichText, SpanStyle
from postroom.doors.asks.link_form import ACT, CONFIRM, DECLINE, FIELD, NONCE, TEXT, VALUE
from postroom.work.questions.form import choices, properties

_STYLE: Final = (
    "body{font:1.05rem/1.5 system-ui,sans-serif;max-width:34rem;margin:2rem auto;padding:0 1rem;"
    "color-scheme:light dark}fieldset,label.line{display:block;border:0;margin:.8rem 0;padding:0}"
    "label{display:block;padding:.4rem 0}input[type=text],input[type=email],input[type=url],input[type=date],"
    "select,textarea{display:block;width:100%;box-sizing:border-box;font:inherit;padding:.5rem}"
    "button{font:inherit;padding:.7rem 1.4rem;margin:.5rem .5rem 0 0}pre{white-space:pre-wrap;font:inherit}"
    ".asked>pre,.asked>.shown{font-weight:bold}.shown pre,code{font-family:ui-monospace,monospace}"
    ".shown,code{overflow-wrap:anywhere}blockquote{border-left:.2rem solid;margin-left:0;padding-left:.8rem}"
    ".problem{border-left:.3rem solid #b00;padding-left:.8rem}small{opacity:.8}"
)
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


def plain_page(sentence: str) -> str:
    return _page("Postroom", f"<p>{escape(sentence)}</p>")


def question_page(question: Question, person_name: str, nonce: str, problem: str | None = None) -> str:
    wording = question.wording
    body = f"{_asked(question, person_name)}{_problem(problem)}<form method=post>{_hidden(NONCE, nonce)}"
    body += "".join(_inputs(wording)) + _button("answer", "Go on" if _is_approval(wording) else "Send answer")
    declining = _button(DECLINE, RATHER_NOT) if wording.may_decline else ""
    return _page("A question for you", f"{body}{declining}</form>")


def confirm_page(question: Question, person_name: str, nonce: str, act: str, value: str) -> str:
    """The second step of an approval: what was chosen, once more in words."""
    label = next((one.label for one in question.wording.options if one.value == value), RATHER_NOT)
    body = f"{_asked(question, person_name)}<p>You chose <strong>{escape(label)}</strong>. Nothing is decided yet.</p>"
    kept = "".join(_hidden(name, text) for name, text in ((NONCE, nonce), (VALUE, value), (CONFIRM, act)))
    return _page("Please confirm", f"{body}<form method=post>{kept}{_button('answer', f'Confirm: {label}')}</form>")


def _is_approval(wording: Wording) -> bool:
    return wording.kind is QuestionKind.APPROVE


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">'
        f"<style>{_STYLE}</style></head><body><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )


def _asked(question: Question, person_name: str) -> str:
    who = question.asker.partition(":")[2] or question.asker
    told = f"<p><small>{escape(who)} asks {escape(person_name or 'you')}</small></p>"
    told += f'<div class="asked">{_words(question.wording, question.wording.question)}</div>'
    context = question.wording.context
    shown = _words(question.wording, context) if context else ""
    return told + (f"<details open><summary>Background</summary>{shown}</details>" if context else "")


def _words(wording: Wording, text: str) -> str:
    """Markdown as it looks, its links beside it: the page leads nowhere but back to the household."""
    if wording.format is Format.PLAIN:
        return f"<pre>{escape(text)}</pre>"
    rich = parse(text)
    links = "".join(f"<li>{escape(rich.under(one))}: <code>{escape(one.detail)}</code></li>" for one in rich.links)
    return _shown(rich) + (f"<ul>{links}</ul>" if links else "") + _as_written(text)


def _shown(rich: RichText) -> str:
    looks = rich.without(lambda span: span.style is SpanStyle.LINK)
    return f'<div class="shown" dir="auto">{html_of(looks, headings=False)}</div>'


def _as_written(text: str) -> str:
    return f"<details><summary><small>As it was written</small></summary><pre>{escape(text)}</pre></details>"


def _problem(problem: str | None) -> str:
    return f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else ""


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
            form = wording.form or {}
            needed = form.get("required", ())
            for name, field in properties(form).items():
                yield _field(name, field, is_required=name in needed)


def _options(wording: Wording, kind: str) -> str:
    lines = []
    for one in wording.options:
        more = f"<br><small>{escape(one.description)}</small>" if one.description else ""
        box = f'<input type="{kind}" name="{VALUE}" value="{escape(one.value)}">'
        lines.append(f"<label>{box} {escape(one.label)}{more}</label>")
    return f"<fieldset>{''.join(lines)}</fieldset>"


def _textarea(label: str) -> str:
    return f'<label class="line">{escape(label)}<textarea name="{TEXT}" rows="4" maxlength="32000"></textarea></label>'


def _field(name: str, field: Mapping[str, Any], *, is_required: bool) -> str:
    title = escape(str(field.get("title") or name)) + (" *" if is_required else "")
    about = f"<small>{escape(str(field['description']))}</small>" if field.get("description") else ""
    named = f'name="{escape(FIELD + name)}"'
    if field["type"] == "array":
        boxes = (f'<label><input type="checkbox" {named} value="{v}"> {t}</label>' for v, t in _offered(field))
        return f"<fieldset><legend>{title}</legend>{about}{''.join(boxes)}</fieldset>"
    return f'<label class="line">{title}{about}{_input(named, field)}</label>'


def _input(named: str, field: Mapping[str, Any]) -> str:
    offered = [("yes", "Yes"), ("no", "No")] if field["type"] == "boolean" else _offered(field)
    if offered:
        lines = "".join(f'<option value="{value}">{title}</option>' for value, title in offered)
        return f'<select {named}><option value="">—</option>{lines}</select>'
    given = escape(str(field.get("default", "")))
    kind = _TYPES.get(str(field.get("format", "")), "text")
    mode = ' inputmode="decimal"' if field["type"] in ("number", "integer") else ""
    return f'<input type="{kind}" {named} value="{given}"{mode}>'


def _offered(field: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(escape(str(value)), escape(str(title))) for value, title in choices(field)]


def _hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'


def _button(act: str, label: str) -> str:
    return f'<button type="submit" name="{ACT}" value="{escape(act)}">{escape(label)}</button>'
