"""A request to OpenAI's Responses as a whole."""

from collections.abc import Mapping, Sequence
from typing import Any

from quire.providers.checking.faults import Fault, Findings
from quire.providers.checking.openai_chat.caching import check_breakpoints
from quire.providers.checking.openai_chat.naming import check_cache_key
from quire.providers.checking.openai_responses.items import Items
from quire.providers.checking.openai_responses.rules import RULES
from quire.providers.checking.openai_responses.tools import check_tools
from quire.providers.checking.reading import Fields, as_list, as_object, in_order, type_of
from quire.providers.checking.texts import check_texts

HISTORIES = ("previous_response_id", "conversation")


def check(payload: Mapping[str, Any] | Sequence[Any], model: str | None = None) -> list[Fault]:
    """What the Responses would refuse or misread in a request, or in a bare list of input items."""
    findings = Findings(RULES)
    request = as_object(payload) if as_list(payload) is None else {"input": payload}
    if request is None:
        findings.add("payload", "shape", f"must be an object or a list of items, is {type_of(payload)}")
        return findings.faults
    body = Fields(findings, "", request)
    named = body.optional_text("model")
    _check_histories(body)
    _check_input(body)
    check_tools(body)
    check_cache_key(body)
    check_breakpoints(body, "input", model or named)
    check_texts(findings, request)
    return in_order(findings.faults)


def _check_histories(body: Fields) -> None:
    body.optional_text("previous_response_id")
    if body.get("messages") is not None:
        body.add("messages", "chat_field", "is called input here")
    if all(body.get(key) is not None for key in HISTORIES):
        body.add("conversation", "two_histories", "is given beside previous_response_id")


def _check_input(body: Fields) -> None:
    given = body.get("input")
    if given is None or given == "" or given in ([], ()):
        if all(body.get(key) is None for key in (*HISTORIES, "prompt", "messages")):
            body.add("input", "empty_input", "is empty, and there is nothing to go on from")
    elif not isinstance(given, str):
        Items(body).check()
