"""The checks of OpenAI's Chat Completions, and of the services of other makers that speak this wire."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from quire.providers import rules
from quire.providers.check.core import (
    Fields,
    Findings,
    ToolNames,
    as_list,
    as_object,
    check_signature,
    check_texts,
    is_base64,
    known_model,
    objects_in,
    short,
    type_of,
    version_in,
)
from quire.providers.check.schema import OPENAI_STRICT, check_arrays, check_schema, check_strict

_ROLES = ("developer", "system", "user", "assistant", "tool", "function")
_INSTRUCTIONS = ("system", "developer")
_INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
_PARTS = {
    "user": frozenset(("text", "image_url", "input_audio", "file")),
    "assistant": frozenset(("text", "refusal")),
}
_AUTHOR = re.compile(r"[^\s<|\\/>]+")
_OPENAI = re.compile(r"(?:^|[/:])(?:gpt-\d|chatgpt-|o\d)")
_AZURE = re.compile(r"(?:^|/)(?:azure\w*|github_copilot)[/:]")
_VERSION = re.compile(r"(?:^|[/:.])(?:chat)?gpt-(\d)(?:\.(\d{1,2}))?(?!\d)")
_O_SERIES = re.compile(r"(?:^|[/:])o[134](?:-|$)")
_SIGNED_ID = "__thought__"
"""LiteLLM writes the signature of a Gemini call behind its id, and takes it off again."""


def check_request(body: Fields, model: str | None) -> None:
    """Find what the Chat Completions refuse or misread in a request."""
    name = (model or "").lower()
    if as_list(body.get("messages")) == []:
        body.add("messages", "empty_messages")
    pairing = _Pairing(body.findings)
    for message in body.each_object("messages"):
        role = message.text("role") if message else None
        if message is None or role is None:
            pairing.unreadable()
        elif role not in _ROLES:
            message.add("role", "unknown_role", f"is {short(role)}")
            pairing.unreadable()
        else:
            _check_message(message, role, pairing, name)
    pairing.end()
    _check_tools(body)
    check_cache_key(body)
    check_breakpoints(body, "messages", name)
    _check_service(body, name)
    check_texts(body)


# Messages.


def _check_message(message: Fields, role: str, pairing: "_Pairing", model: str) -> None:
    author = message.text("name") if role == "function" else message.optional_text("name")
    if author is not None and not _AUTHOR.fullmatch(author):
        message.add("name", "message_name")
    if role == "assistant":
        _check_assistant(message, pairing, model)
        return
    if role != "tool":
        pairing.other()
    elif (call_id := message.text("tool_call_id")) is None:
        pairing.unreadable()
    else:
        pairing.answer(call_id, message.at("tool_call_id"))
    _check_content(message, role)


def _check_assistant(message: Fields, pairing: "_Pairing", model: str) -> None:
    # Other makers give images beside the content, and take thinking inside it.
    is_others = _OPENAI.search(model) is None
    instead = (*_INSTEAD_OF_CONTENT, "images") if is_others else _INSTEAD_OF_CONTENT
    if message.has("content") or not message.has(*instead):
        _check_content(message, "assistant", thinks=is_others)
    message.optional_text("refusal")
    function = message.object("function_call") if message.has("function_call") else None
    if function:
        _check_function(function)
    if not message.has("tool_calls"):
        pairing.other()
        return
    calls, most = as_list(message.get("tool_calls")), rules.OPENAI_TOOL_CALL_COUNT.accepted
    if calls is not None and not calls:
        message.add("tool_calls", "empty_tool_calls")
    if calls is not None and len(calls) > most:
        message.add("tool_calls", "too_many_tool_calls", f"has {len(calls)} calls, more than {most}")
    found: list[tuple[str, str]] = []
    for call in message.each_object("tool_calls"):
        call_id = _check_call(call, model) if call else None
        if call and call_id is not None:
            found.append((call_id, call.at("id")))
    pairing.call(found, is_unclear=calls is None or len(found) < len(calls))


def _check_call(call: Fields, model: str) -> str | None:
    tool = _named(call)
    if tool and call.get("type") == "custom":
        check_tool_name(tool, "openai", is_custom=True)
        tool.text("input")
    elif tool:
        _check_function(tool)
    longest = (rules.AZURE_CALL_ID_LENGTH if _AZURE.search(model) else rules.OPENAI_CALL_ID_LENGTH).accepted
    return check_call_id(call, "id", longest, is_signed="gemini" in model)


def _check_function(function: Fields) -> None:
    check_tool_name(function, "openai")
    # Any string is taken back: a model may have broken off in the middle of its JSON.
    function.text("arguments", rule="arguments_not_string")


def _named(tool: Fields) -> Fields | None:
    """The part of a tool, a call or a choice that has the name: `function` or `custom`."""
    kind = tool.text("type")
    if kind in ("function", "custom"):
        return tool.object(kind)
    if kind is not None:
        tool.add("type", "shape", f"must be function or custom, is {short(kind)}")
    return None


class _Pairing:
    """Pairs calls with the tool messages right after them.

    After something unreadable, which may be a call or a result, the rest of its round is not judged.
    """

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._open: dict[str, str] = {}
        self._answered: dict[str, str] = {}
        self._repeated: set[str] = set()
        self._left_open: dict[str, list[str]] = {}
        self._is_unclear = False

    def call(self, calls: Sequence[tuple[str, str]], *, is_unclear: bool) -> None:
        """An assistant message with calls: the id and the path of each."""
        self.other()
        self._is_unclear = is_unclear
        for call_id, place in calls:
            if call_id in self._open:
                self._repeated.add(call_id)
                text = f"{short(call_id)} is also the id at {self._open[call_id]}"
                self._findings.add(place, "duplicate_call_id", text)
            else:
                self._open[call_id] = place

    def answer(self, call_id: str, place: str) -> None:
        """A tool message."""
        if call_id in self._open:
            del self._open[call_id]
            self._answered[call_id] = place
        elif call_id in self._answered:
            if call_id not in self._repeated:
                text = f"{short(call_id)} is already answered at {self._answered[call_id]}"
                self._findings.add(place, "duplicate_tool_message", text)
        elif call_id in self._left_open:
            calls = self._left_open[call_id]
            text = f"other messages stand between it and its call at {calls.pop()}"
            self._findings.add(place, "late_tool_message", text)
            if not calls:
                del self._left_open[call_id]
        elif not self._is_unclear:
            self._findings.add(place, "orphan_tool_message", f"no call before it has the id {short(call_id)}")

    def other(self) -> None:
        """A message that is no result."""
        for call_id, place in () if self._is_unclear else self._open.items():
            self._left_open.setdefault(call_id, []).append(place)
        self._open, self._answered, self._repeated, self._is_unclear = {}, {}, set(), False

    def unreadable(self) -> None:
        """A message that may be a call or a result."""
        self._open, self._is_unclear = {}, True

    def end(self) -> None:
        """The end of the messages."""
        self.other()
        for call_id, places in self._left_open.items():
            for place in places:
                self._findings.add(place, "unanswered_tool_call", f"no tool message answers {short(call_id)}")


# Content.


def _check_content(message: Fields, role: str, *, thinks: bool = False) -> None:
    content = message.get("content")
    if isinstance(content, str):
        return
    if content is None:
        message.add("content", "content_missing", f"is null in a message with the role {role}")
        return
    if role == "function" or as_list(content) is None:
        message.add("content", "shape", f"is {type_of(content)} in a message with the role {role}")
        return
    for part in message.each_object("content"):
        kind = part.text("type") if part else None
        if part is None or kind is None:
            continue
        if kind == "thinking" and thinks and as_list(part.get("thinking")) is not None:
            list(part.each_object("thinking"))
        elif kind not in _PART_CHECKS:
            part.add("type", "unknown_part", f"is {short(kind)}")
        elif kind not in _PARTS.get(role, ("text",)):
            part.add("", "part_for_role", f"is {kind} in a message with the role {role}")
        else:
            _PART_CHECKS[kind](part)


def _check_image(part: Fields) -> None:
    image = part.object("image_url")
    if image:
        check_image_url(image, "url")


def _check_file(part: Fields) -> None:
    file = part.object("file")
    if file:
        if not file.has("file_id", "file_data"):
            file.add("", "file_source", "has neither file_id nor file_data")
        file.optional_text("file_id")
        check_file_data(file)


def check_image_url(part: Fields, key: str) -> None:
    """Check an image: an address on the web, or a data URL. Both wires of OpenAI share the rule."""
    url = part.text(key)
    if url is None or url[:8].lower().startswith(("http://", "https://")):
        return
    media_type = _data_url_type(url)
    if media_type is None:
        part.add(key, "image_source", "is neither an http(s) URL nor a data URL with base64")
    elif media_type not in rules.OPENAI_IMAGE_TYPES.accepted:
        part.add(key, "image_type", f"has the media type {short(media_type)}")
    else:
        check_signature(part, "image_type", media_type, url.partition(",")[2], key)


def check_audio(part: Fields) -> None:
    """Check a recording: bare base64, and its format."""
    audio = part.object("input_audio")
    if audio is None:
        return
    data, form = audio.text("data"), audio.text("format")
    if data is not None and not is_base64(data):
        audio.add("data", "audio_data", "is not bare base64")
    if form is not None and form not in rules.OPENAI_AUDIO_FORMATS.accepted:
        audio.add("format", "audio_format", f"is {short(form)}")


def check_file_data(file: Fields) -> None:
    """Check the bytes of a file: a data URL."""
    data = file.optional_text("file_data")
    if data is not None and _data_url_type(data) is None:
        file.add("file_data", "file_source", "is not a data URL with base64")


def _data_url_type(url: str) -> str | None:
    head, comma, data = url.partition(",")
    head = head.lower()
    if not (comma and head.startswith("data:") and head.endswith(";base64") and is_base64(data)):
        return None
    return head.removeprefix("data:").split(";")[0]


_PART_CHECKS: dict[str, Callable[[Fields], object]] = {
    "text": lambda part: part.text("text"),
    "refusal": lambda part: part.text("refusal"),
    "image_url": _check_image,
    "input_audio": check_audio,
    "file": _check_file,
}


# Names, tools and the cache.


def check_tool_name(tool: Fields, wire: str, *, is_custom: bool = False) -> str | None:
    """Check the name of a tool; that of a custom tool may be any text."""
    name = tool.text("name")
    if name is not None and not is_custom and not rules.OPENAI_TOOL_NAME[wire].accepted.fullmatch(name):
        tool.add("name", "tool_name", f"{short(name)}, with {len(name)} characters, is no name of a tool")
    return name


def check_call_id(call: Fields, key: str, longest: int, *, is_signed: bool = False) -> str | None:
    """Check the length of the id of a call."""
    call_id = call.text(key)
    if call_id is None:
        return None
    length = len(call_id.partition(_SIGNED_ID)[0] if is_signed else call_id)
    if not 1 <= length <= longest:
        call.add(key, "call_id_length", f"has {length} characters, of 1 to {longest}")
    return call_id


def check_parameters(tool: Fields) -> None:
    """Check the parameters of a function, if it has any: the schema of an object."""
    parameters, schema = tool.get("parameters"), as_object(tool.get("parameters"))
    if parameters is not None and schema is None:
        tool.must_be("parameters", "an object", "tool_schema")
    elif not schema:
        return
    elif schema.get("type") != "object":
        tool.add("parameters.type", "tool_schema", f"must be 'object', is {short(schema.get('type'))}")
    elif as_object(schema.get("properties", {})) is None:
        tool.add("parameters.properties", "tool_schema", "must be an object")
    elif refused := next((word for word in rules.OPENAI_TOP_KEYWORDS.accepted if word in schema), None):
        tool.add(f"parameters.{refused}", "tool_schema", f"{refused} at the top of the schema")
    else:
        check_schema(tool, "parameters")
        check_arrays(tool, "parameters")
        check_strict(tool, "parameters", OPENAI_STRICT)


def check_cache_key(body: Fields) -> None:
    """Check the length of the cache key."""
    key, longest = body.optional_text("prompt_cache_key"), rules.OPENAI_CACHE_KEY_LENGTH.accepted
    if key is not None and len(key) > longest:
        body.add("prompt_cache_key", "prompt_cache_key", f"has {len(key)} characters, more than {longest}")


def check_breakpoints(body: Fields, history: str, model: str) -> None:
    """Find the first cache breakpoint in a request to a model that has none."""
    version = version_in(model, _VERSION)
    is_known = version > (0, 0) or _O_SERIES.search(model)
    if not is_known or version >= rules.OPENAI_FIRST_BREAKPOINTS.accepted:
        return
    for place, part in _parts(objects_in(body.get(history)), history):
        if part.get("prompt_cache_breakpoint") is not None:
            text = f"the model {short(model)} has no breakpoints"
            body.add(f"{place}.prompt_cache_breakpoint", "cache_breakpoint", text)
            return


def _parts(messages: Sequence[Mapping[str, Any]], history: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for index, message in enumerate(messages):
        for key in ("content", "output"):
            for at, part in enumerate(objects_in(message.get(key))):
                yield f"{history}[{index}].{key}[{at}]", part


def _check_tools(body: Fields) -> None:
    names, most = ToolNames(), rules.OPENAI_TOOL_COUNT.accepted
    for tool in body.each_object("tools") if body.has("tools") else ():
        definition = tool and _named(tool)
        is_custom = tool is not None and tool.get("type") == "custom"
        names.read(definition and check_tool_name(definition, "openai", is_custom=is_custom))
        if definition:
            check_parameters(definition)
    count = len(as_list(body.get("tools")) or ())
    if count > most:
        body.add("tools", "too_many_tools", f"has {count} tools, more than {most}")
    if body.get("tool_choice") not in (None, "none") and not body.get("tools"):
        body.add("tool_choice", "tool_choice", "is given without tools")
    else:
        check_choice(body, names, _named)


def check_choice(body: Fields, names: ToolNames, named: Callable[[Fields], Fields | None]) -> None:
    """Check the choice of a tool; `named` opens the part of a choice that has the name."""
    choice = body.get("tool_choice")
    if choice is None or choice in ("none", "auto", "required"):
        return
    if isinstance(choice, str):
        body.add("tool_choice", "tool_choice", f"is {short(choice)}")
        return
    fields = body.object("tool_choice")
    chosen: list[Fields | None] = [fields]
    if fields and fields.get("type") == "allowed_tools":
        allowed = fields.object("allowed_tools") if fields.has("allowed_tools") else fields
        chosen = list(allowed.each_object("tools")) if allowed else []
    for one in filter(None, chosen):
        tool = named(one)
        name = tool.text("name") if tool else None
        if tool and name is not None and not names.may_have(name):
            tool.add("name", "tool_choice", f"no tool of the request is named {short(name)}")


# Services of other makers. What each refuses is a row of `rules.SERVICES`.


def _check_service(body: Fields, model: str) -> None:
    rows = [row for row in rules.SERVICES if row.models.search(model)]
    messages, is_gateway = objects_in(body.get("messages")), "/" in model or ":" in model
    for row in rows:
        _check_row(body, row, messages)
        if row.thinking:
            _check_thinking(body, messages, every=row.thinking == "every answer", is_gateway=is_gateway)
        if row.signatures:
            _check_signatures(body, messages)
    facts = known_model(model)
    if facts.prefix and (facts.provider is None or "open_weights" in facts.features):
        _check_open_model(body, messages, sees="image_input" in facts.features)


def _check_row(body: Fields, service: rules.Service, messages: list[Mapping[str, Any]]) -> None:
    for index, message in enumerate(messages):
        at = Fields(body.findings, f"messages[{index}]", message)
        role, before = message.get("role"), messages[index - 1].get("role") if index else None
        for key, call_id in _call_ids(message):
            if service.call_id and not service.call_id.fullmatch(call_id):
                at.add(key, "id_for_model", "is not nine letters and digits")
        if service.instructions_first and role in _INSTRUCTIONS and index > 0:
            at.add("role", "instructions_for_model", "is not at the start")
        elif service.assistant_after_tool and before == "tool" and role not in ("tool", "assistant"):
            at.add("role", "turn_for_model", "is the user's right after a result")
        if role in service.nameless and message.get("name") is not None:
            at.add("name", "name_for_model", "is refused here")
        if role in service.text_only and as_list(message.get("content")) is not None:
            at.add("content", "text_for_model", "is a list, and must be a text")
    last: Mapping[str, Any] = messages[-1] if messages else {}
    if service.instructions_first and len(messages) == 1 and last.get("role") in _INSTRUCTIONS:
        body.add("messages[0]", "instructions_for_model", "stands alone, with nothing to answer")
    if service.assistant_after_tool and last.get("role") == "assistant" and last.get("prefix") is not True:
        body.add(f"messages[{len(messages) - 1}]", "turn_for_model", "is the assistant's, and the last")


def _call_ids(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    calls = enumerate(objects_in(message.get("tool_calls")))
    found = [(f"tool_calls[{at}].id", call.get("id")) for at, call in calls]
    for key, call_id in (*found, ("tool_call_id", message.get("tool_call_id"))):
        if isinstance(call_id, str):
            yield key, call_id


def _check_open_model(body: Fields, messages: list[Mapping[str, Any]], *, sees: bool) -> None:
    """Check what servers of open models refuse: broken arguments, custom tools, files and unseen images."""
    refused = ("file",) if sees else ("file", "image_url")
    for place, part in _parts(messages, "messages"):
        if part.get("type") in refused:
            body.add(place, "part_for_model", f"is {part['type']}, which the model does not take")
    for index, message in enumerate(messages):
        for at, call in enumerate(objects_in(message.get("tool_calls"))):
            place = f"messages[{index}].tool_calls[{at}]"
            arguments = (as_object(call.get("function")) or {}).get("arguments")
            if call.get("type") == "custom":
                body.add(f"{place}.type", "custom_for_model", "the model calls functions only")
            if isinstance(arguments, str) and not _is_object(arguments):
                body.add(f"{place}.function.arguments", "arguments_for_model", "is no JSON object")
    for index, tool in enumerate(objects_in(body.get("tools"))):
        if tool.get("type") == "custom":
            body.add(f"tools[{index}].type", "custom_for_model", "the model takes functions only")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        return False


def _refuse(constant: str) -> None:
    raise ValueError(constant)  # NaN and Infinity are no JSON


def _check_thinking(
    body: Fields, messages: list[Mapping[str, Any]], *, every: bool, is_gateway: bool
) -> None:
    """Check that calls, or all answers, carry their thinking, unless the request switches thinking off."""
    if _is_off(body.values) or _is_off(body.dict("extra_body")):
        return
    has_calls = [_first_call(message) is not None for message in messages]
    every = every and (bool(as_list(body.get("tools"))) or any(has_calls))
    for index, (message, calls) in enumerate(zip(messages, has_calls, strict=True)):
        wanted = calls or (every and message.get("role") == "assistant")
        if wanted and not _has_thinking(message, is_gateway):
            text = f"is missing beside {'a call' if calls else 'an answer, in a request with tools'}"
            body.add(f"messages[{index}].reasoning_content", "thoughts_for_model", text)


def _is_off(request: Mapping[str, Any]) -> bool:
    thinking, reasoning = (as_object(request.get(name)) or {} for name in ("thinking", "reasoning"))
    off = thinking.get("type") == "disabled" or reasoning.get("enabled") is False
    return off or "none" in (request.get("reasoning_effort"), reasoning.get("effort"))


def _has_thinking(message: Mapping[str, Any], is_gateway: bool) -> bool:
    if isinstance(message.get("reasoning_content"), str) or as_list(message.get("reasoning_details")):
        return True
    return is_gateway and isinstance(message.get("reasoning"), str)


def _check_signatures(body: Fields, messages: list[Mapping[str, Any]]) -> None:
    """Check the first call of each message since the last one of the user."""
    users = [index for index, message in enumerate(messages) if message.get("role") == "user"]
    for index in range(users[-1] if users else 0, len(messages)):
        call = _first_call(messages[index])
        if call is not None and not _is_signed(messages[index], call):
            body.add(f"messages[{index}].tool_calls[0]", "signature_for_model", "has no signature")


def _first_call(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
    calls = as_list(message.get("tool_calls")) if message.get("role") == "assistant" else None
    return as_object(calls[0]) if calls else None


def _is_signed(message: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
    if as_list(message.get("reasoning_details")) or _SIGNED_ID in str(call.get("id")):
        return True
    names = ("extra_content", "provider_specific_fields")
    held = [as_object(holder.get(name)) or {} for holder in (call, message) for name in names]
    inner = [as_object(value) or {} for fields in held for value in fields.values()]
    return any(one.get("thought_signature") or one.get("thought_signatures") for one in (*held, *inner))
