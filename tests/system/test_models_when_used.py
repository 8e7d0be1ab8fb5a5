"""Models that are built for their first use do then what they always do."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
from postroom.system.models_when_used import build_models_when_used
build_models_when_used()
from pydantic import BaseModel, ValidationError
import mcp_types

class Person(BaseModel):
    name: str

class Letter(BaseModel):
    to: Person

print(Person.__pydantic_complete__, mcp_types.Tool.__pydantic_complete__)
print(Letter.model_validate({"to": {"name": "Ada"}}).to.name, Letter.__pydantic_complete__)
try:
    Person(name=7)
except ValidationError as error:
    print(error.error_count())
print(mcp_types.Tool(name="ask", input_schema={}).name)
"""


def test_they_are_complete_once_they_are_used() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True)

    assert ran.stdout.split("\n")[:4] == ["False False", "Ada True", "1", "ask"]
