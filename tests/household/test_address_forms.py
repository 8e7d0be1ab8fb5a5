"""What is an address on each channel the settings know, a channel of one's own included."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.architecture.tree import ROOT

from postroom.household.wiring.channels import address_forms
from postroom.household.wiring.people import opened_people
from postroom.kernel.values.errors import Refused
from postroom.people.model import DraftAddress, PersonDraft
from postroom.settings import Settings

OWN = {"beeper": {"factory": "beeper_channel:Beeper", "options": {"url": "http://127.0.0.1:9"}}}


@pytest.fixture(autouse=True)
def examples_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))


def test_the_shipped_channels_are_known_without_credentials(home: Path) -> None:
    forms = address_forms(Settings(home=home))

    assert sorted(forms) == ["email", "telegram"]
    assert (forms["telegram"]("@Bob_Miller"), forms["email"]("b@Example.ORG")) == ("@bob_miller", "b@example.org")


async def test_a_person_has_an_address_on_a_channel_of_ones_own(home: Path) -> None:
    settings = Settings.model_validate({"home": home, "channels": OWN})
    async with opened_people(settings) as people:
        topic = DraftAddress(channel="beeper", address="kitchen")
        made = await people.create(PersonDraft(name="Cook", addresses=(topic,)), source="test")
        with pytest.raises(Refused) as error:
            await people.change(made.id, addresses=(DraftAddress(channel="beeper", address="no such topic!"),))

    assert made.address_on("beeper") == "kitchen"
    assert [one.field for one in error.value.fields] == ["addresses.0.address"]
