"""Counters that measure text: of items, of tool definitions and of schemas.

A measured counter has three parts: a measure of text, the framing of a provider, and its costs of media. Text
is measured offline by a tokenizer, which takes about 0.3 s and 65 MB to load when it is first used. Measuring
takes time in proportion to the text, also for a million equal characters, so no text is cut.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, assert_never, cast

import msgspec
from msgspec.structs import replace

from quire.errors import InvalidValue, WrongType
from quire.items import (
    Audio,
    ConfigChange,
    Content,
    Distrust,
    File,
    Handoff,
    Hide,
    Image,
    Item,
    Mask,
    Message,
    Note,
    Part,
    Pin,
    Reasoning,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
    Unknown,
    closing,
    empty_frame,
    escape,
    frame,
    is_below,
    opening,
    own_origin,
    prepared,
    replace_surrogates,
    usual_origin,
)
from quire.tokens.counter import Counter, Definition, Tally, checked_counter, whole
from quire.tokens.media import is_text, is_utf8, media_costs, media_tokens
from quire.tokens.models import facts_for, table

NEAREST = "o200k_base"
"""The vocabulary that stands in for those that are not public."""

# Texts that Quire adds to a request, in place of an item without words or around text that is not the user's
# own. They are here because they cost tokens, and constant so that equal items give equal requests.

NO_OUTPUT = "(no output)"
FAILED = "Error: "
MAY_HAVE_RUN = "It is uncertain whether this was done: {why}. Look before you do it again."
NO_RESULT = MAY_HAVE_RUN.format(why="the call was interrupted")


def late_result(name: str, parts: Sequence[Part]) -> Content:
    """A result that arrived after the model had moved on, in the frame in which a user turn carries it."""
    return framed("late-result", parts, tool=name)


def file_frame(name: str | None, data: bytes) -> str:
    """The text of a file in a frame with its name; bytes that are not UTF-8 are decoded as Latin-1."""
    text = data.decode("utf-8" if is_utf8(data) else "latin-1")
    return frame("file", text, name=name) if text else text


def described(part: Image | Audio | File, problem: str | None = None) -> str:
    """The text for media that cannot be shown."""
    url = None if part.url is None or part.url.startswith("data:") else part.url
    if isinstance(part, Audio):
        length = f"{part.seconds:g} s" if part.seconds else None
        transcript = (part.transcript or "").strip()
        return transcript or empty_frame("audio", length=length, url=url, problem=problem)
    if isinstance(part, File):
        return empty_frame("file", name=part.name, url=url, problem=problem)
    return empty_frame("image", url=url, problem=problem)


def framed(tag: str, parts: Sequence[Part], **attributes: str | None) -> Content:
    """Content in a frame, with media between its tags."""
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) == len(parts):
        return frame(tag, "\n".join(texts), **attributes)
    return (opening(tag, **attributes), *map(_in_frame, parts), closing(tag))


def _in_frame(part: Part) -> Part:
    """Escape a part for a frame: a text, and the transcript that may be shown in place of a recording."""
    if isinstance(part, str):
        return escape(part)
    if isinstance(part, Audio) and part.transcript:
        return replace(part, transcript=escape(part.transcript))
    return part


def quoted_content(item: Message) -> Content:
    """The content of a message, in a frame if its origin is trusted less than its role."""
    origin = own_origin(item)
    if not is_below(origin, usual_origin(replace(item, address=None))):
        return item.content
    return framed("message", item.parts, **{"from": item.agent_id, "origin": origin})


def summary_frame(text: str) -> str:
    """The text of a summary in its frame."""
    return frame("summary", text)


def note_frame(note: Note) -> str:
    """The text of a note in its frame."""
    return frame("note", note_text(note.content), key=note.key, about=note.description)


def note_text(content: Any) -> str:
    """The content of a note as text: JSON, unless it is a text."""
    if content is None or isinstance(content, str):
        return content or ""
    return _json(content)


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(value, enc_hook=repr).decode()
    except (TypeError, ValueError, RecursionError):
        return repr(value)


# Counters


def counter_for(model: str) -> "Measured":
    """The counter of a model, by its name with or without a provider before it.

    Models that count alike share one counter, and its cached counts. Models without a public tokenizer are
    estimated.
    """
    facts = facts_for(model)
    return _counter(facts.vocabulary or NEAREST, facts.scale, facts.framing, facts.media)


@cache
def _counter(vocabulary: str, scale: float, framing: str, media: str) -> "Measured":
    return Measured(vocabulary, scale=scale, framing=framing, media=media)


@prepared
class _Framing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tokens that a provider adds to items, requests and tools."""

    message: int
    call: int
    result: int
    request: int
    tools: int
    tool: int
    typed: bool = False  # whether each property of a tool is counted alone, as OpenAI rewrites schemas


