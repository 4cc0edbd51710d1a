"""Histories that Gemini takes, each with something that is easily mistaken for a fault."""

from typing import Any

from tests.providers.checking.gemini_bad import (
    ASK,
    DRAWS,
    NEWEST,
    OLD,
    PICTURE,
    THREE,
    call,
    model,
    response,
    signed,
    user,
)

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
    "no signatures of calls for a model of images": (
        [ASK, model(call("search", None)), user(response("search"))],
        DRAWS,
    ),
    "what was drawn is signed, and the first of what was said": (
        [ASK, model({"text": "Hm.", "thought": True}, signed("Here."), signed(PICTURE), "So."), ASK],
        DRAWS,
    ),
    "nothing that was drawn is signed, where nobody looks": (
        [ASK, model("Here.", PICTURE), ASK],
        f"vertex_ai/{DRAWS}",
    ),
    "an older model drew": ([ASK, model("Here.", PICTURE), ASK], "gemini-2.5-flash-image"),
    "another model drew": ([ASK, model("Here.", PICTURE), ASK], THREE),
    "a signature on an empty text": (
        [ASK, model("New.", {"text": "", "thoughtSignature": "c2ln"}), ASK],
        THREE,
    ),
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
                "tool_config": {"include_server_side_tool_invocations": True},
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
