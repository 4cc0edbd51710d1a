"""The request and response formats of providers, and the rules that their requests must follow.

A wire is one provider's request and response format (JSON). Use `provider_for("anthropic")` or
`PROVIDERS["anthropic"]`.
"""

from quire.providers.check import RULES, Rule as Rule, assert_valid, check
from quire.providers.check.schema import (
    KEYWORDS as KEYWORDS,
    schema_errors as schema_errors,
    subschemas as subschemas,
)
from quire.providers.draft import content_for_model as content_for_model
from quire.providers.importers import strict_messages as strict_messages
from quire.providers.media import base64_of as base64_of, media_type as media_type
from quire.providers.names import may_be_renamed as may_be_renamed
from quire.providers.openai_chat.read import chunk_of as chunk_of
from quire.providers.pairs import Pairing as Pairing
from quire.providers.parts import read_part as read_part
from quire.providers.profiles import cloud_of as cloud_of
from quire.providers.rules import (
    BEGIN as BEGIN,
    CONTINUE as CONTINUE,
    NO_RESULT as NO_RESULT,
    OPENAI_ITEM_PREFIXES as OPENAI_ITEM_PREFIXES,
)
from quire.providers.schema import (
    is_open as is_open,
    is_plain_object as is_plain_object,
    is_recursive as is_recursive,
    read_schema as read_schema,
    schema_for as schema_for,
)
from quire.providers.state import ANY_MODEL as ANY_MODEL, pack as pack, unpack as unpack
from quire.providers.stream import NO_NAME as NO_NAME, usage_from as usage_from
from quire.providers.tools import Tool as Tool, read_tools as read_tools
from quire.providers.types import (
    FOUND_TOOLS as FOUND_TOOLS,
    HARMLESS as HARMLESS,
    HISTORY as HISTORY,
    CachePlan,
    Downgrade,
    Fault,
    Finish as Finish,
    Parsed,
    Provider,
    Rendered,
    StreamReader,
)
from quire.providers.values import (
    entries_in as entries_in,
    exact_copy as exact_copy,
    fields_in as fields_in,
    json_text as json_text,
    nests_deeper as nests_deeper,
    object_in as object_in,
    plain_json as plain_json,
    text_in as text_in,
)
from quire.providers.wire import PROVIDERS, provider_for

__all__ = [
    "PROVIDERS",
    "RULES",
    "CachePlan",
    "Downgrade",
    "Fault",
    "Parsed",
    "Provider",
    "Rendered",
    "StreamReader",
    "assert_valid",
    "check",
    "provider_for",
]