class Measured:
    """Counts items by measuring their text with a public vocabulary: `o200k_base` or `cl100k_base`.

    `scale` is for models with other vocabularies; `framing` and `media` are names of rows in `models.toml`.
    It counts the text and media of messages and tool results, the names and arguments of calls, the text of
    reasoning, summaries and new instructions, and the description and content of notes (as JSON unless it is
    a text). Items that no request contains count 0: handoffs, names of tools, edits, kinds of a newer
    version. So does state that only its own model can read.
    """

    def __init__(
        self, vocabulary: str = NEAREST, *, scale: float = 1.0, framing: str = "plain", media: str = "claude"
    ) -> None:
        framings = table()["framings"]
        if framing not in framings:
            raise InvalidValue(f"no framing {framing!r}; there are {', '.join(framings)}")
        self.key = f"{vocabulary}/{scale}/{framing}/{media}"
        self._framing = msgspec.convert(framings[framing], _Framing)
        self._media = media_costs(media)
        self._vocabulary, self._scale = vocabulary, scale

    def text(self, text: str) -> int:
        """Tokens of a text, without framing."""
        tokens = _count(self._vocabulary, text)
        return tokens if self._scale == 1 or not tokens else max(1, round(self._scale * tokens))

    def count(self, item: Item) -> int:
        """Tokens of one item, with its framing."""
        framing = self._framing
        match item:
            case Message():
                is_plain = item.origin is None and item.address is None
                return framing.message + self._content(item.content if is_plain else quoted_content(item))
            case ToolCall():
                return framing.call + self.text(item.name) + self.text(item.arguments)
            case ToolResult():
                output = self._content(item.content) or self.text(NO_OUTPUT)
                return framing.result + output + (self.text(FAILED) if item.is_error else 0)
            case Reasoning():
                return self.text(item.text)
            case Summary():
                return framing.message + self.text(summary_frame(item.text))
            case ConfigChange():
                return framing.message + self.text(item.instructions) if item.instructions else 0
            case Note():
                return framing.message + self.text(note_frame(item))
            case Handoff() | Mask() | Hide() | Pin() | Distrust() | Undo() | Unknown():
                return 0
            case _:
                assert_never(item)

    def total(self, counted: int) -> int:
        """Tokens of a request whose items add up to `counted`, with the framing of a request."""
        return counted + self._framing.request

    def count_tools(self, tools: Sequence[Definition]) -> int:
        """Tokens that tool definitions add to a request."""
        framing, definitions = self._framing, single_definitions(tools)
        if not definitions:
            return 0
        return framing.tools + sum(
            framing.tool + _definition_tokens(tool, self.text, framing.typed) for tool in definitions
        )

    def _content(self, content: Content) -> int:
        if isinstance(content, str):
            return self.text(content)
        return sum(map(self._part, content))

    def _part(self, part: Part) -> int:
        match part:
            case str():
                return self.text(part)
            case Audio() if self._media.second is None:
                return self.text(part.transcript or "")
            case File(data=bytes(data)) if is_text(part.media_type, part.name, data):
                return self.text(file_frame(part.name, data))
            case Image() | Audio() | File():
                return media_tokens(part, self._media)
            case _:
                assert_never(part)


def _count(vocabulary: str, text: str) -> int:
    encode = _encoder_of(vocabulary)
    try:
        return len(encode(text))
    except UnicodeEncodeError:
        return len(encode(replace_surrogates(text)))


@cache
def _encoder_of(vocabulary: str) -> Callable[[str], list[int]]:
    from splintr import Tokenizer

    # `encode` would read <|endoftext|> in a user's text as a control token: one token instead of seven.
    return Tokenizer.from_pretrained(vocabulary).encode_ordinary


