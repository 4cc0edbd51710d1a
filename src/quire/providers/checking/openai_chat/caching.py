"""Breakpoints of the prompt cache, which OpenAI's older models do not have; the same on both of its wires.

How many there are is no fault: of more than four the latest are written, and of the latest eighty in a
conversation any is read.
"""

import re
from typing import Any

from quire.providers.checking.reading import Fields, as_list, as_object, short

_FIELD = "prompt_cache_breakpoint"
_FIRST = (5, 6)
_VERSION = re.compile(r"(?:^|[/:.])(?:chat)?gpt-(\d)(?:\.(\d{1,2}))?(?!\d)")
_OLDER = re.compile(r"(?:^|[/:])o[134](?:-|$)")


def check_breakpoints(body: Fields, history: str, model: str | None) -> None:
    """Note the first breakpoint in a request to a model that has none."""
    if model is None or not _is_older(model.lower()):
        return
    for index, message in enumerate(as_list(body.get(history)) or ()):
        values = as_object(message) or {}
        for key in ("content", "output"):
            place = _first(values.get(key))
            if place is not None:
                text = f"the model {short(model)} has no breakpoints"
                body.add(f"{history}[{index}].{key}[{place}].{_FIELD}", "cache_breakpoint", text)
                return


def _is_older(model: str) -> bool:
    found = _VERSION.search(model)
    if found is None:
        return _OLDER.search(model) is not None
    return (int(found[1]), int(found[2] or 0)) < _FIRST


def _first(content: Any) -> int | None:
    parts = enumerate(as_list(content) or ())
    return next((at for at, part in parts if (as_object(part) or {}).get(_FIELD) is not None), None)
