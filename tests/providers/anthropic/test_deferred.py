"""Messages: tools of the provider that wait for tools of the caller go back with what they wait for."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.items import Item, Message, Reasoning, ToolCall, ToolResult
from quire.providers import PROVIDERS, Anthropic, Rendered
from quire.state import Transcript
from tests.providers.anthropic.test_writing import assistant, result, text

WIRE = Anthropic()
MODEL = "claude-opus-4-8"
Json = dict[str, Any]
TOOLS: list[Json] = [
    {"type": "code_execution_20260120", "name": "code_execution"},
    {"type": "web_search_20250305", "name": "web_search"},
    {"name": "look", "allowed_callers": ["direct", "code_execution_20260120"]},
]
CODE: Json = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": "x"}}
RAN: Json = {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {"stdout": "5"}}
SEARCH: Json = {"type": "server_tool_use", "id": "srvtoolu_2", "name": "web_search", "input": {"query": "x"}}
FOUND: Json = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_2", "content": []}
THOUGHT: Json = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
CALLER: Json = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
CONTAINER: Json = {"id": "container_1", "expires_at": "2026-12-01T00:00:00Z"}
GO: Json = {"role": "user", "content": [text("Go.")]}


def use(call_id: str, **more: Any) -> Json:
    return {"type": "tool_use", "id": call_id, "name": "look", "input": {}, **more}


def gave(*call_ids: str) -> Json:
    return {"role": "user", "content": [result(call_id, "rain") for call_id in call_ids]}


WHOLE: dict[str, list[Json]] = {
    "waiting": [GO, assistant(THOUGHT, CODE, use("t1", caller=CALLER)), gave("t1")],
    "answered": [GO, assistant(CODE, use("t1", caller=CALLER)), gave("t1"), assistant(RAN, "Done."), GO],
    "in a row": [
        *(GO, assistant(CODE, use("t1", caller=CALLER)), gave("t1")),
        *(assistant(use("t2", caller=CALLER)), gave("t2"), assistant(RAN, "Done."), GO),
    ],
    "put off": [GO, assistant(THOUGHT, SEARCH, use("t1")), gave("t1"), assistant(FOUND, "Done."), GO],
    "two": [
        *(GO, assistant(SEARCH, CODE, use("t1", caller=CALLER), use("t2")), gave("t1", "t2")),
        *(assistant(FOUND, RAN, "Done."), GO),
    ],
    "of a family": [GO, assistant(use("t1", toolset_name="browser")), gave("t1"), assistant("Done."), GO],
}


def written(items: list[Item], **options: Any) -> Rendered:
    made = WIRE.render(items, model=MODEL, tools=TOOLS, **options)
    assert WIRE.check({**made.payload, "max_tokens": 9, "model": MODEL}) == []
    return made


def changes(made: Rendered) -> list[str]:
    return [note.change for note in made.downgrades]


@pytest.mark.parametrize("history", WHOLE.values(), ids=WHOLE)
def test_they_go_back_as_they_came(history: list[Json]) -> None:
    payload = {"messages": history, "container": "container_1"}
    made = written(WIRE.read_history(payload, model=MODEL), strict=True)
    assert made.payload["messages"] == history and made.downgrades == ()


@pytest.mark.parametrize("history", WHOLE.values(), ids=WHOLE)
@pytest.mark.parametrize("wire", ["openai", "openai-responses", "gemini"])
def test_on_other_wires_that_is_noted(history: list[Json], wire: str) -> None:
    made = PROVIDERS[wire].render(WIRE.read_history(history, model=MODEL))
    assert {"state_foreign", "reasoning_left_out", "fields_left_out"} & {
        note.change for note in made.downgrades
    }


def answered(talk: Transcript, *blocks: Json) -> None:
    sent = WIRE.render(talk.view, model=MODEL, tools=TOOLS, strict=True)
    body = {"model": MODEL, "stop_reason": "tool_use", "content": list(blocks), "container": CONTAINER}
    talk.extend(WIRE.parse(body, sent=sent).items)


def running() -> Transcript:
    talk = Transcript([Message("user", "Go.")])
    answered(talk, THOUGHT, CODE, use("t1", caller=CALLER))
    talk.append(ToolResult("t1", "look", "rain"))
    answered(talk, THOUGHT, use("t2", caller=CALLER))
    talk.append(ToolResult("t2", "look", "rain"))
    return talk


def test_turn_by_turn_nothing_is_lost() -> None:
    talk = running()
    answered(talk, RAN, THOUGHT, text("Done."))
    talk.append(Message("user", "And?"))
    made = WIRE.render(talk.view, model=MODEL, tools=TOOLS, strict=True)
    assert made.payload["messages"] == [
        *(GO, assistant(THOUGHT, CODE, use("t1", caller=CALLER)), gave("t1")),
        *(assistant(THOUGHT, use("t2", caller=CALLER)), gave("t2")),
        *(assistant(RAN, THOUGHT, "Done."), {"role": "user", "content": [text("And?")]}),
    ]
    assert written([*talk.view]).payload == made.payload


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_a_question_that_gets_no_answer_is_taken_back(role: Any, kept: bool) -> None:
    talk = running()
    talk.extend([Message(role, "Well."), Message("user", "And?")])
    made = WIRE.render(talk.view, model=MODEL, tools=TOOLS) if kept else written([*talk.view])
    assert WIRE.check({**made.payload, "max_tokens": 9, "model": MODEL}) == []
    assert made.payload["messages"][:4] == [
        GO,
        assistant(THOUGHT, use("t1")),
        gave("t1"),
        assistant(use("t2")),
    ]
    assert changes(made)[:2] == ["reasoning_left_out", "state_stale"]


def test_what_is_volatile_takes_it_back_for_this_turn_alone() -> None:
    talk = running()
    made = WIRE.render([*talk.view, Message("user", "At hand: nothing.")], model=MODEL, tools=TOOLS)
    assert "srvtoolu_1" not in str(made.payload)
    assert "srvtoolu_1" in str(written([*talk.view], strict=True).payload)


def test_thinking_that_was_made_without_the_question_goes_back_without_it() -> None:
    talk = Transcript([Message("user", "Go.")])
    answered(talk, THOUGHT, SEARCH, use("t1"))
    talk.append(ToolResult("t1", "look", "rain"))
    beside = WIRE.render([*talk.view, Message("user", "At hand: nothing.")], model=MODEL, tools=TOOLS)
    plain = [item for item in talk.view if not (isinstance(item, Reasoning) and not item.text)]
    sent = WIRE.render(plain, model=MODEL, tools=TOOLS)
    assert "srvtoolu_2" not in str(beside.payload)
    body = {"model": MODEL, "stop_reason": "tool_use", "content": [THOUGHT, use("t2")]}
    talk.extend([*WIRE.parse(body, sent=sent).items, ToolResult("t2", "look", "sun")])
    made = written([*talk.view])
    assert made.payload["messages"][3] == assistant(THOUGHT, use("t2")) and "srvtoolu_2" not in str(
        made.payload
    )


def test_an_answer_whose_question_is_gone_is_left_out() -> None:
    made = written(WIRE.read_history([*WHOLE["answered"][:1], *WHOLE["answered"][3:]], model=MODEL))
    assert "srvtoolu_1" not in str(made.payload) and changes(made) == ["reasoning_left_out"]


def test_a_call_whose_program_is_foreign_is_one_of_the_model() -> None:
    made = WIRE.render(WIRE.read_history(WHOLE["waiting"], model=MODEL), model="claude-opus-5", tools=TOOLS)
    assert "srvtoolu_1" not in str(made.payload) and "fields_left_out" in changes(made)


def test_that_the_model_itself_called_says_nothing() -> None:
    items = WIRE.read_history([GO, assistant(use("t1", caller={"type": "direct"}))])
    assert isinstance(items[1], ToolCall) and items[1].extras == {}


def test_after_an_edit_neither_question_nor_caller_goes_back() -> None:
    talk = [Message("user", "Ok?"), Message("assistant", "Yes."), *running().view]
    made = written(talk)
    assert "srvtoolu_1" not in str(made.payload) and "state_stale" in changes(made)


@pytest.mark.parametrize("reason", ["pause_turn", "max_tokens"])
def test_what_a_program_asked_that_was_cut_off_is_the_models_own(reason: str) -> None:
    search = {**SEARCH, "id": "srvtoolu_9", "caller": CALLER}
    answer = {**FOUND, "tool_use_id": "srvtoolu_9", "caller": CALLER}
    talk = Transcript([Message("user", "Go.")])
    sent = WIRE.render(talk.view, model=MODEL, tools=TOOLS)
    body = {"model": MODEL, "stop_reason": reason, "content": [CODE, search, answer], "container": CONTAINER}
    talk.extend([*WIRE.parse(body, sent=sent).items, Message("user", "Well?")])
    made = written([*talk.view])
    blocks = made.payload["messages"][1]["content"]
    assert [block.get("id", block.get("tool_use_id")) for block in blocks] == ["srvtoolu_9", "srvtoolu_9"]
    assert not any("caller" in block for block in blocks)


def test_what_is_answered_calls_no_more() -> None:
    talk = Transcript([Message("user", "Go.")])
    for number, name in enumerate(("asks", "answers", "calls for it")):
        step(talk, name, WIRE.render(talk.view, model=MODEL, tools=TOOLS), number, CONTAINER)
    made = written([*talk.view])
    assert "container" not in made.payload and "fields_left_out" in changes(made)


STEPS: dict[str, list[Json]] = {
    "asks": [THOUGHT, CODE, use("t", caller=CALLER)],
    "asks more": [SEARCH, use("t")],
    "calls": [THOUGHT, use("t")],
    "calls for it": [use("t", caller=CALLER)],
    "answers": [RAN, THOUGHT, text("Done.")],
    "answers and calls": [FOUND, THOUGHT, use("t", caller=CALLER)],
    "says": [THOUGHT, text("Well.")],
}


def step(talk: Transcript, name: str, sent: Rendered, number: int, container: Json | None) -> None:
    if name in ("user", "system"):
        talk.append(Message(name, "Well."))  # type: ignore[arg-type]
        return
    blocks = [{**block, "id": f"t{number}"} if block.get("id") == "t" else block for block in STEPS[name]]
    body = {"model": MODEL, "stop_reason": "tool_use", "content": blocks, "container": container}
    items = WIRE.parse(body, sent=sent).items
    talk.extend(
        [*items, *(ToolResult(item.call_id, "look", "rain") for item in items if isinstance(item, ToolCall))]
    )


@given(st.lists(st.sampled_from([*STEPS, "user", "system"]), max_size=8), st.booleans(), st.data())
def test_whatever_comes_it_is_sent_without_fault_and_as_if_written_at_once(
    names: list[str], volatile: bool, data: st.DataObject
) -> None:
    talk = Transcript([Message("user", "Go.")])
    for number, name in enumerate(names):
        made = WIRE.render(talk.view, model=MODEL, tools=TOOLS)
        if volatile:
            made = WIRE.render([*talk.view, Message("user", "At hand.")], model=MODEL, tools=TOOLS)
        step(talk, name, made, number, data.draw(st.sampled_from([CONTAINER, None])))
        made = WIRE.render(talk.view, model=MODEL, tools=TOOLS)
        assert WIRE.check({**made.payload, "max_tokens": 9, "model": MODEL}) == []
        at_once = WIRE.render([*talk.view], model=MODEL, tools=TOOLS)
        assert (at_once.payload, at_once.downgrades) == (made.payload, made.downgrades)
        assert at_once.prefix == made.prefix
