"""The shape that an answer is to have: what of its schema goes to a wire, and what has to be told in words.

A model is held to a schema only where it is known to take one and its wire takes this one. Anywhere else it
is told in words, and whoever asked looks at what comes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quire.items import Item, Message
from quire.providers import (
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
from quire.tokens import Definition, facts_for

_Json = dict[str, Any]
_Schema = Mapping[str, Any]

_WORDS = (
    "Your answer, when you come to it, is JSON that fits this schema and nothing else, not the schema itself:"
)
_SAYS = frozenset(("type", "anyOf", "oneOf", "$ref", "enum", "const"))
_LISTED = frozenset(
    (
        *("$id", "$defs", "$ref", "$anchor", "type", "format", "enum", "items", "prefixItems", "minItems"),
        *("maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties"),
        *("required", "propertyOrdering"),
        # These say something and limit nothing.
        *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
        *("$schema", "$comment"),
    )
)
"""The keywords that Gemini knows; others it passes over."""

_BESIDE_TOOLS = {
    "openai": "output_schema",
    "openai-responses": "output_schema",
    "gemini": "output_schema_with_tools",
}
"""What a model must be known for to be sent a schema beside tools: others write that and never call."""


class AnswerShape(NamedTuple):
    """What a wire is sent of a schema, if it is sent one, and whether no answer can be another then.

    `is_strict` is for a wire that wants to be told whether to keep to it word for word.
    """

    sent: _Json | None = None
    is_held: bool = False
    is_strict: bool = False


def shape_for(
    wire: str, model: str, schema: _Schema, tools: Sequence[Definition] = (), takes: bool | None = None
) -> AnswerShape:
    """What is sent of a schema to a model that is given these tools.

    `takes` says whether the model is held to one, where somebody knows better than its facts.
    """
    features = _features(model, takes)
    if "no_output_schema" in features:
        return AnswerShape()
    if tools and _BESIDE_TOOLS.get(wire) not in (None, *features):
        return AnswerShape()
    plain = read_schema(exact_copy(schema)[0], "output")
    if not is_plain_object(plain):  # no wire is known to take another top: it is sent as it is, or not at all
        return AnswerShape() if wire == "anthropic" else AnswerShape(dict(schema))
    shape = _SHAPES[wire](plain, model)
    return shape if "output_schema" in features else shape._replace(is_held=False)


def told(schema: _Schema) -> Message:
    """A schema in words. The same one is the same message, so that no cache is spoiled by it."""
    words = f"{_WORDS}\n{json_text(schema, 'output')}"
    return Message("system", words, id="answer-schema", created_at=0.0)


def with_words(items: Sequence[Item], message: Message) -> Sequence[Item]:
    """Items, and a message after them; what was rendered of a view is still gone on from."""
    if isinstance(items, View):
        return Scroll(view=items, after=(message,))
    if isinstance(items, Scroll):
        return Scroll(items.before, items.view, items.start, (*items.after, message))
    return [*items, message]


def _features(model: str, takes: bool | None) -> frozenset[str]:
    known = frozenset[str](facts_for(model).features)
    if takes is None:
        return known
    said, unsaid = ("output_schema", "no_output_schema") if takes else ("no_output_schema", "output_schema")
    return known - {unsaid} | {said}


def _openai(schema: _Json, model: str) -> AnswerShape:
    form = schema_for("openai", schema, strict=True)
    return AnswerShape(form.schema, form.strict and not form.removed, form.strict)


def _anthropic(schema: _Json, model: str) -> AnswerShape:
    form = schema_for("anthropic", schema, strict=True)
    if not form.strict or cloud_of(model) is not None:
        return AnswerShape()
    return AnswerShape(form.schema, not form.removed)


def _gemini(schema: _Json, model: str) -> AnswerShape:
    # What holds itself is refused, and where anything may stand, some models write nothing.
    found = [inner for _, inner in subschemas(schema)]
    if is_recursive(schema) or any(map(_is_vague, found)):
        return AnswerShape()
    listed = _listed(schema)
    return AnswerShape(listed, all(_is_listed(inner) for _, inner in subschemas(listed)))


_SHAPES = {"openai": _openai, "openai-responses": _openai, "anthropic": _anthropic, "gemini": _gemini}


def _is_vague(schema: _Json) -> bool:
    return _SAYS.isdisjoint(schema) or (is_open(schema) and not schema.get("properties"))


def _listed(schema: _Json) -> _Json:
    """A schema in the words that Gemini lists, as far as they say the same."""
    listed: _Json = exact_copy(schema)[0]
    found = [inner for _, inner in subschemas(listed)]
    closes = not any("allOf" in inner for inner in found)  # of which one may name what another does not
    for inner in found:
        if closes and inner.get("properties"):
            inner.setdefault("additionalProperties", False)
        inner.pop("discriminator", None)  # what it points to may have been moved, and the choices say it too
        if "const" in inner and inner["const"] is None:
            inner["type"] = "null"
            del inner["const"]
        elif _is_word_or_number(inner.get("const")):
            inner["enum"] = [inner.pop("const")]
    return listed


def _is_listed(schema: _Json) -> bool:
    return _LISTED.issuperset(schema) and all(map(_is_word_or_number, entries_in(schema.get("enum"))))


def _is_word_or_number(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
