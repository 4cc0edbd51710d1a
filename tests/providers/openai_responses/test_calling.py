"""Responses: namespaces, callers and programs come back as they were, and nothing opaque becomes words."""

from typing import Any

import pytest

from quire.items import Item, Message, Reasoning, ToolCall, ToolResult
from quire.providers import PROVIDERS, OpenAIResponses, Rendered
from quire.providers.names import alphabet
from quire.providers.openai_responses.calling import Programs
from quire.providers.sheet import Sheet
from quire.state import Transcript

WIRE = OpenAIResponses()
MODEL = "gpt-5.6"
Json = dict[str, Any]
GO: Json = {"role": "user", "content": "Go."}
CALLER: Json = {"type": "program", "caller_id": "p1"}
PROGRAM: Json = {"type": "program", "id": "pg_1", "call_id": "p1", "code": "q()", "fingerprint": "opaque"}
RAN: Json = {"type": "program_output", "id": "po_1", "call_id": "p1", "result": "5", "status": "completed"}
TOOLS: list[Json] = [
    {"type": "programmatic_tool_calling"},
    {"name": "list", "allowed_callers": ["programmatic"]},
]


def call(call_id: str, **more: Any) -> Json:
    return {"type": "function_call", "call_id": call_id, "name": "list", "arguments": "{}", **more}


def output(call_id: str, **more: Any) -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": "[]", **more}


TYPED: Json = {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "select 1"}
NAMED = [
    [GO, call("c1", namespace="crm"), call("c2", namespace="billing"), output("c1"), output("c2"), GO],
    [GO, call("c1", **{"async": True}), output("c1"), GO],
    [GO, {**TYPED, "namespace": "crm"}, {**output("c1"), "type": "custom_tool_call_output"}, GO],
    [GO, PROGRAM, call("c1", caller=CALLER), output("c1", caller=CALLER), RAN, GO],
    [
        *(GO, PROGRAM, call("c1", caller=CALLER), output("c1", caller=CALLER)),
        *(call("c2", caller=CALLER), output("c2", caller=CALLER), RAN, GO),
    ],
]


def written(items: list[Item], **options: Any) -> Rendered:
    made = WIRE.render(items, model=MODEL, tools=TOOLS, **options)
    assert WIRE.check({**made.payload, "model": MODEL}) == []
    return made


def rows(payload: Any) -> list[Json]:
    return [{**row, "type": row.get("type", "message")} for row in payload]


@pytest.mark.parametrize("history", NAMED)
def test_what_is_said_of_a_call_goes_back(history: list[Json]) -> None:
    made = written(WIRE.read_history(history, model=MODEL), strict=True)
    assert rows(made.payload["input"]) == rows(history) and made.downgrades == ()


@pytest.mark.parametrize("history", NAMED)
@pytest.mark.parametrize("wire", ["openai", "anthropic", "gemini"])
def test_on_other_wires_it_is_noted(history: list[Json], wire: str) -> None:
    made = PROVIDERS[wire].render(WIRE.read_history(history, model=MODEL))
    assert "fields_left_out" in {note.change for note in made.downgrades}
    assert "opaque" not in str(made.payload) and "crm" not in str(made.payload)


def test_that_the_model_itself_called_says_nothing() -> None:
    (item,) = WIRE.read_history([call("c1", caller={"type": "direct"}, namespace=None)])
    assert isinstance(item, ToolCall) and item.extras == {}


def test_an_answer_and_a_history_are_read_alike() -> None:
    searched: Json = {"type": "tool_search_call", "id": "ts_1", "call_id": None, "execution": "server"}
    found: Json = {**searched, "type": "tool_search_output", "id": "to_1", "tools": []}
    blocks = [searched, found, PROGRAM, call("c1", caller=CALLER, namespace="crm"), RAN]
    answered = WIRE.parse({"model": MODEL, "status": "completed", "output": blocks}).items
    read = WIRE.read_history(blocks, model=MODEL)
    assert [type(item) for item in read] == [Reasoning, Reasoning, Reasoning, ToolCall, Reasoning]
    kept = [(type(item), getattr(item, "state", None), dict(item.extras)) for item in answered]
    assert kept == [(type(item), getattr(item, "state", None), dict(item.extras)) for item in read]


def turns(*, edited: bool) -> list[Item]:
    talk = Transcript([Message("user", "Ok?"), Message("assistant", "Yes."), Message("user", "Go.")])
    sent = WIRE.render(talk.view, model=MODEL, tools=TOOLS)
    first = {"model": MODEL, "status": "completed", "output": [PROGRAM, call("c1", caller=CALLER)]}
    talk.extend([*WIRE.parse(first, sent=sent).items, ToolResult("c1", "list", "[]")])
    sent = WIRE.render(talk.view, model=MODEL, tools=TOOLS)
    talk.extend(WIRE.parse({"model": MODEL, "status": "completed", "output": [RAN]}, sent=sent).items)
    return [*talk.view][2 * edited :]


def test_a_program_goes_back_with_its_calls_and_its_output() -> None:
    made = written(turns(edited=False), strict=True)
    assert rows(made.payload["input"])[3:] == [
        *(PROGRAM, call("c1", caller=CALLER), output("c1", caller=CALLER), RAN)
    ]


def test_a_program_that_may_not_go_back_takes_all_that_names_it_along() -> None:
    made = written(turns(edited=True))
    assert rows(made.payload["input"])[1:] == [call("c1"), output("c1")]
    changes = [note.change for note in made.downgrades]
    assert changes == ["state_stale", "fields_left_out", "state_stale"]


def test_the_output_of_a_program_that_is_not_there_is_left_out() -> None:
    made = written(WIRE.read_history([GO, RAN, GO], model=MODEL))
    assert rows(made.payload["input"]) == rows([GO, GO])
    assert [note.change for note in made.downgrades] == ["reasoning_left_out"]


def test_the_tool_for_programs_is_a_tool_of_this_wire() -> None:
    made = written([Message("user", "Go.")], strict=True)
    assert {"type": "programmatic_tool_calling"} in made.payload["tools"] and made.downgrades == ()


class Watched(dict[str, Any]):
    looks = 0

    def get(self, name: str, default: Any = None) -> Any:
        Watched.looks += name == "type"
        return super().get(name, default)


def test_programs_are_looked_for_in_each_message_once() -> None:
    sheet = Sheet("openai-responses", MODEL, alphabet(64), alphabet(64))
    programs = Programs(sheet)
    for number in range(300):
        assert "gone" not in programs and ["gone"] not in programs
        sheet.messages.append(Watched(call(f"c{number}")))
    sheet.messages.append(Watched(PROGRAM))
    assert "p1" in programs and Watched.looks == len(sheet.messages)
    assert "p1" in programs.branch(sheet.branch())
