"""Laws 13, 14 and 15: whatever the history and what was done to it, no wire finds a fault in what is sent."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from quire.errors import Downgraded
from quire.items import Image, Item, Message, ToolCall, ToolResult
from quire.providers import HARMLESS, PROVIDERS, CachePlan
from quire.state import Transcript, View, memos
from tests.providers.conversations import MODELS, PNG, STEPS, TOOLS, TOOLSETS, Step, Talk, many_steps

pytestmark = pytest.mark.laws

STRICT = {"openai": ("mistral-large-latest", "qwen3.6-27b"), "openai-responses": ("qwen3.6-27b",)}
"""Models whose services take less than OpenAI does."""
WIRES = st.sampled_from(
    [(wire, model) for named in (MODELS, STRICT) for wire, models in named.items() for model in models]
)
PLANS = st.sampled_from(
    [None, CachePlan(), CachePlan(static=1, slow=3, key="k"), CachePlan(slow=0, keep="long")]
)
MANY = settings(max_examples=max(2000, 5 * settings().max_examples))
"""For the law that matters most: thousands of cases each time, a hundred thousand in `make fuzz`."""

encoder = msgspec.json.Encoder()


@contextmanager
def forgotten(view: View) -> Generator[None]:
    """For a while, nothing that was rendered before is known."""
    kept = memos(view).copy()
    memos(view).clear()
    yield
    memos(view).clear()
    memos(view).update(kept)


def talk_after(steps: list[Step]) -> Talk:
    talk = Talk()
    talk.play(steps)
    return talk


@MANY
@given(STEPS, WIRES, PLANS, st.sampled_from(TOOLSETS))
def test_no_wire_finds_a_fault(
    steps: list[Step], wire: tuple[str, str | None], plan: CachePlan | None, tools: list[dict[str, Any]]
) -> None:
    provider, model = PROVIDERS[wire[0]], wire[1]
    view = talk_after(steps).transcript.view
    rendered = provider.render(view, model=model, tools=tools, plan=plan)
    assert provider.check(rendered.payload, model) == []
    json.dumps(rendered.payload, ensure_ascii=False, allow_nan=False).encode()


@pytest.mark.parametrize("seed", [323, 4857])
@pytest.mark.parametrize("wire", MODELS)
def test_a_merged_result_that_answers_no_call_is_left_out(seed: int, wire: str) -> None:
    view = talk_after(many_steps(seed)).transcript.view
    rendered = PROVIDERS[wire].render(view, model=MODELS[wire][0])
    assert PROVIDERS[wire].check(rendered.payload, MODELS[wire][0]) == []


@given(STEPS, WIRES, PLANS)
def test_the_same_items_are_the_same_bytes(
    steps: list[Step], wire: tuple[str, str | None], plan: CachePlan | None
) -> None:
    provider, model = PROVIDERS[wire[0]], wire[1]
    view = talk_after(steps).transcript.view
    one = provider.render(view, model=model, tools=TOOLS, plan=plan)
    with forgotten(view):
        other = provider.render(view, model=model, tools=TOOLS[::-1], plan=plan)
    assert encoder.encode(one.payload) == encoder.encode(other.payload)
    assert one.downgrades == other.downgrades
    assert one.prefix == other.prefix


@given(STEPS, STEPS, WIRES, st.integers(0, 3))
def test_rendering_on_is_rendering_anew_and_what_was_handed_out_stays(
    steps: list[Step], more: list[Step], wire: tuple[str, str | None], volatile: int
) -> None:
    provider, model = PROVIDERS[wire[0]], wire[1]
    talk = talk_after(steps)
    handed: list[tuple[Any, Any]] = []
    for step in more:
        talk.play([step])
        view, tools = talk.transcript.view, TOOLSETS[1 + (step[1] % 8 == 0) + (step[1] % 16 == 0)]
        plan = CachePlan(slow=max(len(view) - step[2] % 4, 0)) if volatile else None
        going_on = provider.render(view, model=model, tools=tools, plan=plan)
        with forgotten(view):
            anew = provider.render(view, model=model, tools=tools, plan=plan)
        assert encoder.encode(going_on.payload) == encoder.encode(anew.payload)
        assert (going_on.downgrades, going_on.prefix) == (anew.downgrades, anew.prefix)
        handed.append((going_on.payload, deepcopy(going_on.payload)))
    assert all(payload == copy for payload, copy in handed)


@given(STEPS, WIRES)
def test_strict_is_an_error_just_where_something_is_lost(
    steps: list[Step], wire: tuple[str, str | None]
) -> None:
    provider, model = PROVIDERS[wire[0]], wire[1]
    view = talk_after(steps).transcript.view
    lenient = provider.render(view, model=model, tools=TOOLS)
    lost = [downgrade for downgrade in lenient.downgrades if downgrade.change not in HARMLESS]
    if lost:
        with pytest.raises(Downgraded):
            provider.render(view, model=model, tools=TOOLS, strict=True)
    else:
        strict = provider.render(view, model=model, tools=TOOLS, strict=True)
        assert encoder.encode(strict.payload) == encoder.encode(lenient.payload)


@given(STEPS, WIRES)
def test_every_item_is_said_or_its_loss_is(steps: list[Step], wire: tuple[str, str | None]) -> None:
    """Law 14: words of user and model, and results, are in the payload unless a downgrade names the item."""
    provider, model = PROVIDERS[wire[0]], wire[1]
    view = talk_after(steps).transcript.view
    rendered = provider.render(view, model=model, tools=TOOLS)
    payload = json.dumps(rendered.payload, ensure_ascii=False)
    named = {downgrade.item_id for downgrade in rendered.downgrades}
    for item in view:
        text = getattr(item, "text", "")
        if isinstance(text, str) and text.strip() and item.id not in named and "\ud800" not in text:
            for line in filter(str.strip, text.splitlines()):
                assert json.dumps(line, ensure_ascii=False)[1:-1].strip("\\n ") in payload


TURNS = st.lists(
    st.tuples(st.sampled_from(["words", "calls", "both", "media"]), st.integers(1, 3)), min_size=1, max_size=8
)


@given(TURNS, WIRES)
def test_each_payload_extends_the_one_before(
    turns: list[tuple[str, int]], wire: tuple[str, str | None]
) -> None:
    """Law 12, as far as it is the wires': while nothing is edited a prefix that was sent stays as it was."""
    provider, model = PROVIDERS[wire[0]], wire[1]
    transcript = Transcript([Message("system", "Be brief.")])
    before: list[Any] = []
    for number, (kind, count) in enumerate(turns):
        transcript.append(
            Message("user", ("Look:", Image(data=PNG)) if kind == "media" else f"question {number}")
        )
        payload = provider.render(transcript.view, model=model, tools=TOOLS).payload
        sent = next(value for name, value in payload.items() if name in ("messages", "input", "contents"))
        assert sent[: len(before)] == before
        before = deepcopy(sent)
        transcript.extend(reply(kind, count, number))
    assert before


def reply(kind: str, count: int, number: int) -> list[Item]:
    words: list[Item] = [] if kind == "calls" else [Message("assistant", f"answer {number}")]
    if kind in ("words", "media"):
        return words
    calls: list[Item] = [ToolCall(f"c{number}_{n}", "look_up", "{}") for n in range(count)]
    results: list[Item] = [ToolResult(f"c{number}_{n}", "look_up", "found") for n in range(count)]
    return [*words, *calls, *results, Message("assistant", "there")]
