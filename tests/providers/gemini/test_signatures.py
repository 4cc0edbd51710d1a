"""Thought signatures go back on their parts, to their model, while what came before them is unchanged."""

import json

import pytest

from quire.items import Image, Item, Message, Opaque, Reasoning, ToolCall, ToolResult
from quire.providers import CachePlan, sealed
from quire.providers.gemini.signing import PLACEHOLDER, unsealed
from tests.providers.gemini.wire import (
    GEMINI,
    NEW,
    OLD,
    PNG,
    Json,
    answer,
    call,
    changes,
    contents,
    model,
    rendered,
    user,
)

ASKED: list[Item] = [Message("system", "Be brief."), Message("user", "Go")]
THOUGHT: Json = {"text": "hm", "thought": True, "thoughtSignature": "dGhpbms="}
CALLS = [call("c1", "look", {"q": 1}, thoughtSignature="c2lnbg=="), call("c2", "look")]
RESULTS: list[Item] = [ToolResult("c1", "look", "x"), ToolResult("c2", "look", "y")]


def answered(
    *parts: Json, items: list[Item] = ASKED, name: str = NEW, plan: CachePlan | None = None
) -> list[Item]:
    sent = GEMINI.render(items, model=name, plan=plan)
    response = {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP"}]}
    return list(GEMINI.parse(response, sent=sent, model=name).items)


@pytest.mark.parametrize("name", [OLD, NEW])
def test_what_came_signed_goes_back_signed(name: str) -> None:
    parts: list[Json] = [THOUGHT, {"text": "Looking.", "thoughtSignature": "dGV4dA=="}, *CALLS]
    made = rendered([*ASKED, *answered(*parts, name=name), *RESULTS], name)
    assert made.payload["contents"][1] == model(*parts)
    assert made.downgrades == ()


def test_each_step_of_a_turn_keeps_its_own() -> None:
    items: list[Item] = [*ASKED, *answered(*CALLS), *RESULTS]
    step = call("c3", "look", thoughtSignature="c3RlcA==")
    items += [*answered(step, items=items), ToolResult("c3", "look", "z")]
    final: Json = {"text": "Done.", "thoughtSignature": "ZmluYWw="}
    items += [*answered(final, items=items), Message("user", "Thanks")]
    assert contents(items, NEW) == [
        user("Go"),
        model(*CALLS),
        user(answer("c1", "look", {"output": "x"}), answer("c2", "look", {"output": "y"})),
        model(step),
        user(answer("c3", "look", {"output": "z"})),
        model(final),
        user("Thanks"),
    ]


def test_signed_pictures_keep_their_signatures_by_place() -> None:
    picture: Json = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAAAAAAAAA=="}}
    parts: list[Json] = [{"text": "Here:"}, {**picture, "thoughtSignature": "cGlj"}, {"text": "And."}]
    items = answered(*parts)
    assert [type(item) for item in items] == [Message]
    assert items[0].content == ("Here:", Image(data=PNG, media_type="image/png"), "And.")  # type: ignore[union-attr]
    assert contents([*ASKED, *items], NEW)[1] == model(*parts)


def test_unsigned_thoughts_are_left_out_with_a_note() -> None:
    thought = {"text": "hm", "thought": True}
    made = rendered([*ASKED, *answered(thought, *CALLS), *RESULTS], NEW)
    assert made.payload["contents"][1] == model(*CALLS)
    assert changes(made) == ["thoughts_left_out"]


def test_thoughts_alone_are_no_reply() -> None:
    made = rendered([*ASKED, *answered(THOUGHT), Message("user", "Well?")], NEW)
    assert made.payload["contents"] == [user("Go"), user("Well?")]
    assert changes(made) == ["reasoning_left_out"]


@pytest.mark.parametrize("name", ["gemini-3-flash", OLD])
def test_another_model_gets_none(name: str) -> None:
    made = rendered([*ASKED, *answered(THOUGHT, *CALLS), *RESULTS], name)
    signature = {"thoughtSignature": PLACEHOLDER} if name == "gemini-3-flash" else {}
    assert made.payload["contents"][1] == model(call("c1", "look", {"q": 1}, **signature), CALLS[1])
    assert {"state_foreign", "reasoning_left_out"} == set(changes(made))


def test_an_edited_prefix_makes_them_stale() -> None:
    items = answered(*CALLS)
    for edited in ([Message("system", "Be long."), Message("user", "Go")], [Message("user", "Go")]):
        made = rendered([*edited, *items, *RESULTS], NEW)
        assert made.payload["contents"][1] == model({**CALLS[0], "thoughtSignature": PLACEHOLDER}, CALLS[1])
        assert changes(made) == ["state_stale", "state_foreign"]


def test_foreign_calls_get_the_placeholder_on_the_first_of_each_step_and_keep_it() -> None:
    items: list[Item] = [
        Message("user", "Go"),
        ToolCall("c1", "look", state=Opaque("anthropic", "claude-opus-5", "x")),
        ToolCall("c2", "look"),
        *RESULTS,
        ToolCall("c3", "look"),
        ToolResult("c3", "look", "z"),
    ]
    first = contents(items, NEW)
    assert [part.get("thoughtSignature") for turn in first for part in turn["parts"]] == [
        *(None, PLACEHOLDER, None, None, None, PLACEHOLDER, None)
    ]
    later = contents([*items, Message("assistant", "Done."), Message("user", "Thanks")], NEW)
    assert later[: len(first)] == first
    assert not any("thoughtSignature" in part for turn in contents(items, OLD) for part in turn["parts"])


def test_volatile_parts_do_not_bind() -> None:
    items: list[Item] = [*ASKED, Message("user", "It is noon.")]
    parts = answered(*CALLS, items=items, plan=CachePlan(static=1, slow=2))
    assert contents([*ASKED, *parts, *RESULTS], NEW)[1] == model(*CALLS)


def test_an_answer_after_a_made_up_turn_is_stale() -> None:
    """The turn was sent and is not there any more: what comes before the answer is another thing now."""
    items: list[Item] = [*ASKED, Message("assistant", "Hm.")]
    items += answered({"text": "Well.", "thoughtSignature": "c2lnbg=="}, items=items)
    made = rendered([*items, Message("user", "Go on")], NEW)
    assert made.payload["contents"][1] == model("Hm.", "Well.")
    assert changes(made) == ["state_stale"]


def test_an_answer_to_nothing_keeps_its_state() -> None:
    items = answered({"text": "Well.", "thoughtSignature": "c2lnbg=="}, items=[])
    made = rendered([*items, Message("user", "Go on")], NEW)
    assert made.payload["contents"][1] == model({"text": "Well.", "thoughtSignature": "c2lnbg=="})


SIGNATURE: Json = {"thoughtSignature": "c2lnbg=="}


EMPTY: list[tuple[list[Json], list[Json]]] = [
    ([{"text": "Hi."}, SIGNATURE], [{"text": "Hi."}, {"text": "", **SIGNATURE}]),
    ([{"thought": True}, {"text": "Hi."}], [{"text": "Hi."}]),
    ([{"text": "Hi."}, {"videoMetadata": {}}], [{"text": "Hi."}]),
    ([{"text": "Hi."}, {"functionResponse": {"name": "f", "response": {}}}], [{"text": "Hi."}]),
    ([{"text": "Hi."}, {"type": "text", "x": 1}], [{"text": "Hi."}]),
]


@pytest.mark.parametrize(("parts", "sent"), EMPTY)
def test_a_part_that_holds_nothing_to_send_is_not_sent(parts: list[Json], sent: list[Json]) -> None:
    parsed = [*ASKED, *answered(*parts), Message("user", "More")]
    assert contents(parsed, NEW)[1] == {"role": "model", "parts": sent}
    if "functionResponse" not in parts[-1]:
        history = GEMINI.read_history(
            [user("Go"), {"role": "model", "parts": parts}, user("More")], model=NEW
        )
        assert contents(history, NEW)[1] == {"role": "model", "parts": sent}


@pytest.mark.parametrize(
    "data",
    ["x", "[]", "{}", '{"signature": 1}', '{"signature": "é"}', '{"signatures": "x"}', '{"signature": "s"}'],
)
def test_state_that_holds_no_signature_is_not_sent(data: str) -> None:
    state = Opaque("gemini", NEW, data)
    made = rendered(
        [Message("user", "Go"), Reasoning("hm", state), Message("assistant", "Hi.", state=state)], NEW
    )
    assert made.payload["contents"][1] == model("Hi.")
    assert "state_foreign" in changes(made)


def test_sealing_and_unsealing() -> None:
    assert sealed([None, None], NEW, None) is None
    for signatures in (["YQ=="], [None, "YQ=="], ["YQ", "Yg==", None]):
        state = sealed(signatures, NEW, "p")
        assert state is not None and (state.provider, state.model, state.prefix) == ("gemini", NEW, "p")
        assert list(unsealed(state)) == signatures
        json.loads(state.data)
