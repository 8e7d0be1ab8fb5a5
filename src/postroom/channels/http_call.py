"""`HttpCall`: one request, and whether it left."""

from __future__ import annotations

from postroom.world.http.http_call import HttpAnswer as Answer
from postroom.world.http.http_call import HttpCall as HttpCall

__all__ = ["Answer", "HttpCall"]
