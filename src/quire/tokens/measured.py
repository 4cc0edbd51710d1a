"""A counter made of three parts: a measure of text, the framing of a provider, and its costs of media."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar, assert_never

from quire.errors import InvalidLimit, InvalidValue, WrongType
from quire.items import (
    KINDS,
    Audio,
    ConfigChange,
    Content,
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
)
from quire.tokens.counter import Definition
from quire.tokens.estimating import estimate
from quire.tokens.exact import exact
from quire.tokens.framing import FRAMINGS, Framing
from quire.tokens.keys import key_of
from quire.tokens.media import MEDIA, Media, media_tokens
from quire.tokens.numbers import count_of, named, number
from quire.tokens.schemas import definition_tokens, single_definitions
from quire.tokens.spoken import FAILED, NO_OUTPUT, in_file, noted, summarized
from quire.tokens.text_files import is_text

T = TypeVar("T")


class Measured:
    """Counts items by measuring their text.

    Counted are the words and media of messages and tool results, names and arguments of calls, the text of
    reasoning, summaries, handoffs and changes of configuration, and of a note its description and content (as
    JSON where it is no text). State that only its own model can read, edits that change what is shown, and
    kinds from a newer version count nothing.
    """

    def __init__(
        self, key: str, measure: Callable[[str], int], framing: str | Framing, media: str | Media
    ) -> None:
        if not callable(measure):
            raise WrongType(f"a measure is a function of text, not {type(measure).__name__}")
        self.framing = _framing(framing)
        self.media = _media(media)
        self.key = f"{named(key, 'the key of a counter')}/{key_of(self.framing)}/{key_of(self.media)}"
        self._measure = measure

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.key!r})"

    def text(self, text: str) -> int:
        """Tokens of a bare text."""
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise WrongType(f"a counter measures text, not {type(text).__name__}")
        return self._text(text)

    def count(self, item: Item) -> int:
        """Tokens of one item with its framing."""
        if type(item) not in KINDS:
            raise WrongType(f"a counter counts items, not {type(item).__name__}")
        return self._framed(item)

    def _framed(self, item: Item) -> int:
        framing = self.framing
        match item:
            case Message():
                return framing.message + self._content(item.content)
            case ToolCall():
                return framing.call + self._text(item.name) + self._text(item.arguments)
            case ToolResult():
                said = self._content(item.content) or self._text(NO_OUTPUT)
                return framing.result + said + (self._text(FAILED) if item.is_error else 0)
            case Reasoning():
                return self._text(item.text)
            case Summary():
                return framing.message + self._text(summarized(item.text))
            case Handoff():
                words = (item.from_agent or "", item.to_agent, item.reason or "")
                return framing.message + sum(map(self._text, words))
            case ConfigChange():
                return (
                    framing.message
                    + self._text(item.instructions or "")
                    + sum(map(self._text, item.tools or ()))
                )
            case Note():
                return framing.message + self._text(noted(item))
            case Mask() | Hide() | Pin() | Undo() | Unknown():
                return 0
            case _:
                assert_never(item)

    def total(self, counted: int) -> int:
        """Tokens of a request: what its items count and what every request adds."""
        return count_of(counted, "counted") + self.framing.request

    def count_tools(self, tools: Sequence[Definition]) -> int:
        """Tokens that tool definitions add to a request."""
        framing, several = self.framing, single_definitions(tools)
        if not several:
            return 0
        return framing.tools + sum(
            framing.tool + definition_tokens(tool, self._text, framing.typed) for tool in several
        )

    def _text(self, text: str) -> int:
        # What items hold was checked when they were made, and is not checked again.
        return count_of(self._measure(text), "what the measure of a counter gives") if text else 0

    def _content(self, content: Content) -> int:
        if isinstance(content, str):
            return self._text(content)
        return sum(map(self._part, content))

    def _part(self, part: Part) -> int:
        match part:
            case str():
                return self._text(part)
            case Audio() if self.media.second is None:
                return self._text(part.transcript or "")
            case File() if part.data is not None and _is_text(part, part.data):
                return self._text(in_file(part.name, part.data.decode("utf-8", "replace")))
            case Image() | Audio() | File():
                return media_tokens(part, self.media)
            case _:
                assert_never(part)


class Exact(Measured):
    """Counts exactly, by the tokenizer of an encoding."""

    def __init__(
        self,
        encoding: str = "o200k_base",
        *,
        framing: str | Framing = "openai",
        media: str | Media = "gpt-4o",
    ) -> None:
        super().__init__(encoding, exact(encoding), framing, media)


class Estimate(Measured):
    """Counts by an estimate of o200k, times `scale` for a family whose tokens are shorter or longer."""

    def __init__(
        self, scale: float = 1.0, *, framing: str | Framing = "plain", media: str | Media = "claude"
    ) -> None:
        number(scale, "the scale of an estimate", least=0)
        measure = estimate if scale == 1 else _scaled(scale)
        # Not rounded, or else two scales would share their counts; 1 and 1.0 are one scale.
        written = repr(float(scale)).removesuffix(".0")
        super().__init__(f"estimate-3x{written}", measure, framing, media)


def _is_text(file: File, data: bytes) -> bool:
    return is_text((file.media_type or "").partition(";")[0].strip().lower(), file.name, data)


def _framing(given: str | Framing) -> Framing:
    return given if isinstance(given, Framing) else _row(given, FRAMINGS, "framing")


def _media(given: str | Media) -> Media:
    return given if isinstance(given, Media) else _row(given, MEDIA, "media costs")


def _row(name: str, table: Mapping[str, T], what: str) -> T:
    if named(name, f"the name of {what}") not in table:
        raise InvalidValue(f"no {what} {name!r}; there are {', '.join(table)}")
    return table[name]


def _scaled(scale: float) -> Callable[[str], int]:
    if not 0 < scale < 100:
        raise InvalidLimit("the scale of an estimate must be above zero, and below a hundred")
    return partial(_times, scale)


def _times(scale: float, text: str) -> int:
    return max(1, round(scale * estimate(text)))
