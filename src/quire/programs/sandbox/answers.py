"""What a program ended with, as its answer."""

import json
import re
from typing import Any, cast

from quire.programs.faults import ProgramFault
from quire.programs.sandbox.plain import NotPlain, plain

_LIVE = re.compile(
    r"type \S*(function|method|coroutine|iterator|generator|module|type|object)\w* is not JSON"
)
"""Things that cross as text about them. JSON in the sandbox names the first thing that it cannot write."""

_SHOWN = re.compile(r"<(function|coroutine object|bound method|built-in) .*>$|\[\.\.\.\]$|\{\.\.\.\}$")


def answer_of(found: Any, most: int, printed: str) -> Any:
    """The answer from what the ending of a program handed out: JSON, or a reason and the value as it is."""
    try:
        if isinstance(found, str):
            return _read(found, most)
        reason, value = cast("list[Any]", found)
        if isinstance(value, str) or _LIVE.search(reason):
            raise NotPlain(_without_await(reason))
        return _without_shown(plain(value, most))
    except (NotPlain, ValueError, TypeError, RecursionError) as wrong:
        raise ProgramFault("answer", f"the answer cannot be taken: {wrong}", printed=printed) from None


def _read(text: str, most: int) -> Any:
    if len(text) > most:
        raise NotPlain(f"it is larger than {most} characters")
    return json.loads(text)


def _without_await(reason: str) -> str:
    return f"{reason}; was an `await` left out?" if "coroutine" in reason else reason


def _without_shown(value: Any) -> Any:
    """The value, where none of its texts is what the sandbox shows of a function or of a circle."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str) and _SHOWN.match(one):
            raise NotPlain("it holds a function, a coroutine or itself, which is no value of JSON")
        if isinstance(one, dict):
            waiting += cast("dict[str, Any]", one).values()
        elif isinstance(one, list):
            waiting += one
    return value
