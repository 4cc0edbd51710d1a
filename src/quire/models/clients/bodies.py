"""What the body of an error says in words. Each service has a shape of its own for it."""

import html
import re
from collections.abc import Iterable
from typing import Any, cast

from quire.models.clients.client import object_in

_SAID_UNDER = ("message", "Message", "error", "detail", "msg", "errors")
_LONGEST = 4_000  # characters; more than that no note has room for
_DEEPEST = 6
_MOST_FAULTS = 10
_SHORTEST_KEY = 8

_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.I | re.S)
_UNSHOWN = re.compile(r"<(script|style|head)\b.*?</\1>|<!--.*?-->|<[^>]*>", re.I | re.S)


def words_in(body: Any, depth: int = _DEEPEST) -> str:
    """The words of a body: a text, a page, or what stands under one of the usual names; empty if nowhere."""
    if isinstance(body, str):
        text = body[:_LONGEST].strip()
        return _words_of_page(text) if text.startswith("<") else text
    if depth == 0:
        return ""
    if isinstance(body, list):
        said = (_fault(one, depth) for one in cast("list[object]", body)[:_MOST_FAULTS])
        return "; ".join(words for words in said if words)[:_LONGEST]
    told = object_in(body)
    # Only what is there is looked into: six names at six depths are fifty thousand looks at nothing.
    under = (words_in(told[name], depth - 1) for name in _SAID_UNDER if name in told)
    return next(filter(None, under), "")


def without_keys(words: str, keys: Iterable[object]) -> str:
    """Words without the keys that were sent: a body may quote the headers of its request."""
    for key in keys:
        if isinstance(key, str) and len(key) >= _SHORTEST_KEY:
            words = words.replace(key, "…")
    return words


def _fault(one: Any, depth: int) -> str:
    """One fault of several, after the place it is at. What was sent may stand beside it, and is not told."""
    words = words_in(one, depth - 1)
    where = object_in(one).get("loc")
    at = ".".join(map(str, cast("list[object]", where))) if isinstance(where, list) else ""
    return f"{at}: {words}" if at and words else words


def _words_of_page(page: str) -> str:
    """A page by its title, or else its text."""
    title = _TITLE.search(page)
    text = title[1] if title and title[1].strip() else _UNSHOWN.sub(" ", page)
    return " ".join(html.unescape(text).split())
