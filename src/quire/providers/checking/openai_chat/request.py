"""A request to OpenAI's Chat Completions as a whole."""

from collections.abc import Mapping, Sequence
from typing import Any

from quire.providers.checking.faults import Fault, Findings
from quire.providers.checking.openai_chat.caching import check_breakpoints
from quire.providers.checking.openai_chat.messages import check_messages
from quire.providers.checking.openai_chat.naming import check_cache_key
from quire.providers.checking.openai_chat.rules import RULES
from quire.providers.checking.openai_chat.services import check_service
from quire.providers.checking.openai_chat.tools import check_tools
from quire.providers.checking.reading import Fields, as_list, as_object, in_order, type_of
from quire.providers.checking.texts import check_texts


def check(payload: Mapping[str, Any] | Sequence[Any], model: str | None = None) -> list[Fault]:
    """What the Chat Completions would refuse or misread in a request, or in a bare list of messages."""
    findings = Findings(RULES)
    request = as_object(payload) if as_list(payload) is None else {"messages": payload}
    if request is None:
        findings.add("payload", "shape", f"must be an object or a list of messages, is {type_of(payload)}")
        return findings.faults
    body = Fields(findings, "", request)
    named = body.optional_text("model")
    check_messages(body, model or named)
    check_tools(body)
    check_cache_key(body)
    check_breakpoints(body, "messages", model or named)
    check_service(body, model or named)
    check_texts(findings, request)
    return in_order(findings.faults)
