"""The checks of OpenAI's Chat Completions. The rules are OpenAI's: other services of this wire may differ."""

import re

from quire.providers import rules
from quire.providers.check.core import Fields, PairCheck, check_file_type, check_texts, short
from quire.providers.check.schema import check_arrays, check_parameters, check_schema

_OPENAI = re.compile(r"(?:^|[/:])(?:gpt-\d|chatgpt-|o\d)")
_WEB, _DATA_URL = rules.NAMES["web address"].accepted, rules.NAMES["data url"].accepted


def check_request(body: Fields, model: str) -> None:
    """Find what Chat Completions refuses or misreads in a request."""
    body.check("request")
    messages = body.children("messages")
    for part in body.findings.parts:
        if part.kind == "image_url":
            check_image_url(part.child("image_url"), "url")
        elif part.kind == "thinking" and _OPENAI.search(model):  # other services accept it in an answer
            part.add("type", "part_kind", "is thinking")
    if not body.findings.has_any(("shape", "unknown_role")):
        _check_pairs(body, messages)
    for tool in body.children("tools"):
        check_function(tool.child("function"))
    check_texts(body)


def _check_pairs(body: Fields, messages: list[Fields]) -> None:
    """Pair calls with the tool messages right after them."""
    pairing = PairCheck(body.findings)
    for message in messages:
        if message.get("role") == "tool":
            pairing.result(message, "tool_call_id")
            continue
        pairing.end()
        pairing = PairCheck(body.findings)
        for call in message.children("tool_calls") if message.get("role") == "assistant" else ():
            pairing.call(call, "id")
    pairing.end()


# Images and functions, for both wires of OpenAI.


def check_image_url(image: Fields, key: str) -> None:
    """Check an image: an address on the web, or a data URL."""
    url = image.get(key)
    if not isinstance(url, str) or _WEB.match(url):
        return
    media_type = url[5:].partition(",")[0].partition(";")[0].lower()
    if not _DATA_URL.fullmatch(url):
        image.add(key, "image_source", "is neither an http(s) URL nor a data URL with base64")
    elif media_type not in rules.OPENAI_IMAGE_TYPES:
        image.add(key, "image_type", f"has the media type {short(media_type)}")
    else:
        check_file_type(image, "image_type", media_type, url.partition(",")[2], key)


def check_function(function: Fields) -> None:
    """Check the parameters of a function, if it has any."""
    has_parameters = function.get("parameters") not in (None, {})
    if has_parameters and check_parameters(function, "parameters", rules.OPENAI_TOP_KEYWORDS):
        check_schema(function, "parameters")
        check_arrays(function, "parameters")
