"""Schemas of tools that both wires of OpenAI refuse, with the places and the rules, as requests to each."""

from typing import Any

Json = dict[str, Any]
CASES: dict[str, tuple[Json, list[tuple[str, str]]]] = {
    "a pattern that looks around": ({"pattern": "^(?!x)"}, [("pattern", "tool_pattern")]),
    "a pattern of another language": ({"pattern": r"^\p{L}+$"}, [("pattern", "tool_pattern")]),
    "properties by a pattern that looks back": (
        {"patternProperties": {"(?<=a)": {}}},
        [("patternProperties", "tool_pattern")],
    ),
    "an id with a space": ({"$id": "Parameters Schema"}, [("$id", "tool_id")]),
    "an id with half an escape": ({"$id": "a%2"}, [("$id", "tool_id")]),
    "patterns and ids that can be read": ({"pattern": r"[(?!]\(?=", "$id": "urn:a:b#c"}, []),
}


def _flat(schema: Json) -> Json:
    return {"name": "f", "parameters": {"type": "object", "properties": {"a": schema}}}


def _placed(head: str, faults: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(f"{head}.parameters.properties.a.{key}", rule) for key, rule in faults]


OF_CHAT: dict[str, tuple[Any, list[tuple[str, str]]]] = {
    name: (
        {
            "messages": [{"role": "user", "content": "x"}],
            "tools": [{"type": "function", "function": _flat(schema)}],
        },
        _placed("tools[0].function", faults),
    )
    for name, (schema, faults) in CASES.items()
}
OF_RESPONSES: dict[str, tuple[Any, list[tuple[str, str]]]] = {
    name: (
        {"input": "x", "tools": [{"type": "function", **_flat(schema)}]},
        _placed("tools[0]", faults),
    )
    for name, (schema, faults) in CASES.items()
}
