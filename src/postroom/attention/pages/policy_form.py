"""What a person wants of their notices as a form: filled in, tried on the last week, and saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.responses import Response

from postroom.attention.attention import Attention
from postroom.attention.model import DAYS, AgentRule, Policy, policy_mapping
from postroom.attention.pages.shown import PRESET_WORDS, URGENCY_WORDS, AttentionPeople, Whose, policy_words, week
from postroom.attention.rules.policy import Rules, merged, parse_policy
from postroom.console.visit import Form, Visit
from postroom.kernel.values.errors import FieldError, ValidationError
from postroom.kernel.values.fields import Document, printable
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.zones import zone_names

_MOST_ROWS: Final = 30
_WEEK_US: Final = seconds(7 * 86_400)
_FORM_KEYS: Final = ("preset", "zone", "quiet_hours", "let_pass", "slots", "budget", "ceiling", "agents")
_CHANGED: Final = "Nothing was saved: the policy was changed elsewhere meanwhile. This is how it is now."


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRow:
    days: Sequence[str] = DAYS
    start: str = ""
    end: str = ""

    @property
    def is_filled(self) -> bool:
        return bool(self.start or self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRow:
    name: str = ""
    ceiling: str = ""
    critical: bool = False

    @property
    def is_filled(self) -> bool:
        return bool(self.name and (self.ceiling or self.critical))


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyForm:
    """Rows that are filled in come first, so that a row's place is that of its value in the policy."""

    preset: str = ""
    zone: str = ""
    windows: Sequence[WindowRow] = ()
    let_pass: Sequence[str] = ()
    slots: Sequence[str] = ()
    per_hour: str = ""
    per_day: str = ""
    ceiling: str = ""
    agents: Sequence[AgentRow] = ()
    twice: Sequence[str] = ()  # agents that were named more than once

    @property
    def window_rows(self) -> Sequence[WindowRow]:
        return [*self.windows, WindowRow()]

    @property
    def slot_rows(self) -> Sequence[str]:
        return [*self.slots, ""]


# -- A policy as a form --


def form_of(own: Policy | None, household: Policy | None) -> PolicyForm:
    """Quiet hours that are not the person's own are shown as they count: those of the household."""
    policy, base = own or Policy(), household or Policy()
    windows = policy.quiet_hours if policy.quiet_hours is not None else base.quiet_hours
    passing = policy.let_pass if policy.let_pass is not None else base.let_pass
    budget = policy.budget
    return PolicyForm(
        preset=str(policy.preset or ""),
        zone=policy.zone or "",
        windows=[_window_row(one) for one in _written(windows)],
        let_pass=[str(one) for one in passing or ()],
        slots=[one.isoformat("minutes") for one in policy.slots or ()],
        per_hour=_number(budget.per_hour if budget else None),
        per_day=_number(budget.per_day if budget else None),
        ceiling=str(policy.ceiling or ""),
        agents=_rows_of(policy, base),
    )


def _rows_of(policy: Policy, household: Policy) -> list[AgentRow]:
    own, shared = dict(policy.agents or ()), dict(household.agents or ())
    rows = []
    for name in {**own, **shared}:
        rule, base = own.get(name, AgentRule()), shared.get(name, AgentRule())
        critical = base.critical if rule.critical is None else rule.critical
        rows.append(AgentRow(name=name, ceiling=str(rule.ceiling or ""), critical=bool(critical)))
    return rows


def _window_row(value: Document) -> WindowRow:
    return WindowRow(days=value.get("days", DAYS), start=value["from"], end=value["until"])


def _written(windows: Any) -> Sequence[Document]:
    found: Sequence[Document] = policy_mapping(Policy(quiet_hours=windows)).get("quiet_hours", [])
    return found


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def agent_rows(form: PolicyForm, known: Iterable[str]) -> Sequence[AgentRow]:
    """Those of the policy, those that have written, and an empty one."""
    named = {one.name for one in form.agents}
    return [*form.agents, *(AgentRow(name=one) for one in sorted(set(known) - named)[:_MOST_ROWS]), AgentRow()]