# Tools. Definitions are read in the shape of any provider, and never validated.

# The tokens that OpenAI's rewriting of a schema adds, by its published recipe.
_PROPERTIES_TOKENS, _PROPERTY_TOKENS, _CHOICES_TOKENS, _CHOICE_TOKENS = 3, 3, -3, 3
_NESTED_KEYS = ("properties", "items", "anyOf", "oneOf", "allOf")

_LIST_KEYS = ("function_declarations", "functionDeclarations")  # of lists of functions for Gemini
_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema", "parameters_json_schema", "parametersJsonSchema")


def schema_tokens(tools: Sequence[Definition], counter: Counter) -> int:
    """Tokens that tool definitions add to a request. A counter without `count_tools` counts their JSON."""
    if hasattr(checked_counter(counter), "count_tools"):
        return int(cast(Any, counter).count_tools(tools))
    texts = [_json(tool) for tool in single_definitions(tools)]
    return sum(counter.count(Message(role="system", content=text)) for text in texts)


def placeholder_tokens(call: ToolCall | ToolResult, count: Callable[[Item], int]) -> int:
    """Tokens of the placeholder for a result that is missing or late."""
    return count(ToolResult(call.call_id, call.name, NO_RESULT, id="no result", created_at=0.0))


class Late(Tally):
    """Counts the tokens that a late result adds: a placeholder in its place, and the frame around it.

    A result is late if it arrived after the model had moved on. Every result counts as late here, so the
    caller passes only those that are. Items of other kinds count 0.
    """

    def count(self, item: Item) -> int:
        """Tokens that a result adds because it is late."""
        if not isinstance(item, ToolResult):
            return 0
        late = Message("user", late_result(item.name, item.parts), id="late", created_at=0.0)
        frame_tokens = super().count(late) - super().count(item)
        return placeholder_tokens(item, super().count) + max(frame_tokens, 0)


class AsSent(Tally):
    """Counts items as they are sent: a view adds the tokens of `late` for its late results."""

    def __init__(self, key: str, count: Callable[[Item], int]) -> None:
        super().__init__(key, count)
        self.late = Late(f"{key}/late", count)


def answer_tokens(schema: Mapping[str, Any] | None, counter: Counter) -> int:
    """Tokens that an output schema adds to a request as JSON; 0 without a schema."""
    if not schema:
        return 0
    return checked_counter(counter).count(Message(role="system", content=_json(schema)))


