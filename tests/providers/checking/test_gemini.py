"""Conversations that Gemini refuses, each with the rule and the place, and such as it takes."""

from typing import Any

import pytest

from quire.providers.checking.gemini import RULES, check

Json = dict[str, Any]
OLD, THREE, NEWEST = "gemini-2.5-flash", "gemini-3-pro-preview", "models/gemini-3.8-flash"


def user(*parts: Any) -> Json:
    return {"role": "user", "parts": [_part(part) for part in parts]}


def model(*parts: Any) -> Json:
    return {"role": "model", "parts": [_part(part) for part in parts]}


def _part(part: Any) -> Any:
    return {"text": part} if isinstance(part, str) else part


def call(name: str, signature: str | None = "c2ln", **more: Any) -> Json:
    signed = {} if signature is None else {"thoughtSignature": signature}
    return {"functionCall": {"name": name, "args": {"q": "x"}, **more}, **signed}


def response(name: str, **more: Any) -> Json:
    return {"functionResponse": {"name": name, "response": {"output": "found"}, **more}}


def declared(*declarations: Json) -> Json:
    return {"contents": [ASK], "tools": [{"functionDeclarations": list(declarations)}]}


ASK = user("What is new?")
PICTURE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}

BAD: dict[str, tuple[Any, str | None, list[tuple[str, str]]]] = {
    "trimmed so that it starts with a response": (
        [user(response("search")), model("It is new."), ASK],
        None,
        [("contents[0]", "orphan_response")],
    ),
    "compressed so that it starts with a call": (
        [model(call("search")), user(response("search"))],
        None,
        [("contents[0]", "call_place")],
    ),
    "one of two parallel calls has no response": (
        [ASK, model(call("search"), call("find", None)), user(response("search"))],
        None,
        [("contents[2]", "response_count")],
    ),
    "a response too many": (
        [ASK, model(call("search")), user(response("search"), response("search"))],
        None,
        [("contents[2]", "response_count")],
    ),
    "a crash left a call open": (
        [ASK, model("I look.", call("search")), user("And?"), model("Well."), ASK],
        None,
        [("contents[1]", "unanswered_call")],
    ),
    "a call is the last that was said": (
        [ASK, model(call("search"))],
        NEWEST,
        [("contents[1]", "unanswered_call")],
    ),
    "the user spoke between call and response": (
        [ASK, model(call("search")), user("Hurry!"), user(response("search"))],
        None,
        [("contents[3]", "late_response")],
    ),
    "responses in contents of their own": (
        [ASK, model(call("search"), call("find", None)), user(response("search")), user(response("find"))],
        None,
        [("contents[3]", "responses_split")],
    ),
    "parallel calls in contents of their own": (
        [ASK, model(call("search")), model(call("find", None)), user(response("search"), response("find"))],
        THREE,
        [("contents[2]", "call_place")],
    ),
    "a call after the model's own words": (
        [ASK, model("I look."), model(call("search")), user(response("search"))],
        None,
        [("contents[2]", "call_place")],
    ),
    "the response of another function": (
        [ASK, model(call("search")), user(response("find"))],
        None,
        [("contents[2].parts[0]", "response_name")],
    ),
    "a signature lost in a store": (
        [
            ASK,
            model(call("search")),
            user(response("search")),
            model(call("find", None)),
            user(response("find")),
        ],
        THREE,
        [("contents[3].parts[0]", "thought_signature")],
    ),
    "a note beside the responses": (
        [ASK, model(call("search")), user(response("search"), "Answer now.")],
        NEWEST,
        [("contents[2].parts[1]", "text_after_responses")],
    ),
    "a last word of the model": ([ASK, model("So")], NEWEST, [("contents[1]", "ends_with_model")]),
    "only a word of the model": ([model("So")], OLD, [("contents[0]", "ends_with_model")]),
    "roles of another provider": (
        [ASK, {"role": "assistant", "parts": [{"text": "New."}]}, ASK],
        None,
        [("contents[1].role", "role")],
    ),
    "text under the role of functions": (
        [ASK, {"role": "function", "parts": [{"text": "found"}]}],
        None,
        [("contents[1].role", "role")],
    ),
    "a silent turn of a voice agent": ([user("")], None, [("contents[0].parts[0]", "empty_text")]),
    "an answer without parts": ([ASK, model(), ASK], None, [("contents[1].parts", "empty_parts")]),
    "a part of which nothing was left": (
        [ASK, model({"thoughtSignature": "c2ln"}), ASK],
        None,
        [("contents[1].parts[0]", "empty_part")],
    ),
    "two things in one part": (
        [user({"text": "Look:", **PICTURE})],
        None,
        [("contents[0].parts[0]", "several_fields")],
    ),
    "a part of another provider": (
        [user({"type": "text", "text": "Hello"})],
        None,
        [("contents[0].parts[0].type", "unknown_field")],
    ),
    "nothing left after trimming": ({"contents": []}, None, [("contents", "no_contents")]),
    "content in the words of others": (
        [{"role": "user", "content": "Hi"}],
        None,
        [("contents[0].parts", "shape")],
    ),
    "arguments left as JSON text": (
        [ASK, model(call("search", args='{"q": 1}')), user(response("search"))],
        None,
        [("contents[1].parts[0].functionCall.args", "call_args")],
    ),
    "a response that is a text": (
        [ASK, model(call("search")), user(response("search", response="found"))],
        None,
        [("contents[2].parts[0].functionResponse.response", "response_object")],
    ),
    "a response without a name": (
        [
            ASK,
            model({"function_call": {"name": "", "args": {}}}),
            user({"function_response": {"name": "", "response": {}}}),
        ],
        None,
        [
            ("contents[1].parts[0].function_call.name", "call_name"),
            ("contents[2].parts[0].function_response.name", "call_name"),
        ],
    ),
    "a call of the user": ([user(call("search"))], None, [("contents[0].parts[0]", "call_role")]),
    "calls and responses in one content": (
        [ASK, model(call("search"), response("search"))],
        None,
        [("contents[1].parts[1]", "call_role")],
    ),
    "data without a type": (
        [user({"inlineData": {"data": "iVBORw0KGgo="}})],
        None,
        [("contents[0].parts[0].inlineData.mimeType", "media_type")],
    ),
    "a data URL": (
        [user({"inline_data": {"mime_type": "image/png", "data": "data:image/png;base64,AAAA"}})],
        None,
        [("contents[0].parts[0].inline_data.data", "media_data")],
    ),
    "a file without an address": (
        [user({"fileData": {"mimeType": "image/png"}})],
        None,
        [("contents[0].parts[0].fileData.fileUri", "media_source")],
    ),
    "a picture among the instructions": (
        {"contents": [ASK], "systemInstruction": {"parts": [PICTURE]}},
        None,
        [("systemInstruction.parts[0]", "system_content")],
    ),
    "an empty instruction": (
        {"contents": [ASK], "config": {"system_instruction": ""}},
        None,
        [("config.system_instruction", "empty_text")],
    ),
    "a name with a space": (
        declared({"name": "look up"}),
        None,
        [("tools[0].functionDeclarations[0].name", "tool_name")],
    ),
    "a function twice": (
        {"contents": [ASK], "config": {"tools": [{"function_declarations": [{"name": "a"}, {"name": "a"}]}]}},
        None,
        [("config.tools[0].function_declarations[1].name", "duplicate_tool")],
    ),
    "more functions than there may be": (
        declared(*({"name": f"f{number}"} for number in range(513))),
        None,
        [("tools", "tool_count")],
    ),
    "parameters without a type": (
        declared({"name": "a", "parameters": {"properties": {}}}),
        None,
        [("tools[0].functionDeclarations[0].parameters.type", "tool_schema")],
    ),
    "parameters twice": (
        declared({"name": "a", "parameters": {"type": "OBJECT"}, "parametersJsonSchema": {"type": "object"}}),
        None,
        [("tools[0].functionDeclarations[0].parametersJsonSchema", "tool_schema")],
    ),
    "a tool of another provider": (
        {"contents": [ASK], "tools": [{"type": "function", "function": {"name": "a"}}]},
        None,
        [("tools[0].type", "unknown_field")],
    ),
}

