"""How a line to a mail server is secured."""

from __future__ import annotations

from typing import Literal

Security = Literal["starttls", "tls", "none"]
