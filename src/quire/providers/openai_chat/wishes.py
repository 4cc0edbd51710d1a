"""Chat Completions: what services of this wire refuse a message for, and what is put where it is gone.

State may not go back to its model after an edit, nor to another one at all. Where a service refuses a call
without it, it gets what its documentation, or all who call it, have stand for it.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, cast

from quire.errors import InvalidValue
from quire.providers.gemini.signing import PLACEHOLDER
from quire.providers.openai_chat.manners import is_own
from quire.providers.sheet import Json
from quire.tokens import UNKNOWN, bare_name, facts_for

BLANK = " "
"""Stands for thoughts that are gone: a text without any is taken for none."""

THOUGHTS = ("reasoning_content", "reasoning")
"""The names that thoughts have in words; a service has one of them, or both for the same words."""

_OF_A_GATEWAY = re.compile(r"[/:]")
_ONLY_WITH_CALLS = re.compile(r"deepseek-(?:reasoner|r1)")


class Wishes(NamedTuple):
    """What a model's service wants beside messages with calls, and some beside others, whoever made them."""

    thoughts: bool = False
    """The field `reasoning_content` on each with calls."""
    always: bool = False
    """The same on each without."""
    signature: bool = False
    """A signature on the first call of each."""
    by_one_name: bool = False
    """These thoughts under no other name: whoever made the model serves it, by what the model is called."""
    only_with_calls: bool = False
    """No thoughts beside a message without calls: the first of these services answered 400 to them."""
    nothing: bool = False
    """No thoughts and no signatures at all: OpenAI's own models give none here, by names of no gateway."""
    in_chunks: bool = True
    """Thoughts in the content too, which only Mistral's models give, and maybe some that nobody knows."""

    @property
    def any(self) -> bool:
        """Whether a message with calls is more here than on OpenAI's own service."""
        return self.thoughts or self.signature


@lru_cache(256)  # it is asked for each reply, of the same few models
def wishes_of(model: str | None) -> Wishes:
    """What a service wants, by the name of its model."""
    if model is None:
        return Wishes()
    try:
        facts, name = facts_for(model), bare_name(model).rpartition("/")[2]
    except InvalidValue:
        return Wishes()  # there is no name in it
    features = facts.features
    return Wishes(
        "reasoning_with_calls" in features,
        "reasoning_with_answers" in features,
        "thought_signatures" in features,
        _OF_A_GATEWAY.search(model) is None,
        _ONLY_WITH_CALLS.match(name) is not None,
        is_own(model, facts) and "/" not in model,
        facts is UNKNOWN or "reasoning_in_content" in features,
    )


def thoughts_name(model: str | None) -> str:
    """The name that the service of a model has for thoughts in words."""
    return THOUGHTS[0] if wishes_of(model).thoughts else THOUGHTS[1]


def thoughts_or_blank(model: str | None, fields: Json, *, has_calls: bool) -> Json:
    """What goes beside a message: its thoughts, or a blank where its service wants some and there are none.

    Never both: who reads the blank would not read the thoughts that have another name. Beside a message
    without calls it is wanted once a request has tools. It is there before that, so that nothing changes when
    they come: it is not read without them. Thoughts of another name are there under the one that is read too.
    """
    wishes = wishes_of(model)
    is_wanted = wishes.thoughts if has_calls else wishes.always
    if wishes.by_one_name and is_wanted and "reasoning" in fields:
        return {"reasoning_content": fields["reasoning"] or BLANK, **fields}
    is_there = any(name in fields for name in (*THOUGHTS, "reasoning_details"))
    return fields if is_there or not is_wanted else {"reasoning_content": BLANK, **fields}


def wanted_signature(model: str | None) -> Json:
    """What stands on the first call of a message that has no signature."""
    signature = {"google": {"thought_signature": PLACEHOLDER}}
    return {"extra_content": signature} if wishes_of(model).signature else {}


def in_place_of(fields: Mapping[str, Any]) -> Json:
    """What goes back where the fields themselves may not, so that the message is not refused."""
    blank: Json = {name: BLANK for name in THOUGHTS if name in fields}
    signed = {name: _unsigned(value) for name, value in fields.items() if isinstance(value, Mapping)}
    return blank | signed


def _unsigned(value: Any) -> Any:
    """A value with the placeholder for each signature in it, and nothing else."""
    held = cast("Mapping[str, Any]", value)
    told = {name: _unsigned(inner) for name, inner in held.items() if isinstance(inner, Mapping)}
    return told | ({"thought_signature": PLACEHOLDER} if "thought_signature" in held else {})
