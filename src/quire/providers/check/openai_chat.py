"""The checks of OpenAI's Chat Completions, and of the services of other makers that speak this wire."""

import re

import msgspec

from quire.providers import rules
from quire.providers.check.core import (
    Field,
    Fields,
    Pairing,
    check_signature,
    check_texts,
    known_model,
    short,
)
from quire.providers.check.schema import check_arrays, check_parameters, check_schema
from quire.providers.state import SIGNATURE_FIELDS
from quire.providers.values import object_in

_INSTRUCTIONS = ("system", "developer")
_OPENAI = re.compile(r"(?:^|[/:])(?:gpt-\d|chatgpt-|o\d)")
_WEB, _DATA_URL = rules.NAMES["web address"].accepted, rules.NAMES["data url"].accepted


class Service(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a service of another maker refuses on this wire."""

    models: re.Pattern[str]
    """Matches the names of its models, in small letters."""
    source: str
    date: str
    shapes: dict[str, dict[str, Field]] = {}
    """Fields of messages, by role."""
    assistant_after_tool: bool = False
    """Whether an assistant message follows a result, and is not the last message."""
    instructions_first: bool = False
    """Whether there is one message of instructions, at the start, and another message after it."""
    thinking: str = ""
    """Which messages carry their thinking: `calls`, or `every answer` of a request with tools."""
    signatures: bool = False
    """Whether the first call of each message since the user's last carries a thought signature."""


_SERVICES = rules.read_section("services", tuple[Service, ...])


def check_request(body: Fields, model: str) -> None:
    """Find what the Chat Completions refuse or misread in a request."""
    body.check("request")
    messages = body.inners("messages")
    for part in body.findings.parts:
        if part.kind == "image_url":
            check_image_url(part.inner("image_url"), "url")
        elif part.kind == "thinking" and _OPENAI.search(model):  # others take thinking in an answer
            part.add("type", "part_kind", "is thinking")
    if not body.findings.any_of(("shape", "unknown_role")):
        _check_pairs(body, messages)
    for tool in body.inners("tools"):
        check_function(tool.inner("function"))
    for service in [one for one in _SERVICES if one.models.search(model)]:
        _check_order(body, messages, service)
        if service.thinking and not (_is_off(body) or _is_off(body.inner("extra_body"))):
            is_every = service.thinking == "every answer"
            _check_thinking(body, messages, is_every=is_every, is_gateway="/" in model or ":" in model)
        if service.signatures:
            _check_signatures(messages)
    facts = known_model(model)
    if facts.prefix and (facts.provider is None or "open_weights" in facts.features):
        _check_open_model(messages, sees="image_input" in facts.features)
    check_texts(body)


def _check_pairs(body: Fields, messages: list[Fields]) -> None:
    """Pair calls with the tool messages right after them."""
    pairing = Pairing(body.findings)
    for message in messages:
        if message.get("role") == "tool":
            pairing.result(message, "tool_call_id")
            continue
        pairing.end()
        pairing = Pairing(body.findings)
        for call in _calls(message):
            pairing.call(call, "id")
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
    given = function.get("parameters") not in (None, {})
    if given and check_parameters(function, "parameters", rules.OPENAI_TOP_KEYWORDS.accepted):
        check_schema(function, "parameters")
        check_arrays(function, "parameters")


# Services of other makers.


def _check_order(body: Fields, messages: list[Fields], service: Service) -> None:
    before = None
    for message in messages:
        role = message.get("role")
        message.check_fields(service.shapes.get(str(role), {}))
        if service.instructions_first and role in _INSTRUCTIONS and before is not None:
            message.add("role", "instructions_for_model", "is not at the start")
        elif service.assistant_after_tool and before == "tool" and role not in ("tool", "assistant"):
            message.add("role", "turn_for_model", "is the user's right after a result")
        before = role
    last = messages[-1] if messages else body
    if service.instructions_first and len(messages) == 1 and before in _INSTRUCTIONS:
        last.add("", "instructions_for_model", "stands alone, with nothing to answer")
    if service.assistant_after_tool and before == "assistant" and last.get("prefix") is not True:
        last.add("", "turn_for_model", "is the assistant's, and the last")


def _check_thinking(body: Fields, messages: list[Fields], *, is_every: bool, is_gateway: bool) -> None:
    """Check that calls, or all answers of a request with tools, carry their thinking."""
    names = ("reasoning_content", "reasoning_details", *(["reasoning"] if is_gateway else ()))
    is_every = is_every and bool(body.get("tools") or any(map(_calls, messages)))
    for message in messages:
        needs = _calls(message) or (is_every and message.get("role") == "assistant")
        if needs and not message.has(*names):
            message.add("reasoning_content", "thoughts_for_model", "is missing beside a call or an answer")


def _is_off(request: Fields) -> bool:
    settings = (request.inner("thinking").get("type"), request.get("reasoning_effort"))
    return "disabled" in settings or "none" in settings


def _check_signatures(messages: list[Fields]) -> None:
    """Check the first call of each message since the last one of the user.

    Google has the signature in `extra_content`, OpenRouter in `reasoning_details`, LiteLLM behind the id.
    """
    users = [index for index, message in enumerate(messages) if message.get("role") == "user"]
    for message in messages[users[-1] if users else 0 :]:
        for call in _calls(message)[:1]:
            beside = [one.get(name) for one in (call, message) for name in SIGNATURE_FIELDS]
            is_signed = "thought_signature" in str(beside) or "__thought__" in str(call.get("id"))
            if not is_signed and not message.get("reasoning_details"):
                call.add("", "signature_for_model", "has no signature")


def _check_open_model(messages: list[Fields], *, sees: bool) -> None:
    """Check what servers of open models refuse: broken arguments, files and unseen images."""
    for part in [part for message in messages for part in message.inners("content")]:
        if part.get("type") == "file" or (part.get("type") == "image_url" and not sees):
            part.add("", "part_for_model", f"is {part.get('type')}, which the model does not take")
    for function in [call.inner("function") for message in messages for call in _calls(message)]:
        arguments = function.get("arguments")
        if isinstance(arguments, str) and object_in(arguments) is None:
            function.add("arguments", "arguments_for_model", "is no JSON object")