def single_definitions(tools: Iterable[Definition]) -> list[Definition]:
    """One definition per tool: an entry for Gemini may hold many functions, and built-in tools too."""
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"tools must be a list of definitions, not {type(cast(object, tools)).__name__}")
    definitions: list[Definition] = []
    for tool in tools:
        if not isinstance(tool, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a tool definition must be a mapping, not {type(tool).__name__}")
        declared = [inner for name in _LIST_KEYS if name in tool for inner in single_definitions(tool[name])]
        built_in = {name: value for name, value in tool.items() if name not in _LIST_KEYS}
        definitions += declared
        if built_in or not declared:
            definitions.append(built_in if declared else tool)
    return definitions


def is_native(tool: Definition) -> bool:
    """Whether a definition is a built-in tool of a provider, and not a function of the caller."""
    if tool.keys().isdisjoint(("name", "function", "custom", "parameters", "description")):
        return bool(tool) and tool.get("type") not in ("function", "custom")
    if tool.get("type") == "custom":
        # For Anthropic it is a function, which has a schema; for OpenAI a tool that takes any text.
        return not any(key in tool for key in ("function", "parameters", "input_schema"))
    return tool.get("type") not in (None, "function")


def read_definition(tool: Definition) -> tuple[str, str, Mapping[str, Any]]:
    """The name, the description and the schema of a definition; the last two may be empty."""
    if is_native(tool):  # several MCP servers have one type, and differ by label
        own = _mapping(tool.get("custom")) or tool
        name = own.get("name") or tool.get("server_label") or tool.get("type") or next(iter(tool))
        return str(name), str(own.get("description") or ""), {}
    inner = _mapping(tool.get("function")) or tool
    name = inner.get("name")
    if not isinstance(name, str):
        raise WrongType("a tool definition needs a name, as text")
    schemas = [_mapping(inner[key]) for key in _SCHEMA_KEYS if key in inner]
    return name, str(inner.get("description") or ""), schemas[0] if schemas else {}


def _definition_tokens(tool: Definition, measure: Callable[[str], int], typed: bool) -> int:
    if is_native(tool):  # it is sent as it is
        return measure(_json(tool))
    name, description, schema = read_definition(tool)
    if not typed:
        return measure(_json({"name": name, "description": description, "parameters": schema}))
    return measure(f"{name}:{description.removesuffix('.')}") + _typed_tokens(schema, measure)


def _typed_tokens(schema: Mapping[str, Any], measure: Callable[[str], int]) -> int:
    properties = _mapping(schema.get("properties"))
    tokens = [_property_tokens(name, _mapping(properties[name]), measure) for name in properties]
    return _PROPERTIES_TOKENS + sum(tokens) if tokens else 0


def _property_tokens(name: str, schema: Mapping[str, Any], measure: Callable[[str], int]) -> int:
    """Tokens of one property; the recipe says nothing about schemas inside it, which count as JSON."""
    description = str(schema.get("description") or "").removesuffix(".")
    tokens = _PROPERTY_TOKENS + measure(f"{name}:{schema.get('type', '')}:{description}")
    choices = schema.get("enum")
    if isinstance(choices, list | tuple) and choices:
        values = cast("Sequence[object]", choices)
        tokens += _CHOICES_TOKENS + sum(_CHOICE_TOKENS + measure(str(value)) for value in values)
    return tokens + sum(measure(_json(schema[key])) for key in _NESTED_KEYS if key in schema)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


# A counter that learns from the usage that a provider reports. It corrects totals, and never counts again.

WINDOW = 16
"""The number of latest reports in use: enough to be steady, few enough to follow a change."""

LEAST_FACTOR, MOST_FACTOR = 0.25, 4.0
"""Factors outside this range come from requests with parts that were not counted, and are ignored."""

_PRIOR_TOKENS = 500  # the weight in tokens of the first factor, 1.0


class Calibrated:
    """Wraps a counter and multiplies its totals by a factor, learned from what a provider reports.

    The factor is the median of reported over expected tokens, weighted by the size of the request: one odd
    report changes nothing, and the constant overhead of a request hardly counts.

    `error` is the largest relative error of the latest totals; None before the first report.
    """

    def __init__(self, counter: Counter) -> None:
        self.counter = checked_counter(counter)
        self.factor = 1.0
        self.error: float | None = None
        self._reports: list[tuple[float, int]] = []
        self._errors: list[float] = []

    @property
    def key(self) -> str:
        """The key of the wrapped counter: its cached counts stay valid."""
        return self.counter.key

    def count(self, item: Item) -> int:
        """Tokens of one item, as the wrapped counter counts them."""
        return self.counter.count(item)

    def total(self, counted: int) -> int:
        """Tokens of a request: the total of the wrapped counter times the factor."""
        return round(self.factor * self.counter.total(counted))

    def count_tools(self, tools: Sequence[Definition]) -> int:
        """Tokens that tool definitions add to a request: the wrapped counter's count times the factor."""
        return round(self.factor * schema_tokens(tools, self.counter))

    def learn(self, counted: int, reported: int) -> None:
        """Learn from the input tokens reported for a request whose parts add up to `counted`."""
        expected = self.counter.total(whole(counted, "counted", least=1))
        factor = whole(reported, "reported", least=0) / max(1, expected)
        self._errors = [*self._errors, abs(factor / self.factor - 1)][-WINDOW:]
        self.error = max(self._errors)
        if LEAST_FACTOR <= factor <= MOST_FACTOR:
            self._reports = [*self._reports, (factor, expected)][-WINDOW:]
            self.factor = _weighted_median([(1.0, _PRIOR_TOKENS), *self._reports])


def _weighted_median(rows: Sequence[tuple[float, int]]) -> float:
    half, passed = sum(weight for _, weight in rows) / 2, 0
    for value, weight in sorted(rows):
        passed += weight
        if passed >= half:
            return value
    return 1.0
