"""Random schemas of tools: those of JSON Schema, of Google's dialect, and such as nobody should write."""

from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]
NAMES = st.sampled_from(["q", "type", "nullable", "any_of", "required", "defs", "items", "Ünï"])
KINDS = st.sampled_from(["string", "integer", "STRING", "BOOLEAN", "NUMBER", "TYPE_UNSPECIFIED"])
LEAVES: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"type": KINDS},
    optional={
        "nullable": st.booleans(),
        "min_length": st.sampled_from([1, "2"]),
        "enum": st.just(["STRING", "a"]),
        "description": st.just("type: OBJECT"),
        "default": st.just({"type": "STRING", "any_of": []}),
    },
)


def _holding(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    combined = st.sampled_from(["anyOf", "any_of", "oneOf", "one_of", "allOf", "all_of"])
    kinds = st.sampled_from(["object", "OBJECT", None])
    return st.one_of(
        st.builds(_object, kinds, st.dictionaries(NAMES, inner)),
        st.builds(_array, st.sampled_from(["array", "ARRAY"]), inner),
        st.dictionaries(combined, st.lists(inner, min_size=1, max_size=3), min_size=1, max_size=1),
    )


def _array(kind: str, items: Any) -> Json:
    return {"type": kind, "items": items}


def _object(kind: str | None, properties: Json) -> Json:
    return {**({"type": kind} if kind else {}), "properties": properties, "required": [*properties][:1]}


WITHIN = st.recursive(LEAVES, _holding, max_leaves=12)
KEYS = st.sampled_from(["q", "$top", "@a.b", "filter[id]", "a b", "k" * 70, "é", "xtop_0", "$ref", "items"])
FLAWS: st.SearchStrategy[Any] = st.sampled_from(
    [  # pyright: ignore[reportUnknownArgumentType]
        *(None, True, False, 5, "number", "the city", [], {}, {"type": None}, {"type": 5}, {"type": []}),
        *({"type": "any"}, {"type": "float"}, {"type": "Int"}, {"type": "date"}, {"type": "str", "enum": []}),
        *({"type": ["str", "null"]}, {"type": ["string", "mixed"]}, {"type": ["array", "null"]}),
        *({"type": "array"}, {"type": "list"}, {"type": "array", "items": None}, {"type": "dict"}),
        *({"type": "array", "prefixItems": [{"type": "int"}, {"type": "str"}]}, {"prefixItems": []}),
        *({"type": "string", "required": True}, {"type": "object", "required": "q"}, {"required": [1, "q"]}),
        *({"minimum": 0, "exclusiveMinimum": True}, {"exclusiveMaximum": False}, {"minimum": "low"}),
        *({"enum": None}, {"enum": "a"}, {"description": None}, {"title": 5}, {"minLength": -1}),
        *({"$ref": "#/$defs/Nowhere"}, {"$ref": 5}, {"$ref": "#/properties/q/items/0"}, {"anyOf": []}),
        *({"properties": []}, {"properties": {"a": {"type": "any"}}}, {"additionalProperties": "string"}),
        *({"nullable": True}, {"uniqueItems": "yes"}, {"pattern": 1}, {"dependentRequired": {"a": "b"}}),
        *({"dependencies": {"q": ["a"], "a": {"required": ["q"]}}}, {"dependencies": {"q": 5}}),
        *({"type": "string", "pattern": "^(?!x)"}, {"pattern": "[", "format": "url"}, {"$id": "a b"}),
        *({"$ref": "#"}, {"$ref": "#", "nullable": True}, {"$ref": "other.json", "description": "x"}),
        *({"if": {"required": ["$top"]}, "then": {"properties": {"$top": {}}}}, {"type": "url"}),
        *({"$defs": {"A": {"type": "float"}}}, {"not": {"type": "any"}}, {"if": 5}, {"oneOf": {"type": "x"}}),
    ]
)


def _holding_flaws(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    kinds = st.sampled_from(["object", "dict", "OBJECT", None])
    listed = st.sampled_from(["anyOf", "oneOf", "allOf", "prefixItems", "items"])
    within = st.sampled_from(["items", "additionalItems", "additionalProperties", "not", "contains", "then"])
    named = st.sampled_from(["patternProperties", "$defs", "definitions", "dependentSchemas"])
    return st.one_of(
        st.builds(_object, kinds, st.dictionaries(KEYS, inner, max_size=3)),
        st.builds(_array, st.sampled_from(["array", "list", "tuple"]), st.lists(inner, max_size=2)),
        st.dictionaries(listed, st.lists(inner, max_size=2), min_size=1, max_size=2),
        st.dictionaries(within, inner, min_size=1, max_size=2),
        st.dictionaries(named, st.dictionaries(NAMES, inner, max_size=2), min_size=1, max_size=1),
    )


FLAWED = st.recursive(st.one_of(LEAVES, FLAWS), _holding_flaws, max_leaves=12)
"""Schemas with something wrong at any depth: other spellings, older drafts, or what is none at all."""

ODD: st.SearchStrategy[Any] = st.sampled_from(
    [  # pyright: ignore[reportUnknownArgumentType]
        *(None, {}, True, "object", 5, [], {"type": "string"}, {"type": 5}, {"type": ["object", "null"]}),
        *({"type": "object", "properties": None}, {"required": "q"}, {"required": [1, "q"]}),
        *({"$ref": "#/$defs/A"}, {"$ref": "#", "$defs": {}}, {"enum": [{}]}, {"const": {}}, {"not": {}}),
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},
        {"$ref": "#/$defs/A", "$defs": {"A": {"type": "OBJECT", "properties": {"deep": {"type": "STRING"}}}}},
        {"additionalProperties": {"type": "STRING"}},
        {"anyOf": "nonsense"},
    ]
)
SCHEMAS = st.one_of(WITHIN, ODD, FLAWED)
FIELDS: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {},
    optional={
        "defer_loading": st.sampled_from([True, False, "yes"]),
        "input_examples": st.sampled_from([[{"q": 1}], "no"]),
        "allowed_callers": st.just(["direct"]),
        "eager_input_streaming": st.just(True),
        "cache_control": st.sampled_from(
            [{"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}, {"type": "?"}, 5]
        ),
        "behavior": st.just("NON_BLOCKING"),
        "response": st.just({"type": "STRING"}),
        "response_json_schema": st.just({"type": "string"}),
        "strict": st.booleans(),
        "annotations": st.just({"title": "x"}),
    },
)


def _definition(shape: str, name: str, schema: Any, fields: Json) -> Json:
    match shape:
        case "chat":
            return {"type": "function", "function": {"name": name, "parameters": schema, **fields}}
        case "responses":
            return {"type": "function", "name": name, "parameters": schema, **fields}
        case "declared":
            return {"function_declarations": [{"name": name, "parameters": schema, **fields}]}
        case key:
            return {"name": name, key: schema, **fields}


SHAPES = st.sampled_from(
    ["chat", "responses", "declared", "parameters", "input_schema", "inputSchema", "parametersJsonSchema"]
)
OWN_TOOLS: st.SearchStrategy[Json] = st.sampled_from(
    [{"google_search": {}}, {"type": "web_search_20250305", "name": "web_search"}]
)


@st.composite
def toolsets(draw: st.DrawFn) -> list[Json]:
    """Some tools, each with a name of its own, and now and then one of a provider."""
    tools = [
        draw(st.builds(_definition, SHAPES, st.just(f"f{number}"), SCHEMAS, FIELDS))
        for number in range(draw(st.integers(1, 4)))
    ]
    return [*tools, *draw(st.lists(OWN_TOOLS, max_size=1))]
