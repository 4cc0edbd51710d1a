"""Facts of the wires, read from `rules.json`, and the sentences that writers add for the model.

A row of the table has what a provider accepts (`accepted`), its source, and the month in which the source was
read. Some rows also have what we send (`sent`), which is stricter. Writers send only `sent`; checkers report
what is outside `accepted`. Rules about order and pairing are code, in the writers and in the checkers.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from quire.items import Content, Part
from quire.providers.names import Alphabet
from quire.providers.types import HISTORY, Finish
from quire.tokens import FAILED, NO_RESULT as NO_RESULT

T = TypeVar("T")


class Rule(NamedTuple):
    """What a rule says, and its source.

    A source is a page of the provider, a public report (owner/repository#number), or the answer of the API in
    quotes. Sources were read in 2026-11. A rule without a source does not belong in the table.
    """

    text: str
    source: str


class Format(msgspec.Struct, frozen=True):
    """The ids, names or texts that a wire accepts in one place, and those that we send."""

    accepted: re.Pattern[str]
    sent: Alphabet | None = None


class StrictMode(msgspec.Struct, frozen=True):
    """What a wire accepts in the schema of a strict tool."""

    keywords: frozenset[str]
    formats: frozenset[str]
    complete: bool
    """Whether every property must be required, and a `$ref` must be the only keyword of its schema."""
    finite: bool
    """Whether recursive schemas are refused."""
    optional: int | None = None
    """The greatest number of optional properties, counted at all depths."""
    unions: int | None = None
    """The greatest number of unions: `anyOf`, or a list of types."""


_DATA = Path(__file__).with_name("rules.json").read_bytes()
_SECTIONS = msgspec.json.decode(_DATA, type=dict[str, msgspec.Raw])


def read_section(name: str, kind: type[T]) -> T:
    """A section of the table, with its patterns compiled."""
    return msgspec.json.decode(_SECTIONS[name], type=kind, dec_hook=_compiled)


def _compiled(_kind: type, pattern: Any) -> re.Pattern[str]:
    return re.compile(pattern)


_RULES = read_section("rules", dict[str, dict[str, Rule]])
_FACTS = read_section("facts", dict[str, dict[str, Any]])


def _fact(name: str, kind: type[T]) -> T:
    return msgspec.convert(_FACTS[name]["accepted"], kind, dec_hook=_compiled)


def _sent(name: str) -> Alphabet:
    sent = NAMES[name].sent
    assert sent is not None, name
    return sent


RULES: Mapping[str, Mapping[str, Rule]] = {wire: _RULES["every wire"] | _RULES[wire] for wire in HISTORY}
"""The rules of the checkers, by wire and name."""

NAMES = read_section("names", dict[str, Format])
CALL_IDS = {wire: _sent(f"{wire} call") for wire in HISTORY}
"""The call ids that we send, by wire."""
TOOL_NAMES = {wire: _sent(f"{wire} tool") for wire in HISTORY}
"""The tool names that we send, by wire."""
SPEAKER_NAMES = _sent("speaker")
PROPERTY_NAMES = _sent("anthropic property")

FINISHES = read_section("finishes", dict[str, dict[str, Finish]])
"""For each wire, its finish reasons (lower case, with underscores) as a `Finish`; any other is `other`.

Services on OpenAI's wire also pass on the reasons of other makers: Anthropic, Mistral, Zhipu.
"""
FAILURE_REASONS = _fact("FAILURE_REASONS", frozenset[str])
"""Finish reasons by which a service says that it broke off the answer."""
MODEL_FAULTS = _fact("MODEL_FAULTS", frozenset[str])
"""Gemini: finish reasons by which it says that the model failed; its calls are missing or unusable."""

OPENAI_TOOL_COUNT = _fact("OPENAI_TOOL_COUNT", int)
OPENAI_TOOL_CALL_COUNT = _fact("OPENAI_TOOL_CALL_COUNT", int)
RESPONSES_FILES = _fact("RESPONSES_FILES", dict[str, str])
"""The media types of files that the wire accepts, with a file name extension for each."""
GEMINI_MEDIA_TYPES = _fact("GEMINI_MEDIA_TYPES", frozenset[str])
GEMINI_MEDIA_IN_ANSWERS = _fact("GEMINI_MEDIA_IN_ANSWERS", frozenset[str])
GEMINI_MEDIA_NAMES = _fact("GEMINI_MEDIA_NAMES", dict[str, str])
"""Gemini's names for media types, where they differ from the usual ones."""
GEMINI_MEDIA_ENDINGS = _fact("GEMINI_MEDIA_ENDINGS", dict[str, str])
OPENAI_IMAGE_TYPES = _fact("OPENAI_IMAGE_TYPES", frozenset[str])
OPENAI_ITEM_PREFIXES = _fact("OPENAI_ITEM_PREFIXES", dict[str, str])
OPENAI_TOP_KEYWORDS = _fact("OPENAI_TOP_KEYWORDS", frozenset[str])
OPENAI_PATTERN_REFUSED = _fact("OPENAI_PATTERN_REFUSED", re.Pattern[str])
"""Finds what OpenAI refuses in a `pattern`, also in tools that are not strict; the whole request fails."""
ANTHROPIC_TOP_KEYWORDS = _fact("ANTHROPIC_TOP_KEYWORDS", frozenset[str])
ANTHROPIC_IMAGE_TYPES = _fact("ANTHROPIC_IMAGE_TYPES", tuple[str, ...])
ANTHROPIC_MEDIA_LIMITS = _fact("ANTHROPIC_MEDIA_LIMITS", dict[str, int])
"""The limits of image base64 (characters), of images in a request, and of an image's side (pixels)."""
ANTHROPIC_REQUEST_LENGTH = _fact("ANTHROPIC_REQUEST_LENGTH", dict[str, int])
ANTHROPIC_BREAKPOINTS = _fact("ANTHROPIC_BREAKPOINTS", int)
ANTHROPIC_FOREIGN_FIELDS = _fact("ANTHROPIC_FOREIGN_FIELDS", frozenset[str])
"""Fields that LangChain, the AI SDK, MCP and OpenAI add to blocks. The API refuses each of them."""
GEMINI_FUNCTION_COUNT = _fact("GEMINI_FUNCTION_COUNT", int)
NATIVE_TOOLS = {wire: _fact(f"NATIVE_TOOLS {wire}", re.Pattern[str]) for wire in HISTORY}
"""Matches the types of the provider's own tools. They may end in a date: 2025-03-11 or 20250311."""
STRUCTURAL_KEYWORDS = _fact("STRUCTURAL_KEYWORDS", frozenset[str])
"""Keywords that change which values a schema describes; all others only limit or describe the value."""
CONDITIONS = _fact("CONDITIONS", tuple[str, ...])
STRICT_MODES = read_section("strict modes", dict[str, StrictMode])
TOOL_FIELDS = read_section("tool fields", dict[str, frozenset[str]])
"""The further fields of a function, by wire: beside name, description, schema and `strict`."""

SIGNATURE_PLACEHOLDER = "skip_thought_signature_validator"
"""Gemini: sent as the signature of a part that the model did not make (docs, thought signatures)."""

BLANK_THOUGHT = " "
"""Sent in place of lost thoughts if a service refuses a message without any; empty text does not count."""


# --- sentences for the model -----------------------------------------------------------------------------

CONTINUE = "Continue."
BEGIN = "(The conversation begins.)"
UNDERSTOOD = "Understood."


def failed_text(text: str) -> str:
    """A failed result for wires without an error field: marked as failed, unless its text says so itself."""
    return text if text == NO_RESULT or text[:5].lower() == "error" else FAILED + text


def failed_parts(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """A failed result of several parts, marked as in `failed_text`."""
    if parts and isinstance(parts[0], str):
        return failed_text(parts[0]), *parts[1:]
    return FAILED, *parts


def without_failure(content: Content) -> tuple[Content, bool]:
    """A result without the mark that `failed_text` adds, and whether it had the mark."""
    first, *rest = (content,) if isinstance(content, str) else content or ("",)
    if not isinstance(first, str) or not first.startswith(FAILED):
        return content, False
    text = first.removeprefix(FAILED)
    return (text, True) if isinstance(content, str) else ((*filter(None, [text]), *rest), True)
