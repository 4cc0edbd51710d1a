"""How it is spoken: four wires, each a pure two-way codec, and what they would refuse."""

from quire.errors import InvalidValue, WrongType, cut
from quire.providers.anthropic import Anthropic
from quire.providers.caching import CachePlan
from quire.providers.changed_names import Changed as Changed
from quire.providers.check import (
    RULES,
    Rule as Rule,
    assert_valid_anthropic,
    assert_valid_gemini,
    assert_valid_openai,
    assert_valid_openai_responses,
    check,
)
from quire.providers.check.schema import schema_errors as schema_errors
from quire.providers.downgrades import HARMLESS as HARMLESS, Downgrade
from quire.providers.gemini import Gemini
from quire.providers.gemini.signing import sealed as sealed
from quire.providers.json_values import (
    entries_in as entries_in,
    exact_copy as exact_copy,
    json_text as json_text,
    nests_deeper as nests_deeper,
)
from quire.providers.media import (
    base64_of as base64_of,
    data_address as data_address,
    media_type as media_type,
)
from quire.providers.openai_chat import OpenAIChat
from quire.providers.openai_chat.breakpoints import without_breakpoints as without_breakpoints
from quire.providers.openai_chat.events import told_by as told_by
from quire.providers.openai_responses import OpenAIResponses
from quire.providers.provider import (
    Finish as Finish,
    Parsed,
    Provider,
    StreamReader,
    plain_json as plain_json,
)
from quire.providers.rendering import Rendered
from quire.providers.routes import cloud_of as cloud_of
from quire.providers.schema import (
    KEYWORDS as KEYWORDS,
    StrictBudget as StrictBudget,
    is_open as is_open,
    is_plain_object as is_plain_object,
    is_recursive as is_recursive,
    read_schema as read_schema,
    strict_schema as strict_schema,
    subschemas as subschemas,
    wire_schema as wire_schema,
)
from quire.providers.tools import Tool as Tool, read_tools as read_tools
from quire.providers.types import HISTORY as HISTORY, Fault
from quire.providers.wording import (
    NO_RESULT as NO_RESULT,
    described as described,
    mended as mended,
    said as said,
)

__all__ = [
    "PROVIDERS",
    "RULES",
    "Anthropic",
    "CachePlan",
    "Downgrade",
    "Fault",
    "Gemini",
    "OpenAIChat",
    "OpenAIResponses",
    "Parsed",
    "Provider",
    "Rendered",
    "StreamReader",
    "assert_valid_anthropic",
    "assert_valid_gemini",
    "assert_valid_openai",
    "assert_valid_openai_responses",
    "check",
    "provider_for",
]

PROVIDERS: dict[str, Provider] = {
    provider.name: provider for provider in (OpenAIChat(), OpenAIResponses(), Anthropic(), Gemini())
}
"""The wires by name. A new one is added here, and every law of speaking runs on it."""


def provider_for(name: str | Provider) -> Provider:
    """The wire of this name; one that was made already is given back."""
    if not isinstance(name, str):
        if not callable(getattr(name, "render", None)):
            raise WrongType(f"a provider is named by a text, or can `render`: not {type(name).__name__}")
        return name
    if name not in PROVIDERS:
        raise InvalidValue(f"no provider {cut(name)!r}; there are {', '.join(PROVIDERS)}")
    return PROVIDERS[name]
