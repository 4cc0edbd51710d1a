"""The checks of OpenAI's Chat Completions, and of the services of other makers that speak this wire."""

import re
from typing import Any

import msgspec

from quire.providers import rules
from quire.providers.check.core import (
    Fields,
    Pairing,
    as_list,
    check_signature,
    check_texts,
    known_model,
    short,
)
from quire.providers.check.schema import check_arrays, check_parameters, check_schema
from quire.providers.values import object_in

_ROLES = ("developer", "system", "user", "assistant", "tool", "function")
_INSTRUCTIONS = ("system", "developer")
_INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
_OPENAI = re.compile(r"(?:^|[/:])(?:gpt-\d|chatgpt-|o\d)")
_WEB, _DATA_URL = rules.NAMES["web address"].accepted, rules.NAMES["data url"].accepted
_PAIRING = ("unanswered_tool_call", "orphan_tool_message", "late_tool_message", "duplicate_tool_message")


class Service(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a service of another maker refuses on this wire."""

    models: re.Pattern[str]
    """Matches the names of its models, in small letters."""
    source: str
    date: str
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


_SERVICES = rules.read_section("services", tuple[Service, ...])


def check_request(body: Fields, model: str) -> None:
    """Find what the Chat Completions refuse or misread in a request."""
    body.check("request")
    messages = body.inners("messages")
    for message in messages:
        _check_message(message, is_others=_OPENAI.search(model) is None)
    if not body.findings.any_of(("shape", "unknown_role")):
        _check_pairs(body, messages)
    for tool in body.inners("tools"):
        check_function(tool.inner("function"))
    _check_service(body, messages, model)
    check_texts(body)


def _check_message(message: Fields, *, is_others: bool) -> None:
    role = message.get("role")
    if role not in _ROLES:
        return
    message.check(role)
    # Other makers give images beside the content, and take thinking inside it, as a list.
    chunks = [part.get("thinking") for part in message.inners("content") if part.get("type") == "thinking"]
    takes_thinking = is_others and role == "assistant" and all(isinstance(one, list) for one in chunks)
    instead = (*_INSTEAD_OF_CONTENT, "images") if is_others else _INSTEAD_OF_CONTENT
    if message.has("content"):
        for part in message.parts("content", "assistant of others" if takes_thinking else role):
            if part.kind == "image_url":
                check_image_url(part.inner("image_url"), "url")
    elif role != "assistant" or not message.has(*instead):
        message.add("content", "content_missing", f"is null in a message with the role {role}")


def _check_pairs(body: Fields, messages: list[Fields]) -> None:
    """Pair calls with the tool messages right after them."""
    pairing = Pairing(body.findings, *_PAIRING)
    for message in messages:
        if message.get("role") == "tool":
            pairing.result(message.get("tool_call_id"), message.at("tool_call_id"))
            continue
        pairing.end_round()
        for call in _calls(message):
            call_id = call.get("id")
            if other := pairing.call(call_id, call.at("id")):
                call.add("id", "duplicate_call_id", f"{short(call_id)} is also the id at {other}")
    pairing.end_round()
    pairing.end()


def _calls(message: Fields) -> list[Fields]:
    return message.inners("tool_calls") if message.get("role") == "assistant" else []


# Images and functions, for both wires of OpenAI.


def check_image_url(image: Fields, key: str) -> None:
    """Check an image: an address on the web, or a data URL."""
    url = image.get(key)
    if not isinstance(url, str) or _WEB.match(url):
        return
    media_type = url[5:].partition(",")[0].partition(";")[0].lower()
    if not _DATA_URL.fullmatch(url):
        image.add(key, "image_source", "is neither an http(s) URL nor a data URL with base64")
    elif media_type not in rules.OPENAI_IMAGE_TYPES.accepted:
        image.add(key, "image_type", f"has the media type {short(media_type)}")
    else:
        check_signature(image, "image_type", media_type, url.partition(",")[2], key)


def check_function(function: Fields) -> None:
    """Check the parameters of a function, if it has any."""
    if check_parameters(function, "parameters", rules.OPENAI_TOP_KEYWORDS.accepted):
        check_schema(function, "parameters")
        check_arrays(function, "parameters")


# Services of other makers.


def _check_service(body: Fields, messages: list[Fields], model: str) -> None:
    is_gateway = "/" in model or ":" in model
    for service in [one for one in _SERVICES if one.models.search(model)]:
        before = None
        for message in messages:
            _check_for_service(message, service, before)
            before = message.get("role")
        if messages:
            _check_last(messages, service)
        _check_thinking(body, service.thinking, messages, is_gateway=is_gateway)
        if service.signatures:
            _check_signatures(messages)
    facts = known_model(model)
    if facts.prefix and (facts.provider is None or "open_weights" in facts.features):
        _check_open_model(body, messages, sees="image_input" in facts.features)


def _check_for_service(message: Fields, service: Service, before: Any) -> None:
    role = message.get("role")
    ids = [(call, "id") for call in message.inners("tool_calls")]
    for holder, key in [*ids, (message, "tool_call_id")]:
        call_id = holder.get(key)
        if service.call_id and isinstance(call_id, str) and not service.call_id.fullmatch(call_id):
            holder.add(key, "id_for_model", "is not nine letters and digits")
    if service.instructions_first and role in _INSTRUCTIONS and before is not None:
        message.add("role", "instructions_for_model", "is not at the start")
    elif service.assistant_after_tool and before == "tool" and role not in ("tool", "assistant"):
        message.add("role", "turn_for_model", "is the user's right after a result")
    if role in service.nameless and message.has("name"):
        message.add("name", "name_for_model", "is refused here")
    if role in service.text_only and as_list(message.get("content")) is not None:
        message.add("content", "text_for_model", "is a list, and must be a text")


def _check_last(messages: list[Fields], service: Service) -> None:
    last = messages[-1]
    if service.instructions_first and len(messages) == 1 and last.get("role") in _INSTRUCTIONS:
        last.add("", "instructions_for_model", "stands alone, with nothing to answer")
    if service.assistant_after_tool and last.get("role") == "assistant" and last.get("prefix") is not True:
        last.add("", "turn_for_model", "is the assistant's, and the last")


def _check_open_model(body: Fields, messages: list[Fields], *, sees: bool) -> None:
    """Check what servers of open models refuse: broken arguments, custom tools, files and unseen images."""
    for part in [part for message in messages for part in message.inners("content")]:
        if part.get("type") == "file" or (part.get("type") == "image_url" and not sees):
            part.add("", "part_for_model", f"is {part.get('type')}, which the model does not take")
    calls = [call for message in messages for call in message.inners("tool_calls")]
    for call in calls:
        function = call.inner("function")
        arguments = function.get("arguments")
        if isinstance(arguments, str) and object_in(arguments) is None:
            function.add("arguments", "arguments_for_model", "is no JSON object")
    for tool in (*calls, *body.inners("tools")):
        if tool.get("type") == "custom":
            tool.add("type", "custom_for_model", "the model takes functions only")


def _check_thinking(body: Fields, wanted: str, messages: list[Fields], *, is_gateway: bool) -> None:
    """Check that calls, or all answers, carry their thinking, unless the request switches thinking off."""
    if not wanted or _is_off(body) or _is_off(body.inner("extra_body")):
        return
    every = wanted == "every answer" and bool(body.get("tools") or any(map(_calls, messages)))
    names = ("reasoning_content", "reasoning") if is_gateway else ("reasoning_content",)
    for message in messages:
        calls, is_answer = _calls(message), every and message.get("role") == "assistant"
        thinks = any(isinstance(message.get(name), str) for name in names)
        if (calls or is_answer) and not thinks and not as_list(message.get("reasoning_details")):
            text = f"is missing beside {'a call' if calls else 'an answer, in a request with tools'}"
            message.add("reasoning_content", "thoughts_for_model", text)


def _is_off(request: Fields) -> bool:
    thinking, reasoning = request.inner("thinking"), request.inner("reasoning")
    off = thinking.get("type") == "disabled" or reasoning.get("enabled") is False
    return off or "none" in (request.get("reasoning_effort"), reasoning.get("effort"))


def _check_signatures(messages: list[Fields]) -> None:
    """Check the first call of each message since the last one of the user."""
    users = [index for index, message in enumerate(messages) if message.get("role") == "user"]
    for message in messages[users[-1] if users else 0 :]:
        for call in _calls(message)[:1]:
            if not (message.get("reasoning_details") or _is_signed(call) or _is_signed(message)):
                call.add("", "signature_for_model", "has no signature")


def _is_signed(holder: Fields) -> bool:
    """Whether a call or its message has a signature in one of the places where services put it."""
    if "__thought__" in str(holder.get("id")):  # LiteLLM writes it behind the id
        return True
    held = [holder.inner(name) for name in ("extra_content", "provider_specific_fields")]
    inner = [fields.inner(name) for fields in held for name in fields.names()]
    return any(one.get("thought_signature") or one.get("thought_signatures") for one in (*held, *inner))
