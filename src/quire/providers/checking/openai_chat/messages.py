"""The messages of a request to the Chat Completions, in their order."""

import re
from typing import NamedTuple

from quire.providers.checking.openai_chat.naming import LONGEST_CALL_ID, check_call_id
from quire.providers.checking.openai_chat.pairing import Pairing
from quire.providers.checking.openai_chat.parts import check_content
from quire.providers.checking.openai_chat.tools import check_name, named
from quire.providers.checking.reading import Fields, as_list, opened, short

ROLES = ("developer", "system", "user", "assistant", "tool", "function")
WITHOUT_INSTRUCTIONS = ("o1-mini", "o1-preview")
MOST_CALLS = 128
# Each of these stands in for the content of an assistant message.
INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
_AUTHOR = re.compile(r"[^\s<|\\/>]+")
_ELSEWHERE = re.compile(r"(?:^|/)(?:azure\w*|github_copilot)[/:]")
_LONGEST_ELSEWHERE = 40
_OPENAIS_OWN = re.compile(r"(?:^|[/:])(?:gpt-\d|chatgpt-|o\d)")


class _Service(NamedTuple):
    """What a service takes in messages of its model."""

    longest_id: int
    is_others: bool
    """Whether it may be of others than OpenAI, who take thoughts in a content, and give images beside it."""
    is_signed: bool
    """Whether ids may have signatures in them."""


def check_messages(body: Fields, model: str | None) -> None:
    """Every message by itself, and calls with their results."""
    given = as_list(body.get("messages"))
    if given is not None and not given:
        body.add("messages", "empty_messages", "is an empty list")
    instructions = not (model or "").rpartition("/")[2].startswith(WITHOUT_INSTRUCTIONS)
    service = _service((model or "").lower())
    pairing = Pairing(body.findings)
    for place, value in body.each("messages"):
        message = opened(body.findings, place, value)
        role = message.text("role") if message else None
        if message is None or role is None:
            pairing.unreadable()
        elif role not in ROLES:
            message.add("role", "unknown_role", f"is {short(role)}")
            pairing.unreadable()
        else:
            if role in ("system", "developer") and not instructions:
                message.add("role", "role_for_model", f"is {role}")
            _check_message(message, role, pairing, service)
    pairing.end()


def _service(model: str) -> _Service:
    longest = _LONGEST_ELSEWHERE if _ELSEWHERE.search(model) else LONGEST_CALL_ID
    return _Service(longest, _OPENAIS_OWN.search(model) is None, "gemini" in model)


def _check_message(message: Fields, role: str, pairing: Pairing, service: _Service) -> None:
    _check_author(message, role)
    if role == "assistant":
        _check_assistant(message, pairing, service)
        return
    if role == "tool":
        _check_result(message, pairing)
    else:
        pairing.other()
    check_content(message, role)


def _check_author(message: Fields, role: str) -> None:
    name = message.text("name") if role == "function" else message.optional_text("name")
    if name is not None and not _AUTHOR.fullmatch(name):
        message.add("name", "message_name", "is empty or has whitespace or one of < > | / \\")


def _check_result(message: Fields, pairing: Pairing) -> None:
    name = message.text("tool_call_id")
    if name is None:
        pairing.unreadable()
    else:
        pairing.answer(name, message.at("tool_call_id"))


def _check_assistant(message: Fields, pairing: Pairing, service: _Service) -> None:
    instead = (*INSTEAD_OF_CONTENT, "images") if service.is_others else INSTEAD_OF_CONTENT
    if message.get("content") is not None or all(message.get(key) is None for key in instead):
        check_content(message, "assistant", thinks=service.is_others)
    message.optional_text("refusal")
    if message.get("function_call") is not None:
        function = message.object("function_call")
        if function:
            _check_function(function)
    if message.get("tool_calls") is None:
        pairing.other()
    else:
        _check_calls(message, pairing, service)


def _check_calls(message: Fields, pairing: Pairing, service: _Service) -> None:
    calls = as_list(message.get("tool_calls"))
    if calls is not None and not calls:
        message.add("tool_calls", "empty_tool_calls", "is an empty list")
    if calls is not None and len(calls) > MOST_CALLS:
        message.add("tool_calls", "too_many_tool_calls", f"has {len(calls)} calls")
    found: list[tuple[str, str]] = []
    for place, value in message.each("tool_calls"):
        call = opened(message.findings, place, value)
        name = _check_call(call, service) if call else None
        if call and name is not None:
            found.append((name, call.at("id")))
    pairing.call(found, unclear=calls is None or len(found) < len(calls))


def _check_call(call: Fields, service: _Service) -> str | None:
    tool = named(call)
    if tool and call.get("type") == "custom":
        check_name(tool, "custom")
        tool.text("input")
    elif tool:
        _check_function(tool)
    return check_call_id(call, "id", service.longest_id, signed=service.is_signed)


def _check_function(function: Fields) -> None:
    check_name(function, "function")
    # A string is enough: arguments that a model broke off are taken back, though they are no JSON.
    function.text("arguments", rule="arguments_not_string")
