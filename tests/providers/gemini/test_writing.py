"""Turns as contents: roles, calls and answers, instructions, ids and names, tools."""

from typing import Any

import pytest

from quire.errors import Downgraded
from quire.items import ConfigChange, Handoff, Item, Message, Note, Summary, ToolCall, ToolResult
from quire.providers import NO_RESULT, CachePlan
from quire.providers.wording import BEGIN, CONTINUE
from tests.providers.gemini.wire import GEMINI, NEW, answer, call, changes, contents, model, rendered, user

LOOK = {
    "name": "look",
    "description": "Look it up.",
    "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "additionalProperties": False},
}


def test_a_conversation() -> None:
    items: list[Item] = [
        Message("system", "Be brief."),
        Message("developer", "Be kind."),
        Message("user", "Hello"),
        Message("assistant", "Hi."),
        Message("user", "Well?"),
    ]
    assert rendered(items).payload == {
        "contents": [user("Hello"), model("Hi."), user("Well?")],
        "config": {"system_instruction": {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]}},
    }


def test_parallel_calls_are_one_content_and_so_are_their_answers_in_the_order_of_the_calls() -> None:
    items: list[Item] = [
        Message("user", "Both?"),
        Message("assistant", "Looking."),
        ToolCall("c1", "look", '{"q": "a", "n": 2.5}'),
        ToolCall("c2", "look", '{"q": "b"}'),
        ToolResult("c2", "look", "two", is_error=True),
        ToolResult("c1", "look", '{"found": 1}'),
        Message("user", "Thanks"),
    ]
    made = rendered(items)
    assert made.payload["contents"] == [
        user("Both?"),
        model("Looking.", call("c1", "look", {"q": "a", "n": 2.5}), call("c2", "look", {"q": "b"})),
        user(
            answer("c1", "look", {"output": '{"found": 1}'}),
            answer("c2", "look", {"error": "two"}),
        ),
        user("Thanks"),
    ]
    assert made.downgrades == ()


def test_a_call_without_a_result_is_answered() -> None:
    made = rendered([Message("user", "Go"), ToolCall("c1", "look"), Message("user", "Stop")])
    assert made.payload["contents"] == [
        user("Go"),
        model(call("c1", "look")),
        user(answer("c1", "look", {"error": NO_RESULT})),
        user("Stop"),
    ]
    assert changes(made) == ["answer_added"]


def test_a_result_without_a_call_is_left_out() -> None:
    made = rendered([Message("user", "Go"), ToolResult("c9", "look", "lost"), Message("user", "On")])
    assert made.payload["contents"] == [user("Go"), user("On")]
    assert changes(made) == ["result_left_out"]


def test_a_late_result_stands_with_its_call_and_the_message_between_after_it() -> None:
    items: list[Item] = [
        Message("user", "Go"),
        ToolCall("c1", "look"),
        Message("user", "Still there?"),
        ToolResult("c1", "look", "found"),
    ]
    assert contents(items) == [
        user("Go"),
        model(call("c1", "look")),
        user(answer("c1", "look", {"output": "found"})),
        user("Still there?"),
    ]


def test_an_empty_result_is_an_empty_output() -> None:
    items: list[Item] = [Message("user", "Go"), ToolCall("c1", "look", ""), ToolResult("c1", "look", "")]
    assert contents(items)[1:] == [model(call("c1", "look")), user(answer("c1", "look", {"output": ""}))]


@pytest.mark.parametrize(
    "arguments", ["not json", "[1]", "null", '{"a": 1e999}', '{"a":' * 70 + "1" + "}" * 70]
)
def test_arguments_that_are_no_object_are_kept_as_words(arguments: str) -> None:
    made = rendered([Message("user", "Go"), ToolCall("c1", "look", arguments), ToolResult("c1", "look", "x")])
    assert made.payload["contents"][1] == model(call("c1", "look", {"arguments": arguments}))
    assert changes(made) == ["arguments_mended"]


def test_brackets_in_words_are_not_depth() -> None:
    arguments = '{"a": "' + '{[\\"' * 90 + '"}'
    made = rendered([Message("user", "Go"), ToolCall("c1", "look", arguments), ToolResult("c1", "look", "x")])
    assert made.downgrades == ()


