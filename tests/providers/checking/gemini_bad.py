"""Histories that Gemini refuses, made by hand: what each is, for which model, its faults."""

from typing import Any

Json = dict[str, Any]
OLD, THREE, NEWEST = "gemini-2.5-flash", "gemini-3-pro-preview", "models/gemini-3.8-flash"
DRAWS = "gemini-3-pro-image-preview"


def user(*parts: Any) -> Json:
    return {"role": "user", "parts": [_part(part) for part in parts]}


def model(*parts: Any) -> Json:
    return {"role": "model", "parts": [_part(part) for part in parts]}


def _part(part: Any) -> Any:
    return {"text": part} if isinstance(part, str) else part


def signed(part: Any) -> Json:
    return {**_part(part), "thoughtSignature": "c2ln"}


def call(name: str, signature: str | None = "c2ln", **more: Any) -> Json:
    signed = {} if signature is None else {"thoughtSignature": signature}
    return {"functionCall": {"name": name, "args": {"q": "x"}, **more}, **signed}


def response(name: str, **more: Any) -> Json:
    return {"functionResponse": {"name": name, "response": {"output": "found"}, **more}}


def declared(*declarations: Json) -> Json:
    return {"contents": [ASK], "tools": [{"functionDeclarations": list(declarations)}]}


ASK = user("What is new?")
PICTURE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}

BOTH: list[Json] = [{"functionDeclarations": [{"name": "f"}]}, {"googleSearch": {}}]

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
    "what was drawn lost its signatures": (
        [ASK, model("Here.", PICTURE), ASK],
        DRAWS,
        [("contents[1].parts[0]", "words_signature"), ("contents[1].parts[1]", "words_signature")],
    ),
    "what another model said, and an image without a signature": (
        [ASK, model({"text": "hm", "thought": True}, "Well."), ASK, model(signed("Here."), PICTURE), ASK],
        "models/gemini-3.1-flash-image-preview",
        [("contents[1].parts[1]", "words_signature"), ("contents[3].parts[1]", "words_signature")],
    ),
    "a note beside the responses": (
        [ASK, model(call("search")), user(response("search"), "Answer now.")],
        NEWEST,
        [("contents[2].parts[1]", "text_after_responses")],
    ),
    "a note beside the responses, for an older model": (
        [ASK, model(call("search", None)), user(response("search"), "Answer now.")],
        OLD,
        [("contents[2].parts[1]", "responses_mixed")],
    ),
    "a note before the responses": (
        [ASK, model(call("search")), user("So:", response("search"))],
        NEWEST,
        [("contents[2].parts[0]", "responses_mixed")],
    ),
    "half of an emoji": (
        [user("What is \ud83d?")],
        None,
        [("contents[0].parts[0].text", "not_unicode")],
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
    "a page in place of a picture": (
        [user({"inlineData": {"mimeType": "image/png", "data": "PGh0bWw+NDA0PC9odG1sPg=="}})],
        None,
        [("contents[0].parts[0].inlineData.data", "media_type")],
    ),
    "a page in place of a PDF": (
        [user({"inlineData": {"mimeType": "application/pdf", "data": b"<html>404</html>"}})],
        None,
        [("contents[0].parts[0].inlineData.data", "media_type")],
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
    "properties that are a list": (
        declared({"name": "a", "parameters": {"type": "OBJECT", "properties": []}}),
        None,
        [("tools[0].functionDeclarations[0].parameters.properties", "tool_schema")],
    ),
    "an array of nobody knows what": (
        declared({"name": "a", "parameters": {"type": "OBJECT", "properties": {"q": {"type": "ARRAY"}}}}),
        None,
        [("tools[0].functionDeclarations[0].parameters.properties.q", "tool_array")],
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
    "functions and a search on an older model": (
        {"contents": [ASK], "tools": BOTH, "toolConfig": {"includeServerSideToolInvocations": True}},
        "gemini-2.5-pro",
        [("tools", "tools_mixed")],
    ),
    "functions and a search without saying so": (
        {"contents": [ASK], "config": {"tools": BOTH}},
        "gemini-3-pro",
        [("config.tools", "tools_mixed")],
    ),
    "types in capitals": (
        declared(
            {"name": "a", "parametersJsonSchema": {"type": "object", "properties": {"q": {"type": "STRING"}}}}
        ),
        None,
        [("tools[0].functionDeclarations[0].parametersJsonSchema.properties.q.type", "tool_schema")],
    ),
    "a response of the model": (
        [ASK, model(call("search")), model(response("search"))],
        None,
        [("contents[2].parts[0]", "response_role")],
    ),
    "a signature that was mangled": (
        [ASK, model({**call("search"), "thoughtSignature": "@@"}), user(response("search"))],
        "gemini-3-pro",
        [("contents[1].parts[0].thoughtSignature", "signature_data")],
    ),
}