def _agent_field(name: str, what: str) -> str:
    return f"agents.{printable(name)}.{what}"


def complaints_of(error: ValidationError) -> Mapping[str, str]:
    """By field, in words for someone who ticks boxes."""
    return {one.field: "choose at least one day" if one.field.endswith(".days") else one.error for one in error.fields}


# -- The form as a policy --


def typed_form(form: Form) -> PolicyForm:
    agents = [one for one in _agent_rows(form) if one.is_filled]
    names = [one.name for one in agents]
    return PolicyForm(
        preset=form.get("preset"),
        zone=form.get("zone").strip(),
        windows=[one for one in _window_rows(form) if one.is_filled],
        let_pass=form.all("let_pass"),
        slots=[one.strip() for one in form.all("slot")[:_MOST_ROWS] if one.strip()],
        per_hour=form.get("per_hour").strip(),
        per_day=form.get("per_day").strip(),
        ceiling=form.get("ceiling"),
        agents=agents,
        twice=sorted({one for one in names if names.count(one) > 1}),
    )


def _window_rows(form: Form) -> Iterable[WindowRow]:
    for place in range(_MOST_ROWS):
        start, end = (form.get(f"window_{place}_{name}").strip() for name in ("from", "until"))
        yield WindowRow(days=[day for day in DAYS if day in form.all(f"window_{place}_day")], start=start, end=end)


def _agent_rows(form: Form) -> Iterable[AgentRow]:
    for place in range(2 * _MOST_ROWS):
        name, ceiling = (form.get(f"agent_{place}_{what}").strip() for what in ("name", "ceiling"))
        yield AgentRow(name=name[:200], ceiling=ceiling, critical=form.get(f"agent_{place}_critical") == "yes")


def read(form: PolicyForm, own: Policy | None, household: Policy | None) -> Policy | None:
    """None when nothing is set. Raises ValidationError, whose fields are those of the form."""
    if form.twice:
        raise ValidationError.of([FieldError("agents", f"name {', '.join(form.twice)} more than once", "duplicate")])
    mapping = written(form, own, household)
    return parse_policy(mapping) if mapping else None


def written(form: PolicyForm, own: Policy | None, household: Policy | None) -> Document:
    """With what the form does not show as it was; without what is as the household has it."""
    kept = policy_mapping(own) if own is not None else {}
    base = policy_mapping(household) if household is not None else {}
    asked: Document = {name: value for name, value in kept.items() if name not in _FORM_KEYS}
    windows = [_window_value(one) for one in form.windows]
    slots = list(form.slots) or (kept["slots"] if kept.get("slots") == [] else None)
    asked |= {
        "preset": form.preset or None,
        "zone": form.zone or None,
        "quiet_hours": _unless_inherited(windows, "quiet_hours", kept, base),
        "let_pass": _unless_inherited(list(form.let_pass), "let_pass", kept, base),
        "slots": slots,
        "budget": _budget(form),
        "ceiling": form.ceiling or None,
        "agents": _agents(form, kept.get("agents", {}), base.get("agents", {})) or None,
    }
    return {name: value for name, value in asked.items() if value is not None}


def _window_value(row: WindowRow) -> Document:
    days = {} if set(row.days) == set(DAYS) else {"days": list(row.days)}
    return {**days, "from": row.start, "until": row.end}


def _unless_inherited(value: list[Any], name: str, kept: Document, base: Document) -> list[Any] | None:
    return None if name not in kept and value == base.get(name, []) else value


def _budget(form: PolicyForm) -> Document | None:
    limits = {"per_hour": _whole(form.per_hour), "per_day": _whole(form.per_day)}
    given = {name: value for name, value in limits.items() if value is not None}
    return given or None


def _whole(text: str) -> int | str | None:
    """What is no number is left as it is, to be refused by its name."""
    if not text:
        return None
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else text