def test_instructions_in_the_middle_are_words_of_the_user() -> None:
    items: list[Item] = [
        Message("user", "Hello"),
        Message("assistant", "Hi."),
        Message("system", "Be brief."),
        ConfigChange("Be kind."),
        Message("user", "Well?"),
    ]
    made = rendered(items)
    assert made.payload["contents"] == [
        user("Hello"),
        model("Hi."),
        user("<instructions>\nBe brief.\n</instructions>"),
        user("<instructions>\nBe kind.\n</instructions>"),
        user("Well?"),
    ]
    assert changes(made) == ["instructions_as_text"] * 2
    with pytest.raises(Downgraded):
        GEMINI.render(items, strict=True)


def test_what_the_model_says_in_a_row_is_one_content() -> None:
    items: list[Item] = [
        Message("user", "Hello"),
        Message("assistant", "One.", agent_id="a"),
        Handoff("b"),
        Message("assistant", "Two.", agent_id="b"),
        ToolCall("c1", "look", agent_id="b"),
        ToolResult("c1", "look", "x"),
    ]
    assert contents(items) == [
        user("Hello"),
        model("One.", "Two.", call("c1", "look")),
        user(answer("c1", "look", {"output": "x"})),
    ]


def test_a_conversation_begins_and_ends_with_the_user() -> None:
    made = rendered([Message("system", "Be brief."), Message("assistant", "Hi.")])
    assert made.payload["contents"] == [user(BEGIN), model("Hi."), user(CONTINUE)]
    assert changes(made) == ["turn_added"] * 2
    assert rendered([]).payload == {"contents": [user(BEGIN)]}


def test_empty_texts_are_left_out() -> None:
    items: list[Item] = [
        Message("system", ""),
        Message("user", ""),
        Message("user", ("", "Hello", "")),
        Message("assistant", ""),
        Message("user", "On"),
    ]
    made = rendered(items)
    assert made.payload == {"contents": [user("Hello"), user("On")]}
    assert changes(made) == ["empty_left_out"] * 3


def test_notes_and_summaries_are_words_of_the_user_and_records_are_not_spoken() -> None:
    items: list[Item] = [
        Summary("So far.", ()),
        Note({"a": 1}, key="k"),
        Handoff("b"),
        ConfigChange(tools=("look",)),
    ]
    made = rendered(items)
    assert made.payload["contents"] == [
        user("<summary>\nSo far.\n</summary>"),
        user('<note>\nk\n{"a":1}\n</note>'),
    ]
    assert changes(made) == ["unspoken", "unspoken"]


def test_ids_and_names_are_mended_on_both_sides_and_names_come_back() -> None:
    items: list[Item] = [
        Message("user", "Go"),
        ToolCall("fc:1|x y", "1st tool"),
        ToolResult("fc:1|x y", "1st tool", "x"),
        ToolCall("same", "a.b:c-d"),
        ToolResult("same", "a.b:c-d", "y"),
        ToolCall("same", "a.b:c-d"),
        ToolResult("same", "a.b:c-d", "z"),
        Message("user", "On"),
    ]
    made = rendered(items)
    calls = [
        part["functionCall"]
        for turn in made.payload["contents"]
        for part in turn["parts"]
        if len(part) == 1 and "functionCall" in part
    ]
    answers = [
        part["functionResponse"]
        for turn in made.payload["contents"]
        for part in turn["parts"]
        if "functionResponse" in part
    ]
    assert [(one["id"], one["name"]) for one in calls] == [(one["id"], one["name"]) for one in answers]
    assert len({one["id"] for one in calls}) == 3
    assert [one["response"]["output"] for one in answers] == ["x", "y", "z"]
    assert calls[1]["name"] == "a.b:c-d"
    assert changes(made) == ["name_renamed", "id_renamed", "id_renamed"]
    assert made.names == {calls[0]["name"]: "1st tool"}


