"""Facts of the wires, read from `rules.json`, and the sentences that writers add for the model.

A row of the table says what a provider accepts and, where that differs, what we send, with a source and the
month in which the source was read. Writers send within `sent`; checkers refuse what is outside `accepted`.
The rules about order and pairing are code, on both sides.
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


class Letters(msgspec.Struct, frozen=True):
    """The ids, names or texts of a kind that a wire accepts, and those that we send."""

    accepted: re.Pattern[str]
    sent: Alphabet | None = None


class StrictMode(msgspec.Struct, frozen=True):
    """What a schema may have in the strict mode of a wire."""

    keywords: frozenset[str]
    formats: frozenset[str]
    complete: bool
    """Whether all properties are required, and a `$ref` has no keyword beside it."""
    finite: bool
    """Whether recursive schemas are refused."""
    optional: int | None = None
    """The most optional properties of a schema, at all depths together."""
    unions: int | None = None
    """The most unions, `anyOf` and lists of types."""


_DATA = Path(__file__).with_name("rules.json").read_bytes()
_SECTIONS = msgspec.json.decode(_DATA, type=dict[str, msgspec.Raw])


def read_section(name: str, kind: type[T]) -> T:
    """A section of the table; patterns in it are compiled."""
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

NAMES = read_section("names", dict[str, Letters])
CALL_IDS = {wire: _sent(f"{wire} call") for wire in HISTORY}
"""The ids that we give calls, by wire."""
TOOL_NAMES = {wire: _sent(f"{wire} tool") for wire in HISTORY}
"""The names that we give tools, by wire."""
SPEAKER_NAMES = _sent("speaker")
PROPERTY_NAMES = _sent("anthropic property")

FINISHES = read_section("finishes", dict[str, dict[str, Finish]])
"""Why a model stopped, by wire, in small letters with underscores; any other reason is `other`.

Services on OpenAI's wire also hand on the reasons of others: Anthropic's, Mistral's, Zhipu's.
"""
FAILURE_REASONS = _fact("FAILURE_REASONS", frozenset[str])
"""Reasons that say that the service broke off the answer."""
MODEL_FAULTS = _fact("MODEL_FAULTS", frozenset[str])
"""Gemini: reasons that say that the model failed; its calls are then not there, or not usable."""

OPENAI_TOOL_COUNT = _fact("OPENAI_TOOL_COUNT", int)
OPENAI_TOOL_CALL_COUNT = _fact("OPENAI_TOOL_CALL_COUNT", int)
RESPONSES_FILES = _fact("RESPONSES_FILES", dict[str, str])
"""The types of files that the wire takes, and an ending of a name for each."""
GEMINI_MEDIA_TYPES = _fact("GEMINI_MEDIA_TYPES", frozenset[str])
GEMINI_MEDIA_IN_ANSWERS = _fact("GEMINI_MEDIA_IN_ANSWERS", frozenset[str])
GEMINI_MEDIA_NAMES = _fact("GEMINI_MEDIA_NAMES", dict[str, str])
"""Names of media types that differ from the usual ones."""
GEMINI_MEDIA_ENDINGS = _fact("GEMINI_MEDIA_ENDINGS", dict[str, str])
OPENAI_IMAGE_TYPES = _fact("OPENAI_IMAGE_TYPES", frozenset[str])
OPENAI_ITEM_PREFIXES = _fact("OPENAI_ITEM_PREFIXES", dict[str, str])
OPENAI_TOP_KEYWORDS = _fact("OPENAI_TOP_KEYWORDS", frozenset[str])
OPENAI_PATTERN_REFUSED = _fact("OPENAI_PATTERN_REFUSED", re.Pattern[str])
"""Finds what OpenAI refuses in patterns, and a whole request with it, whether a tool is strict or not."""
ANTHROPIC_TOP_KEYWORDS = _fact("ANTHROPIC_TOP_KEYWORDS", frozenset[str])
ANTHROPIC_IMAGE_TYPES = _fact("ANTHROPIC_IMAGE_TYPES", tuple[str, ...])
ANTHROPIC_MEDIA_LIMITS = _fact("ANTHROPIC_MEDIA_LIMITS", dict[str, int])
"""Characters of an image in base64, images of a request, and pixels of a side."""
ANTHROPIC_REQUEST_LENGTH = _fact("ANTHROPIC_REQUEST_LENGTH", dict[str, int])
ANTHROPIC_BREAKPOINTS = _fact("ANTHROPIC_BREAKPOINTS", int)
ANTHROPIC_FOREIGN_FIELDS = _fact("ANTHROPIC_FOREIGN_FIELDS", frozenset[str])
"""Fields that LangChain, the AI SDK, MCP and OpenAI add to blocks, each of which the API refuses."""
GEMINI_FUNCTION_COUNT = _fact("GEMINI_FUNCTION_COUNT", int)
NATIVE_TOOLS = {wire: _fact(f"NATIVE_TOOLS {wire}", re.Pattern[str]) for wire in HISTORY}
"""The types of own tools; a date at the end is in pieces at OpenAI, in eight digits at Anthropic."""
STRUCTURAL_KEYWORDS = _fact("STRUCTURAL_KEYWORDS", frozenset[str])
"""Keywords without which a schema means another value; the others limit or describe one."""
CONDITIONS = _fact("CONDITIONS", tuple[str, ...])
STRICT_MODES = read_section("strict modes", dict[str, StrictMode])
TOOL_FIELDS = read_section("tool fields", dict[str, frozenset[str]])
"""What a function may have beside its name, description, schema and strictness, by wire."""

SIGNATURE_PLACEHOLDER = "skip_thought_signature_validator"
"""Gemini: stands for the signature of a part that the model did not make (docs, thought signatures)."""

BLANK_THOUGHT = " "
"""Stands for thoughts that are gone, where a service refuses a message without; an empty text is none."""


# --- sentences for the model -----------------------------------------------------------------------------

CONTINUE = "Continue."
BEGIN = "(The conversation begins.)"
UNDERSTOOD = "Understood."


def failed_text(text: str) -> str:
    """The result of a failed call on a wire without a field for it; a text that says so itself stays."""
    return text if text == NO_RESULT or text[:5].lower() == "error" else FAILED + text


def failed_parts(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The same for a result of several parts."""
    if parts and isinstance(parts[0], str):
        return failed_text(parts[0]), *parts[1:]
    return FAILED, *parts


def without_failure(content: Content) -> tuple[Content, bool]:
    """A result without the mark of failure, and whether it had one."""
    first, *rest = (content,) if isinstance(content, str) else content or ("",)
    if not isinstance(first, str) or not first.startswith(FAILED):
        return content, False
    text = first.removeprefix(FAILED)
    return (text, True) if isinstance(content, str) else ((*filter(None, [text]), *rest), True)
