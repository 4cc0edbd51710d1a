"""Laws 12, 13 and 14 on every wire: whatever the history and what was done to it."""

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from copy import deepcopy
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from quire.errors import Downgraded
from quire.items import Image, Item, Message, ToolCall, ToolResult
from quire.providers import HARMLESS, HISTORY, PROVIDERS, CachePlan
from quire.state import Transcript, View, memos
from quire.testing.conversations import MODELS, PNG, STEPS, TOOLS, TOOLSETS, Step, Talk

pytestmark = pytest.mark.laws

STRICT_MODELS = {"openai": ("mistral-large-latest", "qwen3.6-27b"), "openai-responses": ("qwen3.6-27b",)}
"""Models whose services take less than OpenAI does."""
ALL_MODELS = {wire: [*models, *STRICT_MODELS.get(wire, ())] for wire, models in MODELS.items()}
PLANS = (None, CachePlan(), CachePlan(static=1, slow=3, key="k"), CachePlan(slow=0, keep="long"))
WIRES = st.sampled_from([(wire, model) for wire, models in ALL_MODELS.items() for model in models])
SHARES = 20 if "QUIRE_HISTORIES" in os.environ else 4
MANY = settings(max_examples=int(os.environ.get("QUIRE_HISTORIES", "240")) // SHARES)
"""For law 13: `make fuzz` sets how many histories, in shares small enough to keep all cores at work."""

encode = msgspec.json.Encoder().encode


@contextmanager
def forgotten(view: View) -> Generator[None]:
    """For a while, nothing is known of earlier renderings."""
    kept = memos(view).copy()
    memos(view).clear()
    yield
    memos(view).clear()
    memos(view).update(kept)


def view_after(steps: list[Step]) -> View:
    talk = Talk()
    talk.play(steps)
    return talk.transcript.view


@pytest.mark.parametrize("share", range(SHARES))
@MANY
@given(STEPS, st.integers(0, 2**32))
def test_check_finds_no_fault_in_any_payload(share: int, steps: list[Step], seed: int) -> None:
    view, draw = view_after(steps), Random(seed + share)
    for wire, provider in PROVIDERS.items():
        model, plan, tools = draw.choice(ALL_MODELS[wire]), draw.choice(PLANS), draw.choice(TOOLSETS)
        rendered = provider.render(view, model=model, tools=tools, plan=plan)
        assert provider.check(rendered.payload, model) == []
        encode(rendered.payload)


@given(STEPS, WIRES, st.sampled_from(PLANS))
def test_rendering_is_deterministic(
    steps: list[Step], wire: tuple[str, str | None], plan: CachePlan | None
) -> None:
    provider, model = PROVIDERS[wire[0]], wire[1]
    view = view_after(steps)
    one = provider.render(view, model=model, tools=TOOLS, plan=plan)
    with forgotten(view):
        other = provider.render(view, model=model, tools=TOOLS[::-1], plan=plan)
    assert encode(one.payload) == encode(other.payload)
    assert (one.downgrades, one.prefix) == (other.downgrades, other.prefix)


@given(STEPS, STEPS, WIRES, st.booleans())
def test_going_on_equals_rendering_anew_and_payloads_do_not_change_later(
    steps: list[Step], more: list[Step], wire: tuple[str, str | None], has_volatile: bool
) -> None:
    provider, model = PROVIDERS[wire[0]], wire[1]
    talk = Talk()
    talk.play(steps)
    handed: list[tuple[Any, Any]] = []
    for step in more:
        talk.play([step])
        view, tools = talk.transcript.view, TOOLSETS[1 + (step[1] % 8 == 0) + (step[1] % 16 == 0)]
        plan = CachePlan(slow=max(len(view) - step[2] % 4, 0)) if has_volatile else None
        going_on = provider.render(view, model=model, tools=tools, plan=plan)
        with forgotten(view):
            anew = provider.render(view, model=model, tools=tools, plan=plan)
        assert encode(going_on.payload) == encode(anew.payload)
        assert (going_on.downgrades, going_on.prefix) == (anew.downgrades, anew.prefix)
        handed.append((going_on.payload, deepcopy(going_on.payload)))
    assert all(payload == copy for payload, copy in handed)


@given(STEPS, WIRES)
def test_strict_raises_exactly_if_something_is_lost(steps: list[Step], wire: tuple[str, str | None]) -> None:
    provider, model = PROVIDERS[wire[0]], wire[1]
    view = view_after(steps)
    lenient = provider.render(view, model=model, tools=TOOLS)
    if all(downgrade.change in HARMLESS for downgrade in lenient.downgrades):
        strict = provider.render(view, model=model, tools=TOOLS, strict=True)
        assert encode(strict.payload) == encode(lenient.payload)
    else:
        with pytest.raises(Downgraded):
            provider.render(view, model=model, tools=TOOLS, strict=True)


@given(STEPS, WIRES)
def test_every_text_is_in_the_payload_or_a_downgrade_names_its_item(
    steps: list[Step], wire: tuple[str, str | None]
) -> None:
    provider, model = PROVIDERS[wire[0]], wire[1]
    view = view_after(steps)
    rendered = provider.render(view, model=model, tools=TOOLS)
    payload = json.dumps(rendered.payload, ensure_ascii=False)
    named = {downgrade.item_id for downgrade in rendered.downgrades}
    for item in view:
        text = getattr(item, "text", "")
        for line in filter(str.strip, text.splitlines() if item.id not in named else ()):
            assert json.dumps(line, ensure_ascii=False)[1:-1].strip("\\n ") in payload


TURNS = st.lists(
    st.tuples(st.sampled_from(["text", "calls", "both", "media"]), st.integers(1, 3)), min_size=1, max_size=8
)


@given(TURNS, WIRES)
def test_each_payload_extends_the_one_before(
    turns: list[tuple[str, int]], wire: tuple[str, str | None]
) -> None:
    """Law 12, as far as wires are concerned: without edits, what was sent stays the beginning."""
    provider, model = PROVIDERS[wire[0]], wire[1]
    transcript = Transcript([Message("system", "Be brief.")])
    before: list[Any] = []
    for number, (kind, count) in enumerate(turns):
        content = ("Look:", Image(data=PNG)) if kind == "media" else f"question {number}"
        transcript.append(Message("user", content))
        sent = provider.render(transcript.view, model=model, tools=TOOLS).payload[HISTORY[wire[0]]]
        assert sent[: len(before)] == before
        before = deepcopy(sent)
        transcript.extend(reply(kind, count, number))


def reply(kind: str, count: int, number: int) -> list[Item]:
    said: list[Item] = [] if kind == "calls" else [Message("assistant", f"answer {number}")]
    if kind in ("text", "media"):
        return said
    calls: list[Item] = [ToolCall(f"c{number}_{n}", "look_up", "{}") for n in range(count)]
    results: list[Item] = [ToolResult(f"c{number}_{n}", "look_up", "found") for n in range(count)]
    return [*said, *calls, *results, Message("assistant", "there")]
