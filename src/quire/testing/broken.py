"""Histories that providers refuse, with the same histories repaired: data to test a framework with.

`broken.json` is plain data under the licence of Quire, for use in any language.
"""

import json
from pathlib import Path
from typing import Any

import msgspec


class BrokenHistory(msgspec.Struct, frozen=True, kw_only=True):
    """A history that programs save by mistake, and the error of its provider.

    `provider` names its format: openai, openai-responses, anthropic or gemini; `model` is set if only some
    models refuse it. `faults` are names of `quire.providers.RULES`. `story` is how it happens, `answer` the
    gist of the provider's error, and `source` where that is documented or reported. `broken` and `repaired`
    are lists of messages, or requests.
    """

    name: str
    provider: str
    model: str | None = None
    faults: tuple[str, ...]
    story: str
    answer: str
    source: str
    broken: Any
    repaired: Any


def broken_histories(provider: str | None = None) -> list[BrokenHistory]:
    """All broken histories, or those in the format of one provider; each call returns new objects."""
    text = Path(__file__).with_name("broken.json").read_bytes()
    # The decoder of the standard library accepts the lone surrogate in one of them.
    histories = msgspec.convert(json.loads(text), list[BrokenHistory])
    return [history for history in histories if provider in (None, history.provider)]
