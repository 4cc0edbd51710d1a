"""Requests: a payload, the terms of the answer and its schema as the arguments of an SDK's method."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict, cast

from quire.errors import WrongType, cut
from quire.items import Item, Message
from quire.providers import (
    Rendered,
    cloud_of,
    entries_in,
    exact_copy,
    is_open,
    is_plain_object,
    is_recursive,
    json_text,
    read_schema,
    schema_for,
    subschemas,
)
from quire.state import Scroll, View
from quire.tokens import Definition, facts_for, single_definitions, whole

_Json = dict[str, Any]
_Schema = Mapping[str, Any]

_DEFAULT_FIELDS = frozenset(("store", "include"))
"""Fields of OpenAI's API that are sent by default, and that other services with its wires may refuse."""

_MAX_OUTPUT = 16_384  # Anthropic wants a number, and the service takes it off the window
_DEFAULT_OUTPUT = 8192


# --- terms -----------------------------------------------------------------------------------------------


class Terms(TypedDict, total=False):
    """Requirements for an answer. The service decides those that are absent or None."""

    max_tokens: int | None
    """The longest answer, in tokens."""
    output: Mapping[str, Any] | None
    """A JSON schema for the text of the answer."""
    options: Mapping[str, Any] | None
    """Any other field of the provider's API, by its name there."""


def checked(terms: Terms) -> Terms:
    """Check terms, and return those that are set."""
    unknown = terms.keys() - Terms.__annotations__.keys()
    if unknown:
        names = ", ".join(map(cut, sorted(unknown)))
        raise WrongType(f"no such term: {names}; options of one API go into `options`")
    present = {name: value for name, value in terms.items() if value is not None}
    if "max_tokens" in present:
        whole(present["max_tokens"], "max_tokens", least=1)
    for name in ("output", "options"):
        if not isinstance(present.get(name, {}), Mapping):
            raise WrongType(f"{name} must be a mapping, not {type(present[name]).__name__}")
    return cast(Terms, present)


# --- requests --------------------------------------------------------------------------------------------


class AnswerShape(NamedTuple):
    """The schema to send, if any, and whether every answer then fits it.

    `is_strict` is the flag of OpenAI's wires.
    """

    sent: _Json | None = None
    is_enforced: bool = False
    is_strict: bool = False


def request_for(wire: str, rendered: Rendered, name: str, terms: Terms, shape: AnswerShape) -> _Json:
    """The arguments of the SDK's method; `options` override others, and None removes a default field."""
    terms, payload = checked(terms), rendered.payload
    written = _WRITERS[wire](name, terms.get("max_tokens"), shape)
    fields = {name: value for name, value in written.items() if value is not None}
    options = terms.get("options") or {}
    if wire == "gemini":
        config = {**payload.get("config", {}), **fields, **options}
        return {**payload, "config": config} if config else dict(payload)
    arguments = {**payload, **fields, **options}
    return {
        name: value for name, value in arguments.items() if value is not None or name not in _DEFAULT_FIELDS
    }


def _chat(name: str, max_tokens: int | None, shape: AnswerShape) -> _Json:
    # OpenAI's own models refuse the older name; many other services know only that.
    limit = "max_completion_tokens" if facts_for(name).provider == "openai" else "max_tokens"
    schema = {"type": "json_schema", "json_schema": _schema_fields(shape)}
    return {limit: max_tokens, "response_format": None if shape.sent is None else schema}


def _responses(name: str, max_tokens: int | None, shape: AnswerShape) -> _Json:
    # Reasoning goes back by its encrypted content, so the service need not store anything.
    is_reasoning_model = "developer_role" in facts_for(name).features  # others refuse the field
    return {
        "store": False,
        "max_output_tokens": max_tokens,
        "include": ["reasoning.encrypted_content"] if is_reasoning_model else None,
        "text": None if shape.sent is None else {"format": {"type": "json_schema", **_schema_fields(shape)}},
    }


def _anthropic(name: str, max_tokens: int | None, shape: AnswerShape) -> _Json:
    schema = {"type": "json_schema", "schema": shape.sent}
    return {
        "max_tokens": max_tokens or min(facts_for(name).output or _DEFAULT_OUTPUT, _MAX_OUTPUT),
        "output_config": None if shape.sent is None else {"format": schema},
    }


def _gemini(name: str, max_tokens: int | None, shape: AnswerShape) -> _Json:
    return {
        "max_output_tokens": max_tokens,
        "response_mime_type": None if shape.sent is None else "application/json",
        "response_json_schema": shape.sent,
    }


