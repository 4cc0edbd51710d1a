"""Messages: what waits in a container goes back with the container, and not without it."""

from typing import Any

import pytest

from quire.items import Image, Message, Reasoning, ToolResult
from quire.providers import Parsed, Rendered
from quire.state import Transcript
from tests.providers.anthropic.test_deferred import (
    CALLER,
    CODE,
    CONTAINER,
    FOUND as OPEN_FOUND,
    GO,
    MODEL,
    RAN,
    SEARCH,
    THOUGHT,
    TOOLS,
    WIRE,
    Json,
    changes,
    gave,
    use,
)
from tests.providers.anthropic.test_writing import assistant, text

ASKS = [THOUGHT, CODE, use("t1", caller=CALLER)]
INNER = {**SEARCH, "caller": CALLER}
FOUND: Json = {**OPEN_FOUND, "caller": CALLER}


def whole(sent: Rendered, blocks: list[Json], container: Json | None) -> Parsed:
    body = {"model": MODEL, "stop_reason": "tool_use", "content": blocks, "container": container}
    return WIRE.parse(body, sent=sent)


def streamed(sent: Rendered, blocks: list[Json], container: Json | None, *, early: bool = False) -> Parsed:
    stream = WIRE.stream(sent=sent)
    begun: Json = {"model": MODEL, "content": [], "container": container if early else None}
    stream.feed({"type": "message_start", "message": begun})
    for place, block in enumerate(blocks):
        stream.feed({"type": "content_block_start", "index": place, "content_block": block})
        stream.feed({"type": "content_block_stop", "index": place})
    ended: Json = {"stop_reason": "tool_use", "container": None if early else container}
    stream.feed({"type": "message_delta", "delta": ended})
    stream.feed({"type": "message_stop"})
    return stream.close()


def told_first(sent: Rendered, blocks: list[Json], container: Json | None) -> Parsed:
    return streamed(sent, blocks, container, early=True)


READS = {"whole": whole, "streamed": streamed, "told at its start": told_first}


def asked(blocks: list[Json], container: Json | None = CONTAINER, read: Any = whole) -> Transcript:
    talk = Transcript([Message("user", "Go.")])
    sent = WIRE.render(talk.view, model=MODEL, tools=TOOLS)
    talk.extend(read(sent, blocks, container).items)
    talk.append(ToolResult("t1", "look", "rain"))
    return talk


def rendered(talk: Transcript, **options: Any) -> Rendered:
    made = WIRE.render(talk.view, model=MODEL, tools=TOOLS, **options)
    at_once = WIRE.render([*talk.view], model=MODEL, tools=TOOLS)
    assert (made.payload, made.downgrades) == (at_once.payload, at_once.downgrades)
    assert WIRE.check({**made.payload, "model": MODEL, "max_tokens": 9}) == []
    return made


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_the_container_is_named_while_a_program_waits_in_it(read: Any) -> None:
    talk = asked(ASKS, read=read)
    made = rendered(talk, strict=True)
    assert made.payload["container"] == "container_1"
    assert made.payload["messages"] == [GO, assistant(*ASKS), gave("t1")]
    talk.extend(read(made, [use("t2", caller=CALLER)], None).items)
    talk.append(ToolResult("t2", "look", "sun"))
    made = rendered(talk, strict=True)
    assert made.payload["container"] == "container_1"
    talk.extend(read(made, [RAN, text("Done.")], CONTAINER).items)
    talk.append(Message("user", "And?"))
    assert "container" not in rendered(talk, strict=True).payload


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_without_a_container_the_program_is_taken_back(read: Any) -> None:
    made = rendered(asked(ASKS, None, read))
    assert made.payload["messages"] == [GO, assistant(THOUGHT, use("t1")), gave("t1")]
    assert changes(made) == ["reasoning_left_out"] and "container" in made.downgrades[0].reason


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_what_a_program_searched_for_is_no_program_where_it_is_taken_back(read: Any) -> None:
    made = rendered(asked([CODE, INNER, FOUND, use("t1")], None, read))
    kept = [{name: value for name, value in block.items() if name != "caller"} for block in (INNER, FOUND)]
    assert made.payload["messages"][1] == assistant(*kept, use("t1"))
    made = rendered(asked([CODE, INNER, use("t1")], None, read))
    assert made.payload["messages"][1] == assistant(use("t1"))
    assert changes(made) == ["reasoning_left_out"] * 2
    made = rendered(asked([CODE, INNER, FOUND, use("t1")], read=read), strict=True)
    assert made.payload["messages"][1] == assistant(CODE, INNER, FOUND, use("t1"))


