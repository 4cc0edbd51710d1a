"""Histories that providers refuse, with the same histories repaired: data to test a framework with.

`broken.json` is plain data under the licence of Quire, for use in any language.
"""

import json
from pathlib import Path
from typing import Any

import msgspec


class BrokenHistory(msgspec.Struct, frozen=True, kw_only=True):
    """A history as programs come to save it, and what its provider makes of it.

    `provider` names its format: openai, openai-responses, anthropic or gemini; `model` a model, where only
    some refuse it. `faults` are names of `quire.providers.RULES`. `story` says how it comes about, `answer`
    the gist of what the provider answers, and `source` where that is documented or reported. `broken` and
    `repaired` are lists of messages, or requests.
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
    """All broken histories, or those in the format of one provider; each call returns fresh ones."""
    # The decoder of the standard library takes the half of an emoji that one of them holds.
    found = msgspec.convert(
        json.loads(Path(__file__).with_name("broken.json").read_bytes()), list[BrokenHistory]
    )
    return [one for one in found if provider in (None, one.provider)]