def _agents(form: PolicyForm, kept: Document, base: Document) -> dict[str, Document]:
    """A leave that the household gives and the person did not tick is taken back."""
    found: dict[str, Document] = {}
    ticked = {one.name for one in form.agents if one.critical}
    for one in form.agents:
        found[one.name] = {"ceiling": one.ceiling} if one.ceiling else {}
        inherited = "critical" not in kept.get(one.name, {}) and base.get(one.name, {}).get("critical") is True
        found[one.name] |= {"critical": True} if one.critical and not inherited else {}
    for name in {**kept, **base}:
        refused = kept.get(name, {}).get("critical") is False or base.get(name, {}).get("critical") is True
        if refused and name not in ticked:
            found.setdefault(name, {})["critical"] = False
    return {name: rule for name, rule in found.items() if rule}


# -- The page --


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDraft:
    """The form as it is shown, and what came of trying it: `words` is None when it was not tried."""

    form: PolicyForm
    rules: Rules
    complaints: Mapping[str, str] = field(default_factory=dict)
    words: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyPages:
    attention: Attention
    people: AttentionPeople

    async def show(self, visit: Visit) -> Response:
        whose = await self.people.whose(visit, visit.query.get("of", ""))
        return await self._page(visit, whose, await self._kept(whose))

    async def change(self, visit: Visit) -> Response:
        whose = await self.people.whose(visit, visit.form.get("of"))
        own, seen = await self.attention.policy(whose.id)
        if visit.form.get("seen") != seen:
            return visit.go(whose.address("/policy"), _CHANGED, "bad")
        act = visit.form.get("act")
        if act == "reset":
            return await self._save(visit, whose, None)
        form = typed_form(visit.form)
        try:
            wanted = read(form, own, self._household)
            if act == "save":
                return await self._save(visit, whose, wanted)
            words = (await self.attention.simulate(whose.id, wanted, visit.now_us - _WEEK_US)).words
        except ValidationError as error:
            draft = PolicyDraft(form=form, rules=await self.attention.rules(whose.id), complaints=complaints_of(error))
            return await self._page(visit, whose, draft)
        return await self._page(
            visit, whose, PolicyDraft(form=form, rules=merged(self._household, wanted, whose.zone), words=words)
        )

    @property
    def _household(self) -> Policy | None:
        return self.attention.book.household

    async def _kept(self, whose: Whose) -> PolicyDraft:
        own, _ = await self.attention.policy(whose.id)
        form = form_of(own, self._household)
        return PolicyDraft(form=form, rules=await self.attention.rules(whose.id))

    async def _save(self, visit: Visit, whose: Whose, policy: Policy | None) -> Response:
        await self.attention.set_policy(whose.id, policy)
        said = "Saved. What is held was judged anew." if policy else "Removed. What is held was judged anew."
        return visit.go(whose.address(), said)

    async def _page(self, visit: Visit, whose: Whose, draft: PolicyDraft) -> Response:
        own, seen = await self.attention.policy(whose.id)
        figures = await self.attention.figures(whose.id)
        household = self._household
        return visit.show(
            "attention_policy.html",
            status=422 if draft.complaints else 200,
            whose=whose,
            household_zone=household.zone if household is not None else None,
            form=draft.form,
            agents=agent_rows(draft.form, figures.by_agent),
            agent_field=_agent_field,
            complaints=draft.complaints,
            words=draft.words,
            has_history=bool(figures.accepted),
            is_set=own is not None,
            seen=seen,
            presets=[(str(name), *words) for name, words in PRESET_WORDS.items()],
            household=policy_words(household) if household is not None else None,
            household_preset=PRESET_WORDS[household.preset][0] if household and household.preset else "",
            urgencies=[(str(name), word) for name, word in URGENCY_WORDS.items()],
            days=[(day, day.capitalize()) for day in DAYS],
            zones=sorted(zone_names()),
            week=week(draft.rules.quiet_hours, draft.rules.slots),
            week_zone=draft.rules.zone,
        )
