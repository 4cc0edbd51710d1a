"""Facts of the wires as data: alphabets and lengths of ids and names, limits, keyword sets.

Each row says what a provider accepts and, where that differs, what we send, with a source and the month in
which the source was read. Writers send within `sent`; checkers refuse what is outside `accepted`. The rules
about order and pairing are code, on both sides.
"""

import re
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from quire.items import Content, Part
from quire.providers.names import Alphabet, alphabet
from quire.providers.types import Finish
from quire.tokens import FAILED

T = TypeVar("T")


class Fact(NamedTuple, Generic[T]):
    """One fact of a wire. `sent` is None where we send whatever is accepted."""

    accepted: T
    source: str
    date: str = "2026-11"
    sent: T | None = None


# --- accepted: read by `providers.check` -----------------------------------------------------------------

_OPENAI_API = "OpenAI API reference (platform.openai.com/docs/api-reference)"
_OPENAI_STRICT = "OpenAI guide, structured outputs, supported schemas"
_CLAUDE_API = "Claude API reference (platform.claude.com/docs/en/api/messages)"
_CLAUDE_STRICT = "Claude docs, structured outputs, JSON Schema limitations"
_CLAUDE_VISION = "Claude docs, vision"

OPENAI_TOOL_NAME = {
    "openai": Fact(re.compile(r"[a-zA-Z0-9_-]{1,64}"), _OPENAI_API),
    "openai-responses": Fact(re.compile(r"[a-zA-Z0-9_-]{1,128}"), _OPENAI_API),
}
OPENAI_CALL_ID_LENGTH = Fact(64, "'Expected a string with maximum length 64', AnswerDotAI/fastllm#45")
AZURE_CALL_ID_LENGTH = Fact(40, "'Expected a string with maximum length 40', Portkey-AI/gateway#1062")
OPENAI_ITEM_ID = Fact(
    re.compile(r"[A-Za-z0-9_-]{1,64}"),
    "'Expected an ID that contains letters, numbers, underscores, or dashes'",
)
OPENAI_ITEM_PREFIXES = Fact(
    {"message": "msg", "function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs"},
    "\"Expected an ID that begins with 'fc'\", openai-agents-python#2727",
)
OPENAI_TOOL_COUNT = Fact(128, "'array too long', vishalmysore/Tools4AI#16")
OPENAI_TOOL_CALL_COUNT = Fact(128, "'array too long', gptscript-ai/gptscript#547")
OPENAI_CACHE_KEY_LENGTH = Fact(64, _OPENAI_API)
OPENAI_FIRST_BREAKPOINTS = Fact((5, 6), "OpenAI prompt caching guide; openai/codex#35300")
OPENAI_IMAGE_TYPES = Fact(
    frozenset(("image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp")),
    "OpenAI guide, images and vision",
)
OPENAI_AUDIO_FORMATS = Fact(("wav", "mp3"), _OPENAI_API)
OPENAI_TOP_KEYWORDS = Fact(
    ("oneOf", "anyOf", "allOf", "enum", "const", "not"),
    "\"schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level\"",
)
OPENAI_STRICT_REFUSED = Fact(
    (
        *("allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "default"),
        *("patternProperties", "propertyNames", "minProperties", "maxProperties", "unevaluatedProperties"),
        *("prefixItems", "contains", "minContains", "maxContains", "uniqueItems", "unevaluatedItems"),
    ),
    _OPENAI_STRICT,
)
OPENAI_STRICT_FORMATS = Fact(
    frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")),
    _OPENAI_STRICT,
)

ANTHROPIC_CALL_ID = Fact(re.compile(r"[a-zA-Z0-9_-]+"), "\"String should match pattern '^[a-zA-Z0-9_-]+$'\"")
ANTHROPIC_TOOL_NAME = Fact(re.compile(r"[a-zA-Z0-9_-]{1,128}"), _CLAUDE_API)
ANTHROPIC_PROPERTY_NAME = Fact(
    re.compile(r"[a-zA-Z0-9_.-]{1,64}"), "\"Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'\""
)
ANTHROPIC_TOP_KEYWORDS = Fact(
    ("oneOf", "allOf", "anyOf"), "'input_schema does not support oneOf, allOf, or anyOf at the top level'"
)
ANTHROPIC_IMAGE_TYPES = Fact(("image/jpeg", "image/png", "image/gif", "image/webp"), _CLAUDE_VISION)
ANTHROPIC_IMAGE_LENGTH = Fact({"": 10 * 1024 * 1024, "cloud": 5 * 1024 * 1024}, _CLAUDE_VISION)
"""Characters of one image in base64, on Anthropic's own API and on Bedrock and Vertex AI."""
ANTHROPIC_IMAGE_COUNT = Fact(600, _CLAUDE_VISION)
ANTHROPIC_IMAGE_SIDE = Fact(8000, _CLAUDE_VISION)
ANTHROPIC_MANY_IMAGES = Fact(20, _CLAUDE_VISION)
ANTHROPIC_MANY_IMAGES_SIDE = Fact(2000, _CLAUDE_VISION)
ANTHROPIC_REQUEST_MEGABYTES = Fact(
    {None: 32, "vertex": 30, "bedrock": 20}, "Claude API overview, request size limits"
)
ANTHROPIC_BREAKPOINTS = Fact(4, "'A maximum of 4 blocks with cache_control may be provided'")
ANTHROPIC_CACHE_LIFETIMES = Fact(("5m", "1h"), "Claude docs, prompt caching")
ANTHROPIC_STRICT_REFUSED = Fact(
    (
        *(
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "minLength",
            "maxLength",
        ),
        *("maxItems", "uniqueItems", "minProperties", "maxProperties", "patternProperties", "oneOf", "not"),
        *("propertyNames", "dependentRequired", "dependentSchemas", "unevaluatedProperties", "prefixItems"),
        *("if", "then", "else", "contains", "minContains", "maxContains", "unevaluatedItems"),
    ),
    _CLAUDE_STRICT,
)
ANTHROPIC_STRICT_FORMATS = Fact(
    frozenset(("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")),
    _CLAUDE_STRICT,
)
ANTHROPIC_STRICT_COUNTS = Fact(
    {"strict tools": 20, "optional parameters": 24, "union types": 16}, _CLAUDE_STRICT
)
ANTHROPIC_UNSTRICT_ON_BEDROCK = Fact(
    re.compile(r"claude-(opus-4-[78]|sonnet-5)(?!\d)"), "vercel/ai#16121, litellm#31582, litellm#33193"
)
ANTHROPIC_FOREIGN_FIELDS = Fact(
    frozenset(
        (
            *(
                "index",
                "partial_json",
                "annotations",
                "_meta",
                "extras",
                "prompt_cache_breakpoint",
                "logprobs",
            ),
            *("providerOptions", "providerMetadata", "experimental_providerMetadata", "obfuscation"),
        )
    ),
    "'Extra inputs are not permitted', langchain-ai/langchain#31208, #39100",
)
"""Fields that LangChain, the AI SDK, MCP and OpenAI add to blocks, each of which the API refuses."""
ANTHROPIC_OPENAI_FIELDS = Fact(
    frozenset(
        (
            *(
                "response_format",
                "n",
                "seed",
                "stop",
                "user",
                "store",
                "logprobs",
                "top_logprobs",
                "logit_bias",
            ),
            *("frequency_penalty", "presence_penalty", "max_completion_tokens", "parallel_tool_calls"),
            *("functions", "function_call", "tool_calls", "reasoning_effort", "stream_options"),
            "prompt_cache_key",
        )
    ),
    "'Extra inputs are not permitted'",
)

GEMINI_FUNCTION_NAME = Fact(
    re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}"), "ai.google.dev/api/caching#FunctionDeclaration"
)
GEMINI_FUNCTION_COUNT = Fact(512, "'at most 512 function declarations can be specified', Vertex AI docs")