def test_a_search_that_is_put_off_needs_none() -> None:
    made = rendered(asked([SEARCH, use("t1")], None), strict=True)
    assert made.payload["messages"][1] == assistant(SEARCH, use("t1")) and "container" not in made.payload


def test_a_program_that_has_its_answer_needs_none() -> None:
    talk = asked(ASKS, None)
    talk.extend(WIRE.read_history([assistant(RAN, "Done."), GO], model=MODEL))
    made = rendered(talk, strict=True)
    assert made.payload["messages"][1:4] == [assistant(*ASKS), gave("t1"), assistant(RAN, "Done.")]


def test_what_was_made_without_the_program_goes_back_without_it() -> None:
    talk = asked(ASKS, None)
    talk.extend(whole(rendered(talk), [THOUGHT, use("t2")], None).items)
    talk.append(ToolResult("t2", "look", "rain"))
    kept = [assistant(THOUGHT, use("t1")), gave("t1"), assistant(THOUGHT, use("t2")), gave("t2")]
    assert rendered(talk).payload["messages"][1:] == kept
    talk.extend(whole(rendered(talk), [THOUGHT, text("Done.")], None).items)
    talk.append(Message("user", "Go."))
    assert rendered(talk).payload["messages"][1:] == [*kept, assistant(THOUGHT, "Done."), GO]


def test_what_is_said_beside_takes_the_container_back_too() -> None:
    talk = asked(ASKS)
    talk.append(Message("user", "Wait."))
    made = rendered(talk)
    assert "container" not in made.payload and "srvtoolu_1" not in str(made.payload)


def test_media_that_have_to_stand_beside_a_failed_result_take_the_program_back() -> None:
    talk = asked(ASKS)
    picture = Image(url="https://example.com/a.png")
    talk = Transcript([*[*talk.view][:-1], ToolResult("t1", "look", ("no", picture), is_error=True)])
    made = rendered(talk)
    assert "srvtoolu_1" not in str(made.payload) and "container" not in made.payload
    assert changes(made) == ["media_moved", "reasoning_left_out"]


def test_it_goes_to_no_other_model_and_to_no_other_wire() -> None:
    talk = asked(ASKS)
    assert "container_1" not in str(WIRE.render(talk.view, model="claude-opus-5", tools=TOOLS).payload)


@pytest.mark.parametrize("container", ["container_1", {"id": "container_1", "skills": []}])
def test_a_history_is_read_with_its_container(container: Any) -> None:
    payload: Json = {"messages": [GO, assistant(*ASKS), gave("t1")], "container": container, "model": MODEL}
    made = WIRE.render(WIRE.read_history(payload), model=MODEL, tools=TOOLS, strict=True)
    assert made.payload["messages"] == payload["messages"] and made.payload["container"] == "container_1"


@pytest.mark.parametrize("container", [5, {}, {"id": None}, {"id": ""}, [], "", {"id": "half \ud83d"}])
def test_what_is_no_container_is_none(container: Any) -> None:
    for read in (whole, streamed):
        assert "container" not in rendered(asked(ASKS, container, read)).payload
    items = WIRE.read_history({"messages": [GO, assistant(*ASKS), gave("t1")], "container": container})
    assert "container" not in WIRE.render(items, tools=TOOLS).payload


@pytest.mark.parametrize("then", [True, False])
def test_thinking_that_came_after_a_question_is_taken_back_with_it(then: bool) -> None:
    later = {**THOUGHT, "thinking": "so"}
    talk = asked([THOUGHT, SEARCH, later, use("t1")])
    talk.extend([Message("user", "Wait.")] * then)
    made = rendered(talk)
    kept = [THOUGHT, use("t1")] if then else [THOUGHT, SEARCH, later, use("t1")]
    assert made.payload["messages"][1] == assistant(*kept)
    assert changes(made) == ["reasoning_left_out", "state_stale"] * then
    assert len([item for item in talk.view if isinstance(item, Reasoning)]) == 3
