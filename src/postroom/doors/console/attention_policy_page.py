"""What a person wants of their notices: chosen, tried on the last week, and saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from starlette.responses import Response

from postroom.domain.errors import ValidationError
from postroom.domain.zone import zone_names
from postroom.doors.console.attention_people import AttentionPeople, Whose
from postroom.doors.console.attention_policy_form import (
    PolicyForm,
    agent_field,
    agent_rows,
    complaints_of,
    form_of,
    read,
    typed_form,
)
from postroom.doors.console.attention_week import week
from postroom.doors.console.attention_words import PRESET_WORDS, URGENCY_WORDS, policy_words
from postroom.doors.console.visit import Visit
from postroom.work.attention.attention import Attention
from postroom.work.attention.policy import DAYS, Policy
from postroom.work.attention.rules import Rules, merged

_CHANGED: Final = "Nothing was saved: the policy was changed elsewhere meanwhile. This is how it is now."


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
            words = await self.attention.preview(whose.id, wanted)
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
            agent_field=agent_field,
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
