"""One file: a conversation as the page shows it, in an HTML file that opens without a server."""

import base64
import hashlib
import html
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from quire.inspector.modules import PAGE, modules
from quire.items import now

Answers = list[tuple[str, dict[str, Any], Any]]
"""What the page asked for: the name, the parameters, and the answer."""

_PLAIN = {
    *("address", "agent", "by", "call_id", "edit", "fate", "first", "id", "kind", "last", "model", "name"),
    *("parent", "part", "place", "provider", "role", "rule", "scope", "section", "sort", "state", "status"),
    *("target", "transcripts", "type", "undo"),
}
"""Fields whose texts are no content."""


def document(answers: Answers, *, address: str, label: str) -> str:
    """An HTML file of the page with its modules, its style and its answers; it asks for nothing else."""
    snapshot = {
        "at": now(),
        "sources": [{"name": "store", "label": label, "scope": None, "is_writable": False, "is_file": False}],
        "answers": answers,
    }
    imports = {name: _data_url(path.read_bytes()) for name, path in modules().items()}
    start = f'location.hash ||= "#/store/" + encodeURIComponent({_json(address)});\nimport("quire/app.js");'
    style = (PAGE / "style.css").read_text("utf-8")
    scripts = _json({"imports": imports}), start
    policy = (
        f"default-src 'none'; script-src data: {' '.join(map(_digest, scripts))}; "
        f"style-src {_digest(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="{html.escape(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(address)} · Quire inspector</title>
<style>{style}</style>
<script type="importmap">{scripts[0]}</script>
<script type="application/json" id="snapshot">{_json(snapshot)}</script>
</head>
<body><div id="page"></div><script type="module">{scripts[1]}</script></body>
</html>
"""


def redacted(value: Any, field: str = "") -> Any:
    """An answer with its texts replaced by their sizes; figures, kinds, ids and names of tools stay."""
    if isinstance(value, str):
        return value if field in _PLAIN else f"[{len(value):,} characters]"
    if isinstance(value, list):
        return [redacted(each, field) for each in cast("Iterable[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = {name: redacted(each, name) for name, each in cast("Mapping[str, Any]", value).items()}
    return fields | ({"length": len(fields["text"])} if {"length", "text"} <= fields.keys() else {})


def _json(value: Any) -> str:
    """JSON that can stand in a script element."""
    return msgspec.json.encode(value).decode().replace("<", "\\u003c")


def _data_url(script: bytes) -> str:
    return f"data:text/javascript;base64,{base64.b64encode(script).decode()}"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
