"""Whether a rendered payload says what the transcript says."""

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from transcript import Entry

Json = dict[str, Any]


def fault(wire: str, turns: Sequence[Any], chat: Sequence[Entry]) -> str:
    """What is wrong with the messages of a payload: too few, too many, or a text that is not there."""
    fewest, most = _numbers(chat) if wire == "openai" else _numbers_in_turns(chat)
    if not fewest <= len(turns) <= most:
        return f"{len(chat)} messages became {len(turns)}"
    return _lost(turns, [text for role, text, *_ in chat if role != "system"])


def differs(turns: Sequence[Json], messages: Sequence[Json]) -> str:
    """Where chat messages are not the same, the names of tools in results and of instructors aside."""
    for place, (turn, message) in enumerate(zip(map(_bare, turns), map(_bare, messages), strict=True)):
        if turn != message:
            return f"message {place} is not the same"
    return ""


def _numbers(chat: Sequence[Entry]) -> tuple[int, int]:
    """One message for each, or one for each text and call."""
    return len(chat), sum(bool(text) + len(calls) for _, text, calls, _, _ in chat)


def _numbers_in_turns(chat: Sequence[Entry]) -> tuple[int, int]:
    """From whole turns to one for each text and call; one may be added at either end."""
    spoken = [entry for entry in chat if entry[0] != "system"]
    turns = sum(1 for _ in groupby(spoken, key=lambda entry: entry[0] == "assistant"))
    return turns, _numbers(spoken)[1] + 2


def _lost(turns: Sequence[Any], texts: Sequence[str]) -> str:
    written, place = json.dumps(turns, default=_dumped), 0
    for number, text in enumerate(texts):
        found = written.find(json.dumps(text)[1:-1], place)
        if found < 0:
            return f"text {number} of {len(texts)} is not where it should be"
        place = found + len(text)
    return ""


def _dumped(thing: Any) -> Any:
    return repr(thing) if isinstance(thing, bytes) else thing.model_dump(exclude_none=True)


def _bare(message: Json) -> Json:
    kept = {name: value for name, value in message.items() if name != "name"}
    return kept | {"role": "system"} if message["role"] == "developer" else kept