_WRITERS: dict[str, Callable[[str, int | None, AnswerShape], _Json]] = {
    "openai": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
"""The fields of each wire for the terms; None leaves a field out."""


def _schema_fields(shape: AnswerShape) -> _Json:
    return {"name": "answer", "schema": shape.sent, "strict": shape.is_strict}


def tools_in(rendered: Rendered) -> list[Definition]:
    payload = rendered.shared
    return single_definitions(payload.get("tools") or payload.get("config", {}).get("tools") or ())


# --- the schema of an answer -----------------------------------------------------------------------------

_SCHEMA_TEXT = (
    "Your answer, when you come to it, is JSON that fits this schema and nothing else, not the schema itself:"
)
_FEATURE_BESIDE_TOOLS = {
    "openai": "output_schema",
    "openai-responses": "output_schema",
    "gemini": "output_schema_with_tools",
}
"""The feature that a model needs for a schema together with tools: without it a model never calls a tool."""

_TYPE_KEYWORDS = frozenset(("type", "anyOf", "oneOf", "$ref", "enum", "const"))
_GEMINI_KEYWORDS = frozenset(
    (
        *("$id", "$defs", "$ref", "$anchor", "type", "format", "enum", "items", "prefixItems", "minItems"),
        *("maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties"),
        *("required", "propertyOrdering", "title", "description", "default", "examples", "deprecated"),
        *("readOnly", "writeOnly", "$schema", "$comment"),
    )
)
"""Keywords that Gemini enforces, by its API reference; it ignores others."""


def shape_for(
    wire: str, model: str, schema: _Schema, tools: Sequence[Definition] = (), takes_schema: bool | None = None
) -> AnswerShape:
    """The form of a schema for a model with these tools.

    `takes_schema` says whether the model accepts a schema; None uses the facts of the model.
    """
    features = set(facts_for(model).features)
    if takes_schema is not None:
        features -= {"output_schema", "no_output_schema"}
        features.add("output_schema" if takes_schema else "no_output_schema")
    if "no_output_schema" in features:
        return AnswerShape()
    needed_feature = _FEATURE_BESIDE_TOOLS.get(wire)
    if tools and needed_feature is not None and needed_feature not in features:
        return AnswerShape()
    plain = read_schema(exact_copy(schema)[0], "output")
    if not is_plain_object(plain):  # no wire enforces it: it is sent unchanged, or not at all
        return AnswerShape() if wire == "anthropic" else AnswerShape(dict(schema))
    shape = _gemini_shape(plain) if wire == "gemini" else _strict_shape(wire, model, plain)
    return shape if "output_schema" in features else shape._replace(is_enforced=False)


def schema_message(schema: _Schema) -> Message:
    """A schema in words. Equal schemas make equal messages, which stay cached."""
    text = f"{_SCHEMA_TEXT}\n{json_text(schema, 'output')}"
    return Message("system", text, id="answer-schema", created_at=0.0)


def with_message(items: Sequence[Item], message: Message) -> Sequence[Item]:
    """Items with a message after them; a view is still rendered incrementally."""
    if isinstance(items, View):
        return Scroll(view=items, after=(message,))
    if isinstance(items, Scroll):
        return Scroll(items.before, items.view, items.start, (*items.after, message))
    return [*items, message]


def _strict_shape(wire: str, model: str, schema: _Json) -> AnswerShape:
    form = schema_for(wire, schema, strict=True)
    is_enforced = form.strict and not form.removed
    if wire != "anthropic":
        return AnswerShape(form.schema, is_enforced, form.strict)
    if not form.strict or cloud_of(model) is not None:
        return AnswerShape()
    return AnswerShape(form.schema, is_enforced)


def _gemini_shape(schema: _Json) -> AnswerShape:
    # Gemini refuses a recursive schema, and writes nothing where any value is allowed.
    schemas = [inner for _, inner in subschemas(schema)]
    if is_recursive(schema) or any(map(_is_vague, schemas)):
        return AnswerShape()
    for inner in schemas:
        inner.pop("discriminator", None)  # of pydantic; redundant
        if _is_scalar(inner.get("const")):
            inner["enum"] = [inner.pop("const")]
    return AnswerShape(schema, all(map(_is_gemini, schemas)))


def _is_vague(schema: _Json) -> bool:
    return _TYPE_KEYWORDS.isdisjoint(schema) or (is_open(schema) and not schema.get("properties"))


def _is_gemini(schema: _Json) -> bool:
    return _GEMINI_KEYWORDS.issuperset(schema) and all(map(_is_scalar, entries_in(schema.get("enum"))))


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