GOOD: dict[str, tuple[Any, str | None]] = {
    "a question": ([ASK], NEWEST),
    "the client's short forms": ({"model": OLD, "contents": "What is new?"}, None),
    "texts, parts and contents in a list": (["Look:", PICTURE, {"text": "Well?"}, ASK], None),
    "two contents of the user in a row": ([ASK, user("Please."), model("New."), ASK], NEWEST),
    "a greeting of the model first": ([model("Hello!"), ASK], NEWEST),
    "parallel calls, answered in another order": (
        [
            ASK,
            model("I look.", call("search"), call("find", None)),
            user(response("find"), response("search")),
        ],
        NEWEST,
    ),
    "one step after the other": (
        [
            ASK,
            model({"text": "hm", "thought": True}, call("search")),
            user(response("search")),
            model(call("search")),
            user(response("search")),
            model("New."),
            ASK,
        ],
        NEWEST,
    ),
    "older steps without signatures": (
        [ASK, model(call("search", None)), user(response("search")), model("New."), ASK],
        THREE,
    ),
    "the value that stands for a foreign signature": (
        [ASK, model(call("search", "skip_thought_signature_validator")), user(response("search"))],
        THREE,
    ),
    "no signatures for an older model": ([ASK, model(call("search", None)), user(response("search"))], OLD),
    "no signatures for a model of images": (
        [ASK, model(call("search", None)), user(response("search"))],
        "gemini-3-pro-image-preview",
    ),
    "a signature on an empty text": (
        [ASK, model("New.", {"text": "", "thoughtSignature": "c2ln"}), ASK],
        THREE,
    ),
    "a note beside the responses, for an older model": (
        [ASK, model(call("search", None)), user(response("search"), "Answer now.")],
        OLD,
    ),
    "a note before the responses": ([ASK, model(call("search")), user("So:", response("search"))], NEWEST),
    "a note after the responses, in a content of its own": (
        [ASK, model(call("search")), user(response("search")), user("Answer now.")],
        NEWEST,
    ),
    "responses under their old role": (
        [ASK, model(call("search")), {"role": "function", "parts": [response("search")]}],
        None,
    ),
    "media of all sorts": (
        [
            user(
                PICTURE,
                {"inline_data": {"mime_type": "audio/wav", "data": b"RIFF"}},
                {"fileData": {"fileUri": "gs://x/y.mp4", "mimeType": "video/mp4"}},
                "Compare.",
            )
        ],
        None,
    ),
    "a response with pictures only": (
        [ASK, model(call("search")), user(response("search", response=None, parts=[PICTURE]))],
        THREE,
    ),
    "a last word for a model that goes on with it": ([ASK, model("So")], "gemini-3.1-pro-preview"),
    "instructions and tools of the client": (
        {
            "model": NEWEST,
            "contents": [ASK],
            "config": {
                "system_instruction": ["Be brief.", {"text": "Be kind."}],
                "tools": [{"google_search": {}}, print, {"function_declarations": [{"name": "mcp:a.b-c"}]}],
            },
        },
        None,
    ),
    "instructions and tools of the wire": (
        {
            "contents": [ASK],
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [{"functionDeclarations": [{"name": "a", "parameters": {"type": "object"}}]}],
        },
        None,
    ),
    "instructions in one part": ({"contents": [ASK], "system_instruction": {"text": "Be brief."}}, None),
    "calls that are in a cache": (
        {"contents": [user(response("search"))], "config": {"cached_content": "cachedContents/x"}},
        NEWEST,
    ),
    "a call right after a cache": (
        {"contents": [model(call("search")), user(response("search"))], "cachedContent": "cachedContents/x"},
        NEWEST,
    ),
    "a part that is newer than this table": ([ASK, model("New.", {"hologram": {"uri": "x"}}), ASK], NEWEST),
    "code that the model ran": (
        [
            ASK,
            model({"executableCode": {"code": "1"}}, {"codeExecutionResult": {"outcome": "OUTCOME_OK"}}),
            ASK,
        ],
        NEWEST,
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_each_fault_is_named_at_its_place(case: str) -> None:
    payload, name, expected = BAD[case]
    assert [(fault.place, fault.rule) for fault in check(payload, name)] == expected


@pytest.mark.parametrize("case", GOOD)
def test_what_is_accepted_has_no_fault(case: str) -> None:
    payload, name = GOOD[case]
    assert check(payload, name) == []


def test_every_rule_is_shown_by_a_case() -> None:
    assert {rule for _, _, expected in BAD.values() for _, rule in expected} == set(RULES)


def test_the_model_is_read_from_the_payload() -> None:
    contents = [ASK, model("So")]
    assert [fault.rule for fault in check({"model": NEWEST, "contents": contents})] == ["ends_with_model"]
    assert check({"model": NEWEST, "contents": contents}, OLD) == []


def test_a_fault_does_not_quote_content() -> None:
    secret = "the password is swordfish"
    payload = [
        user(secret, ""),
        model(call("search", args=secret)),
        user(response("search", response=secret)),
    ]
    faults = check(payload)
    assert faults
    assert not any("swordfish" in str(fault) for fault in faults)


def test_one_fault_among_thousands_is_the_only_one() -> None:
    contents: list[Json] = []
    for _ in range(2000):
        contents += [ASK, model(call("search")), user(response("search")), model("So.")]
    contents.append(ASK)
    assert check(contents, NEWEST) == []
    del contents[4002]
    assert [(fault.place, fault.rule) for fault in check(contents, NEWEST)] == [
        ("contents[4001]", "unanswered_call")
    ]
