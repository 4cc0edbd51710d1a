"""What is sent: a rendered payload, the terms of the answer and its schema, as arguments of an SDK's call."""

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

_UNASKED = frozenset(("store", "include"))
"""Fields of OpenAI's API that are sent unasked, and that other services with its wires may refuse."""

_MOST_OUTPUT = 16_384  # Anthropic wants a number, and the service takes it off the window
_UNKNOWN_OUTPUT = 8192


# --- terms -----------------------------------------------------------------------------------------------


class Terms(TypedDict, total=False):
    """Requirements for an answer. Those that are absent or None are left to the service."""

    max_tokens: int | None
    """The longest answer, in tokens."""
    output: Mapping[str, Any] | None
    """A JSON schema for the text of the answer."""
    options: Mapping[str, Any] | None
    """Any other field of the provider's API, by its name there."""


def checked(terms: Terms) -> Terms:
    """The terms that are set; wrong ones are refused."""
    unknown = terms.keys() - Terms.__annotations__.keys()
    if unknown:
        names = ", ".join(map(cut, sorted(unknown)))
        raise WrongType(f"no such term: {names}; options of one API go into `options`")
    kept = {name: value for name, value in terms.items() if value is not None}
    if "max_tokens" in kept:
        whole(kept["max_tokens"], "max_tokens", least=1)
    for name in ("output", "options"):
        if not isinstance(kept.get(name, {}), Mapping):
            raise WrongType(f"{name} is a mapping, not {type(kept[name]).__name__}")
    return cast(Terms, kept)


# --- requests --------------------------------------------------------------------------------------------


class AnswerShape(NamedTuple):
    """What a wire is sent of a schema, if anything, and whether every answer then fits the schema.

    `is_strict` is the flag of OpenAI's wires.
    """

    sent: _Json | None = None
    is_enforced: bool = False
    is_strict: bool = False


def request_for(wire: str, rendered: Rendered, name: str, terms: Terms, shape: AnswerShape) -> _Json:
    """The arguments of the call; `options` override all else, and None removes a field sent unasked."""
    kept, payload = checked(terms), rendered.payload
    written = _WRITERS[wire](name, kept.get("max_tokens"), shape)
    fields = {name: value for name, value in written.items() if value is not None}
    options = kept.get("options") or {}
    if wire == "gemini":
        config = {**payload.get("config", {}), **fields, **options}
        return {**payload, "config": config} if config else dict(payload)
    asked = {**payload, **fields, **options}
    return {name: value for name, value in asked.items() if value is not None or name not in _UNASKED}


def _chat(name: str, most: int | None, shape: AnswerShape) -> _Json:
    # OpenAI's own models refuse the older name; many services know no other.
    limit = "max_completion_tokens" if facts_for(name).provider == "openai" else "max_tokens"
    schema = {"type": "json_schema", "json_schema": _named(shape)}
    return {limit: most, "response_format": None if shape.sent is None else schema}


def _responses(name: str, most: int | None, shape: AnswerShape) -> _Json:
    # Reasoning goes back by its encrypted content, so the service need not store anything.
    reasons = "developer_role" in facts_for(name).features  # other models refuse the field
    return {
        "store": False,
        "max_output_tokens": most,
        "include": ["reasoning.encrypted_content"] if reasons else None,
        "text": None if shape.sent is None else {"format": {"type": "json_schema", **_named(shape)}},
    }


def _anthropic(name: str, most: int | None, shape: AnswerShape) -> _Json:
    schema = {"type": "json_schema", "schema": shape.sent}
    return {
        "max_tokens": most or min(facts_for(name).output or _UNKNOWN_OUTPUT, _MOST_OUTPUT),
        "output_config": None if shape.sent is None else {"format": schema},
    }


def _gemini(name: str, most: int | None, shape: AnswerShape) -> _Json:
    return {
        "max_output_tokens": most,
        "response_mime_type": None if shape.sent is None else "application/json",
        "response_json_schema": shape.sent,
    }


_WRITERS: dict[str, Callable[[str, int | None, AnswerShape], _Json]] = {
    "openai": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
"""The fields of each wire for the terms; None where a field is left out."""


def _named(shape: AnswerShape) -> _Json:
    return {"name": "answer", "schema": shape.sent, "strict": shape.is_strict}


def tools_in(rendered: Rendered) -> list[Definition]:
    """The tools of a payload, one by one."""
    payload = rendered.shared
    return single_definitions(payload.get("tools") or payload.get("config", {}).get("tools") or ())


# --- the schema of an answer -----------------------------------------------------------------------------

_SCHEMA_TEXT = (
    "Your answer, when you come to it, is JSON that fits this schema and nothing else, not the schema itself:"
)
_BESIDE_TOOLS = {
    "openai": "output_schema",
    "openai-responses": "output_schema",
    "gemini": "output_schema_with_tools",
}
"""The feature that a model needs to be sent a schema beside tools: other models then never call."""

_TYPED = frozenset(("type", "anyOf", "oneOf", "$ref", "enum", "const"))
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
    wire: str, model: str, schema: _Schema, tools: Sequence[Definition] = (), takes: bool | None = None
) -> AnswerShape:
    """What is sent of a schema to a model with these tools.

    `takes` says whether the model takes a schema; None leaves that to the facts of the model.
    """
    features = set(facts_for(model).features)
    if takes is not None:
        features -= {"output_schema", "no_output_schema"}
        features.add("output_schema" if takes else "no_output_schema")
    if "no_output_schema" in features:
        return AnswerShape()
    if tools and _BESIDE_TOOLS.get(wire) not in (None, *features):
        return AnswerShape()
    plain = read_schema(exact_copy(schema)[0], "output")
    if not is_plain_object(plain):  # no wire is known to enforce another top: sent as it is, or not at all
        return AnswerShape() if wire == "anthropic" else AnswerShape(dict(schema))
    shape = _gemini_shape(plain) if wire == "gemini" else _strict_shape(wire, model, plain)
    return shape if "output_schema" in features else shape._replace(is_enforced=False)


def schema_message(schema: _Schema) -> Message:
    """A schema in words. The same schema is the same message, so that caches hold."""
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
    # Gemini refuses a schema that contains itself, and writes nothing where any value may stand.
    found = [inner for _, inner in subschemas(schema)]
    if is_recursive(schema) or any(map(_is_vague, found)):
        return AnswerShape()
    for inner in found:
        inner.pop("discriminator", None)  # pydantic writes it; the choices say it too
        if _is_scalar(inner.get("const")):
            inner["enum"] = [inner.pop("const")]
    return AnswerShape(schema, all(map(_is_gemini, found)))


def _is_vague(schema: _Json) -> bool:
    return _TYPED.isdisjoint(schema) or (is_open(schema) and not schema.get("properties"))


def _is_gemini(schema: _Json) -> bool:
    return _GEMINI_KEYWORDS.issuperset(schema) and all(map(_is_scalar, entries_in(schema.get("enum"))))


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