def test_tools_are_declared_in_the_order_of_their_names() -> None:
    tools: list[dict[str, Any]] = [
        {"type": "function", "function": {"name": "wait", "parameters": {"type": "object"}}},
        LOOK,
        {"google_search": {}},
    ]
    assert rendered([Message("user", "Go")], NEW, tools=tools).payload["config"] == {
        "tool_config": {"include_server_side_tool_invocations": True},
        "tools": [
            {
                "function_declarations": [
                    {
                        "name": "look",
                        "description": "Look it up.",
                        "parameters_json_schema": LOOK["parameters"],
                    },
                    {"name": "wait"},
                ]
            },
            {"google_search": {}},
        ],
    }
    assert rendered([Message("user", "Go")], tools=tools[2:]).payload["config"] == {"tools": tools[2:]}


@pytest.mark.parametrize(
    "other", [{"type": "web_search_20250305", "name": "web_search"}, {"type": "web_search_preview"}]
)
def test_a_tool_of_another_provider_is_left_out(other: dict[str, Any]) -> None:
    made = rendered([Message("user", "Go")], tools=[other, {"googleSearch": {}, "urlContext": {}}])
    assert made.payload["config"] == {"tools": [{"googleSearch": {}, "urlContext": {}}]}
    assert changes(made) == ["tools_left_out"]
    assert "config" not in rendered([Message("user", "Go")], tools=[other]).payload


def test_declarations_of_this_wire_are_functions() -> None:
    given: dict[str, Any] = {"functionDeclarations": [{"name": "a b"}, {"name": "b"}], "codeExecution": {}}
    made = rendered([Message("user", "Go")], "gemini-3-pro", tools=[{"name": "c"}, given])
    functions, own = made.payload["config"]["tools"]
    name = next(iter(made.names))
    assert functions == {"function_declarations": [{"name": name}, {"name": "b"}, {"name": "c"}]}
    assert (own, made.names, made.downgrades) == ({"codeExecution": {}}, {name: "a b"}, ())


@pytest.mark.parametrize("model", ["gemini-2.5-pro", "vertex_ai/gemini-3-pro"])
def test_where_functions_and_its_own_tools_do_not_mix_the_functions_stay(model: str) -> None:
    made = rendered([Message("user", "Go")], model, tools=[LOOK, {"google_search": {}}])
    assert [list(tool) for tool in made.payload["config"]["tools"]] == [["function_declarations"]]
    assert changes(made) == ["tools_left_out"]
    alone = rendered([Message("user", "Go")], model, tools=[{"google_search": {}}])
    assert (alone.payload["config"], changes(alone)) == ({"tools": [{"google_search": {}}]}, [])


def test_a_schema_is_read_from_the_shape_of_this_wire_too() -> None:
    schema = LOOK["parameters"]
    for key in ("parameters", "parameters_json_schema", "parametersJsonSchema"):
        made = rendered([Message("user", "Go")], tools=[{"name": "look", key: schema}])
        declared = made.payload["config"]["tools"][0]["function_declarations"]
        assert declared == [{"name": "look", "parameters_json_schema": schema}]


def test_a_cache_plan_changes_nothing_here() -> None:
    items: list[Item] = [Message("system", "Be brief."), Message("user", "Hello"), Note("now")]
    plan = CachePlan(static=1, slow=2, key="k", keep="long")
    assert rendered(items, plan=plan).payload == rendered(items).payload


def test_calls_of_a_volatile_part_have_ids_of_their_own() -> None:
    pair: list[Item] = [ToolCall("c1", "look"), ToolResult("c1", "look", "x"), Message("user", "On")]
    items: list[Item] = [Message("user", "Go"), *pair, *pair]
    made = rendered(items, plan=CachePlan(slow=4))
    assert made.payload == rendered(items).payload
    assert changes(made) == ["id_renamed"]


def test_halves_of_pairs_are_mended() -> None:
    items: list[Item] = [
        Message("user", "half \ud800"),
        Message("assistant", "half \ud800"),
        ToolCall("c1", "look", '{"a": "\ud800"}'),
        ToolResult("c1", "look", "half \ud800"),
    ]
    for name in (NEW, "gemini-2.5-pro"):
        made = str(rendered(items, name).payload)
        assert made.encode() and "half \ufffd" in made
