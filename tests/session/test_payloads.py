"""A payload is its caller's own: what is changed in one is in no other, and in no receipt."""

import asyncio
import copy
import json
import operator
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.json import encode

from quire import Budget, Template
from quire.providers import PROVIDERS
from quire.sections import History, Instructions
from quire.session import Session
from quire.session.payloads import OwnList
from tests.session.opened import session

TEMPLATE = Template(Instructions("Be brief."), History(), budget=Budget(window=100_000))
TOOL: dict[str, Any] = {
    "name": "look",
    "description": "Looks.",
    "parameters": {"type": "object", "properties": {}},
}


def rendered(one: Session, wire: str) -> dict[str, Any]:
    return dict(asyncio.run(one.build(TEMPLATE, model="any", tools=[TOOL])).render(wire))


def spoil(value: Any) -> None:
    """Change every text in a payload, in place."""
    for place in range(len(value)) if isinstance(value, list) else list(value):  # pyright: ignore
        if isinstance(value[place], str):
            value[place] = "SPOILED"
        elif isinstance(value[place], dict | list):
            spoil(value[place])


@pytest.mark.parametrize("wire", PROVIDERS)
def test_what_a_caller_changes_is_in_no_other_payload(wire: str) -> None:
    one = session()
    one.user("one")
    one.assistant("two")
    one.user("three")
    first = rendered(one, wire)
    before = encode(first)
    spoil(first)
    assert b"SPOILED" in encode(first) and "SPOILED" in json.dumps(first)
    assert encode(rendered(one, wire)) == before
    one.assistant("four")
    one.user("five")
    second = rendered(one, wire)
    assert "SPOILED" not in str(second)
    spoil(second)
    kept = [receipt.payload().payload for receipt in one.receipts()]
    assert encode(kept[0]) == before and "SPOILED" not in str(kept)
    assert "SPOILED" not in str(rendered(one.fork("x"), wire))


def shared() -> tuple[list[Any], OwnList]:
    values: list[Any] = [{"n": [0]}, {"n": [1]}, "text", {"n": [3]}]
    return values, OwnList(values)


TAKING: dict[str, Callable[[Any], Any]] = {
    "index": lambda own: own[1],
    "from the end": lambda own: own[-3],
    "slice": lambda own: own[1:][0],
    "iteration": lambda own: list(own)[1],
    "backwards": lambda own: list(reversed(own))[2],
    "sum": lambda own: operator.add(own, [])[1],
    "other sum": lambda own: operator.add([], own)[1],
    "product": lambda own: (own * 2)[5],
    "other product": lambda own: (2 * own)[1],
    "product in place": lambda own: own.__imul__(2)[5],
    "unpacking": lambda own: [*own][1],
    "copy": lambda own: own.copy()[1],
    "pop": lambda own: own.pop(1),
    "deep copy": lambda own: copy.deepcopy(own)[1],
    "shallow copy": lambda own: copy.copy(own)[1],
    "pickle": lambda own: pickle.loads(pickle.dumps(own))[1],
}


@pytest.mark.parametrize("way", TAKING)
def test_however_one_is_taken_out_it_is_a_copy(way: str) -> None:
    values, own = shared()
    taken = TAKING[way](own)
    assert taken == {"n": [1]}
    taken["n"].append("changed")
    assert values == [{"n": [0]}, {"n": [1]}, "text", {"n": [3]}]


def test_it_is_a_list_like_any_other() -> None:
    values, own = shared()
    assert own == values and len(own) == 4 and encode(own) == encode(values)
    own[0]["n"] = "mine"
    assert own[0] == {"n": "mine"} and values[0] == {"n": [0]}
    added = {"n": "added"}
    own.append(added)
    own[1] = added
    own.extend([added])
    own.insert(0, added)
    own += [added]
    assert own[-3] is added
    assert own[0] is own[-1] is own[-2] is own[2] is added, "what the caller put in is the caller's"
    with pytest.raises(IndexError):
        own[99]
    with pytest.raises(IndexError):
        own[-99]


def test_writing_it_copies_nothing() -> None:
    values, own = shared()
    encode(own)
    kept = list[Any].__iter__(own)
    assert all(one is value for one, value in zip(kept, values, strict=True))
