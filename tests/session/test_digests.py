"""Digests that go on from each other are those of the whole, whatever changed in between."""

import hashlib
from random import Random
from typing import Any

import msgspec
from hypothesis import given, strategies as st

from quire.providers import PROVIDERS, CachePlan
from quire.session.digests import Digests
from tests.providers.conversations import STEPS, Step, Talk


def whole(payload: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(payload)).hexdigest()


def changed(payload: dict[str, Any], chance: Random) -> dict[str, Any]:
    """Another payload that shares objects with this one, as renderings do."""
    messages = list(payload["messages"])
    match chance.randrange(5):
        case 0:
            del messages[chance.randrange(len(messages) + 1) :]
        case 1 if messages:
            messages[chance.randrange(len(messages))] = {"role": "user", "content": str(chance.random())}
        case 2:
            return {**payload, "model": f"m{chance.randrange(2)}"}
        case 3:
            return {**payload, "tools": [{"name": "t" * chance.randrange(3)}]}
        case _:
            messages += [{"role": "user", "content": "é" * n} for n in range(chance.randrange(90))]
    return {**payload, "messages": messages}


@given(st.randoms(use_true_random=False))
def test_a_digest_that_goes_on_is_that_of_the_whole(chance: Random) -> None:
    digests = Digests()
    payload: dict[str, Any] = {"model": "m", "messages": [], "max_tokens": 5}
    for _ in range(chance.randrange(1, 12)):
        payload = changed(payload, chance)
        assert digests.of(payload, "openai") == whole(payload)


@given(STEPS)
def test_it_holds_for_what_the_wires_render(steps: list[Step]) -> None:
    digests, talk = Digests(), Talk()
    talk.play(steps[:-8])
    for step in steps[-8:]:
        talk.play([step])
        for wire, provider in PROVIDERS.items():
            payload = provider.render(talk.transcript.view, plan=CachePlan(static=1)).payload
            assert digests.of(payload, wire) == whole(payload)


def test_a_payload_without_a_list_has_a_digest_too() -> None:
    assert Digests().of({"model": "m"}, "openai") == whole({"model": "m"})
    assert Digests().of({"messages": []}, "openai") == whole({"messages": []})
