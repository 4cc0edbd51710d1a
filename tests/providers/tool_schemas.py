"""Schemas of tools: builders, and strategies that draw definitions in every form."""

from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]
TEXT = {"type": "string"}
MODELS: dict[str, tuple[str | None, ...]] = {
    "openai": ("gpt-5.6", "mistral-large-latest", None),
    "openai-responses": ("azure/gpt-5.6", "qwen3:30b", None),
    "anthropic": ("claude-sonnet-4-5", "us.anthropic.claude-opus-4-8-v1:0", None),
    "gemini": ("gemini-2.5-pro", "gemini-3-pro", "vertex_ai/gemini-3-pro", None),
}
TARGETS = st.sampled_from([(wire, model) for wire, models in MODELS.items() for model in models])


def an_object(**properties: Any) -> Json:
    """The schema of an object."""
    return {"type": "object", "properties": properties}


def closed(**properties: Any) -> Json:
    """The schema of an object with these properties, all required, and no others."""
    return {**an_object(**properties), "required": [*properties], "additionalProperties": False}


NAMES = st.sampled_from(["q", "type", "items", "required", "$ref", "$top", "a b", "é", "k" * 70])
LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "integer", "boolean", "null", "STRING", ["string", "null"]])},
        optional={
            "description": st.just("type: OBJECT"),
            "default": st.just({"type": "STRING"}),
            "enum": st.just(["a", 1]),
            "minLength": st.integers(0, 3),
            "format": st.sampled_from(["date", "uri", "emoji"]),
            "pattern": st.sampled_from(["^a$", "^(?!x)", r"(a)\1"]),
        },
    ),
    st.sampled_from([{}, True, {"const": 3}, {"$ref": "#"}, {"$ref": "#/$defs/D"}, {"type": "array"}]),
)
EXTRAS: list[Json] = [
    {},
    {"required": ["q"]},
    {"additionalProperties": {}},
    {"dependentRequired": {"q": ["b"]}},
]


def _with(one: Json, other: Json) -> Json:
    return {**one, **other}


def _keyed(key: str, value: Any) -> Json:
    return {key: value}


def _around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named, several = st.dictionaries(NAMES, inner, max_size=3), st.lists(inner, min_size=1, max_size=2)
    objects = named.map(lambda fields: an_object(**fields))
    return st.one_of(
        st.builds(_with, objects, st.sampled_from(EXTRAS)),
        named.map(lambda fields: an_object(inner=closed(**fields))),
        st.one_of(inner, several).map(lambda items: {"items": items, "type": "array"}),
        st.builds(_keyed, st.sampled_from(["anyOf", "oneOf", "allOf"]), several),
        st.builds(_keyed, st.sampled_from(["not", "if", "contains"]), inner),
    )


SCHEMAS = st.recursive(LEAVES, _around, max_leaves=8)
TOPS: st.SearchStrategy[Json] = st.one_of(
    st.dictionaries(NAMES, SCHEMAS, max_size=3).map(lambda fields: an_object(**fields)),
    st.lists(SCHEMAS, min_size=1, max_size=2).map(lambda some: {"oneOf": some}),
).map(lambda top: {**top, "$defs": {"D": TEXT}})
FIELDS: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {},
    optional={
        "strict": st.booleans(),
        "description": st.sampled_from(["", " ", "Looks."]),
        "defer_loading": st.booleans(),
        "input_examples": st.just([{"q": 1}]),
        "allowed_callers": st.just(["direct"]),
        "cache_control": st.just({"type": "ephemeral"}),
        "behavior": st.just("NON_BLOCKING"),
        "annotations": st.just({"title": "x"}),
    },
)
SHAPES = [
    *("chat", "responses", "declared"),
    *("parameters", "input_schema", "inputSchema", "parametersJsonSchema"),
]


def definition(shape: str, name: str, schema: Any, fields: Json) -> Json:
    """A definition in one of the forms that users hand in."""
    function = {"name": name, "parameters": schema, **fields}
    match shape:
        case "chat":
            return {"type": "function", "function": function}
        case "responses":
            return {"type": "function", **function}
        case "declared":
            return {"functionDeclarations": [function]}
        case key:
            return {"name": name, key: schema, **fields}


TOOLSETS = st.lists(st.tuples(st.sampled_from(SHAPES), TOPS, FIELDS), min_size=1, max_size=3).map(
    lambda drawn: [definition(shape, f"f{n}", top, fields) for n, (shape, top, fields) in enumerate(drawn)]
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["object", "x", "#/$defs/D"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["type", "properties", "anyOf", "$ref", "items", "enum"]), inner),
    ),
    max_leaves=8,
)