class Service(NamedTuple):
    """What a service of another maker than OpenAI refuses on OpenAI's wire."""

    models: re.Pattern[str]
    """Matches the names of its models, in small letters."""
    source: str
    call_id: re.Pattern[str] | None = None
    assistant_after_tool: bool = False
    """Whether an assistant message follows a result, and is not the last message."""
    instructions_first: bool = False
    """Whether there is one message of instructions, at the start, and another message after it."""
    nameless: tuple[str, ...] = ()
    """Roles whose messages have no name of an author."""
    text_only: tuple[str, ...] = ()
    """Roles whose content is a string, never a list of parts."""
    thinking: str = ""
    """Which messages carry their thinking: `calls`, or `every answer` of a request with tools."""
    signatures: bool = False
    """Whether the first call of each message since the user's last carries a thought signature."""


_ALL_ROLES = ("system", "developer", "user", "assistant", "tool")
_BEFORE = r"(?:^|[/:.])"

SERVICES: tuple[Service, ...] = (
    Service(
        re.compile(
            _BEFORE
            + r"(?:open-|labs-)?(?:mistral|ministral|magistral|mixtral|mathstral|voxtral|codestral|devstral"
            r"|leanstral|pixtral)(?=[-\d]|$)"
        ),
        "langchain-ai/langchain#24668 (ids); NousResearch/hermes-agent#20154, 0xPlaygrounds/rig#1130 (order)",
        call_id=re.compile(r"[a-zA-Z0-9]{9}"),
        assistant_after_tool=True,
        instructions_first=True,
        nameless=_ALL_ROLES,
    ),
    Service(re.compile(_BEFORE + r"(?:qwen|qwq|qvq)"), "vllm-project/vllm#41114", instructions_first=True),
    Service(
        re.compile(r"(?:^|[/:])groq[/:]"),
        "OpenHands/OpenHands#4643",
        text_only=("system", "developer"),
    ),
    Service(
        re.compile(_BEFORE + r"grok"),
        "BerriAI/litellm#9720",
        nameless=("system", "developer", "assistant", "tool"),
    ),
    Service(re.compile(_BEFORE + r"deepseek-"), "BerriAI/litellm#6642", text_only=("assistant", "tool")),
    Service(
        re.compile(_BEFORE + r"deepseek-(?:flash|pro|v[4-9])"),
        "api-docs.deepseek.com/guides/thinking_mode; charmbracelet/crush#2696",
        thinking="every answer",
    ),
    Service(
        re.compile(
            _BEFORE
            + r"(?:deepseek-reasoner|kimi-k2-thinking|kimi-for-coding|kimi-k2\.[5-9]|kimi-k[3-9]|mimo-v[2-9])"
        ),
        "bytedance/deer-flow#3043 (Kimi), VicBilibily/GCMP#171 (MiMo), abhigyanpatwari/GitNexus#43",
        thinking="calls",
    ),
    Service(
        re.compile(r"gemini-(?:(?:[3-9]|[1-9]\d)(?!\d)|(?:flash|flash-lite|pro)-latest)(?!.*image)"),
        "ai.google.dev/gemini-api/docs/thought-signatures (OpenAI compatibility)",
        signatures=True,
    ),
)


