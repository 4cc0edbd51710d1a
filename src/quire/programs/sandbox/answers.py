"""What a program ended with, as its answer."""

import json
import re
from typing import Any, cast

from quire.programs.sandbox.plain import NotPlain, plain

_LIVE = re.compile(
    r"type \S*(function|method|coroutine|iterator|generator|module|type|object)\w* is not JSON"
)
"""Things that are no data. JSON in the sandbox names the first thing that it cannot write."""


def answer_of(found: Any, most: int) -> Any:
    """The answer from what the ending of a program handed out: JSON, or a reason and the value as it is.

    `NotPlain` says why it cannot be taken.
    """
    try:
        if isinstance(found, str):
            return _read(found, most)
        reason, value = cast("list[Any]", found)
        taken = plain(value, most)
        if isinstance(value, str) or _LIVE.search(reason):
            raise NotPlain(reason)
        return taken
    except (ValueError, TypeError, RecursionError) as wrong:
        raise NotPlain(str(wrong)) from None


def _read(text: str, most: int) -> Any:
    if len(text) > most:
        raise NotPlain(f"it is larger than {most} characters")
    return json.loads(text)
