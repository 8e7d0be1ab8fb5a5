"""`HttpCall`: one request, and whether it left."""

from __future__ import annotations

from postroom.world.http.http_call import Answer as Answer
from postroom.world.http.http_call import HttpCall as HttpCall