# --- sent: read by the writers ---------------------------------------------------------------------------

CALL_IDS = {
    "openai": alphabet(40),  # Azure and others on this wire take no more, AZURE_CALL_ID_LENGTH
    "openai-responses": alphabet(64),
    "anthropic": alphabet(64),
    "gemini": alphabet(64),
}
"""The ids that we give calls, by wire."""

TOOL_NAMES = {
    "openai": alphabet(64),
    "openai-responses": alphabet(64),
    "anthropic": alphabet(128),
    "gemini": Alphabet(re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"), 64),
}
"""The names that we give tools, by wire."""

SPEAKER_NAMES = Alphabet(re.compile(r"[^\s<|\\/>]+"), 64)
"""The names of speakers that OpenAI takes: \"string does not match pattern '^[^\\s<|\\\\/>]+$'\"."""

SIGNATURE_PLACEHOLDER = "skip_thought_signature_validator"
"""Gemini: stands for the signature of a part that the model did not make (docs, thought signatures)."""

BLANK_THOUGHT = " "
"""Stands for thoughts that are gone, where a service refuses a message without; an empty text is none."""


# --- sentences for the model -----------------------------------------------------------------------------

NO_RESULT = "No result: the call was interrupted."
CONTINUE = "Continue."
BEGIN = "(The conversation begins.)"
UNDERSTOOD = "Understood."
FROM_ASSISTANT = "[from the assistant]"


def tagged_instructions(text: str) -> str:
    """Instructions in the middle, for a wire that has them at the start only."""
    return f"<instructions>\n{text}\n</instructions>"


def from_tool(name: str) -> str:
    """The heading of media that a tool gave and that had to be moved."""
    return f"[from {name}]"


def failed_text(text: str) -> str:
    """The result of a failed call on a wire without a field for it; a text that says so itself stays."""
    return text if text == NO_RESULT or text[:5].lower() == "error" else FAILED + text


def failed_parts(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The same for a result of several parts."""
    if parts and isinstance(parts[0], str):
        return failed_text(parts[0]), *parts[1:]
    return FAILED, *parts


def without_failure(content: Content) -> tuple[Content, bool]:
    """A result without the mark of failure, and whether it had one; rendered again it is the same."""
    parts = (content,) if isinstance(content, str) else content
    if not parts or not isinstance(parts[0], str) or not parts[0].startswith(FAILED):
        return content, False
    rest = parts[0].removeprefix(FAILED)
    if isinstance(content, str):
        return (rest if rest and failed_text(rest) == content else content), True
    bare = (rest, *parts[1:]) if rest else parts[1:]
    return (bare if failed_parts(bare) == content else content), True


# --- read: why an answer ended ---------------------------------------------------------------------------

_DONE = ("stop", "eos", "eos_token", "stop_sequence", "end_turn", "complete", "completed", "normal")
_CALLED = ("tool_calls", "tool_call", "tool_use", "function_call")
_FULL = ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded")
_GEMINI_REFUSALS = (
    *("safety", "recitation", "blocklist", "prohibited_content", "spii", "language", "model_armor"),
    *("image_safety", "image_prohibited_content", "image_recitation"),
)

FINISHES: dict[str, dict[str, Finish]] = {
    "openai": {
        **dict.fromkeys(_DONE, "stop"),
        **dict.fromkeys(_CALLED, "calls"),
        **dict.fromkeys(_FULL, "length"),
        **dict.fromkeys(("content_filter", "refusal", "sensitive", "safety"), "refused"),
    },
    "openai-responses": {
        "completed": "stop",
        "max_output_tokens": "length",
        "content_filter": "refused",
    },
    "anthropic": {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "tool_use": "calls",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "refusal": "refused",
        "pause_turn": "paused",
    },
    "gemini": {
        "stop": "stop",
        "max_tokens": "length",
        "continuation": "length",
        **dict.fromkeys(_GEMINI_REFUSALS, "refused"),
    },
}
"""Why a model stopped, by wire, in small letters with underscores; any other reason is `other`.

Services on OpenAI's wire also hand on the reasons of others: Anthropic's, Mistral's, Zhipu's.
"""

FAILURE_REASONS = frozenset(
    (
        *("error", "error_finish", "network_error", "server_error", "internal_error", "upstream_error"),
        *("insufficient_system_resource", "abort", "aborted", "timeout", "failed"),
    )
)
"""Reasons that say that the service broke off the answer (DeepSeek, Zhipu, OpenRouter, vLLM)."""

MODEL_FAULTS = frozenset(
    (
        *("malformed_function_call", "unexpected_tool_call", "too_many_tool_calls"),
        *("missing_thought_signature", "malformed_response"),
    )
)
"""Gemini: reasons that say that the model failed; its calls are then not there, or not usable."""


# --- sent: tools and their schemas -----------------------------------------------------------------------

SCHEMA_COUNTS = (
    *("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"),
    *("minContains", "maxContains"),
)

SCHEMA_LIMITS = (
    *("type", "enum", "const", "$ref", "required", "pattern", "format", "dependentRequired", "uniqueItems"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
)

GOOGLE_KEYWORDS = {
    **{"any_of": "anyOf", "one_of": "oneOf", "all_of": "allOf", "prefix_items": "prefixItems"},
    **{"min_items": "minItems", "max_items": "maxItems", "min_length": "minLength"},
    **{"max_length": "maxLength", "min_properties": "minProperties", "max_properties": "maxProperties"},
    **{"additional_properties": "additionalProperties", "property_ordering": "propertyOrdering"},
    **{"defs": "$defs", "ref": "$ref"},
}
"""The spelling of google-genai's `Schema`, and that of JSON Schema."""

STRUCTURAL_KEYWORDS = frozenset(
    (
        *("allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"),
        *("patternProperties", "propertyNames", "unevaluatedProperties"),
        *("prefixItems", "contains", "unevaluatedItems"),
    )
)
"""Keywords without which a schema means another value; the others limit or describe one."""

CONDITIONS = ("if", "then", "else", "dependencies", "dependentRequired", "dependentSchemas")

OPENAI_PATTERN_REFUSED = Fact(
    re.compile(r"\(\?[=!<]|\\[pP]\{"),
    "'regex lookaround is not supported', vercel/ai#21037 (zod's email), anomalyco/opencode#32073; "
    "\"is not a 'regex'\" for what Python does not compile",
)
"""Finds what OpenAI refuses in patterns, and a whole request with it, whether a tool is strict or not."""

ANTHROPIC_STRICT_KEYWORDS = Fact(
    frozenset(
        (
            *("type", "properties", "required", "additionalProperties", "items", "minItems", "enum", "const"),
            *("anyOf", "allOf", "$ref", "$defs", "definitions", "pattern", "format", "default"),
            *("title", "description", "examples", "$comment", "deprecated"),
        )
    ),
    _CLAUDE_STRICT,
)
ANTHROPIC_STRICT_PATTERN_REFUSED = Fact(re.compile(r"\(\?|\\[bB1-9kpP]"), _CLAUDE_STRICT)
"""Finds what patterns of strict tools may not have: lookaround, backreferences, ends of words."""


def _looks_around(key: str, value: Any) -> bool:
    return key == "pattern" and OPENAI_PATTERN_REFUSED.accepted.search(value) is not None


def _not_in_openai(key: str, value: Any) -> bool:
    if key == "format":
        return value not in OPENAI_STRICT_FORMATS.accepted
    is_limit = key in OPENAI_STRICT_REFUSED.accepted and key not in STRUCTURAL_KEYWORDS
    return is_limit or _looks_around(key, value)


def _not_in_anthropic(key: str, value: Any) -> bool:
    if key == "format":
        return value not in ANTHROPIC_STRICT_FORMATS.accepted
    if key == "pattern":
        return ANTHROPIC_STRICT_PATTERN_REFUSED.accepted.search(value) is not None
    is_refused = key not in ANTHROPIC_STRICT_KEYWORDS.accepted and key not in STRUCTURAL_KEYWORDS
    return is_refused or (key == "minItems" and value > 1)


SCHEMA_REFUSED: dict[str, Callable[[str, Any], bool]] = {
    "openai": _looks_around,
    "anthropic": lambda key, value: False,
}
"""Whether a wire refuses a keyword in every schema, where removing it loosens the schema and no more."""
STRICT_REFUSED: dict[str, Callable[[str, Any], bool]] = {
    "openai": _not_in_openai,
    "anthropic": _not_in_anthropic,
}
"""The same for schemas of strict tools."""

PROPERTY_NAMES = Alphabet(ANTHROPIC_PROPERTY_NAME.accepted, 64)

TOOL_FIELDS: dict[str, dict[str, type]] = {
    "openai": {},
    "openai-responses": {
        **{"defer_loading": bool, "allowed_callers": list, "async": bool, "output_schema": dict},
    },
    "anthropic": {
        **{"defer_loading": bool, "eager_input_streaming": bool, "cache_control": dict},
        **{"input_examples": list, "allowed_callers": list},
    },
    "gemini": {"behavior": str, "response": dict, "response_json_schema": dict},
}
"""What a function may have beside its name, description, schema and strictness, by wire."""

CACHE_MARKS = (
    {"type": "ephemeral"},
    *({"type": "ephemeral", "ttl": lifetime} for lifetime in ANTHROPIC_CACHE_LIFETIMES.accepted),
)

ANTHROPIC_FIELDS_NOT_ON_CLOUDS = Fact(
    frozenset(("eager_input_streaming", "allowed_callers")),
    "'Extra inputs are not permitted' (Bedrock, Vertex AI); no cloud runs code that could call a tool",
)
OPENAI_TOOLS = {
    "openai": Fact(re.compile("custom"), _OPENAI_API),
    "openai-responses": Fact(
        re.compile(
            r"apply_patch|code_interpreter|computer|custom|file_search|function|image_generation|local_shell"
            r"|mcp|namespace|shell|programmatic_tool_calling|tool_search"
            r"|(?:web_search|computer_use)(?!.*_\d{8}$)(?:_.*)?"
        ),
        _OPENAI_API,
    ),
}
"""The types of OpenAI's own tools; some end in a date in pieces, Anthropic's in eight digits."""
ANTHROPIC_TOOLS = Fact(
    re.compile(r"[a-z][a-z0-9_]*_\d{8}|mcp_toolset|tool_search_tool_(?:regex|bm25)"), _CLAUDE_API
)
ANTHROPIC_TOOLS_NOT_ON_CLOUDS = Fact(
    {
        "bedrock": re.compile(r"(?:web_search|web_fetch|code_execution|advisor)_\d{8}|mcp_toolset"),
        "vertex": re.compile(r"(?:web_fetch|code_execution|advisor)_\d{8}|mcp_toolset"),
    },
    "Claude docs, features overview, availability by platform",
)
"""The types of tools that run on Anthropic's servers, and that are refused where a cloud serves the model."""
GEMINI_TOOLS = Fact(
    frozenset(
        (
            *("googlesearch", "googlesearchretrieval", "googlemaps", "enterprisewebsearch"),
            *("parallelaisearch", "codeexecution", "urlcontext", "computeruse", "filesearch"),
            *("retrieval", "mcpservers"),
        )
    ),
    "ai.google.dev/api/caching#Tool; Vertex AI, REST reference, Tool",
)
"""The fields of Gemini's own tools, in small letters without underscores."""
