"""The checks of Gemini's generateContent, in the spelling of the client or of the wire."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from typing import Any

from quire.providers import rules
from quire.providers.check.core import (
    Fields,
    Findings,
    Turn,
    as_list,
    as_object,
    check_signature,
    check_texts,
    is_base64,
    known_model,
    short,
    version_in,
)
from quire.providers.check.schema import check_arrays, check_parameters, check_schema
from quire.providers.profiles import cloud_of

_CALL, _RESPONSE = "functionCall", "functionResponse"
_DATA = (
    *("text", "inlineData", "fileData", _CALL, _RESPONSE, "executableCode"),
    *("codeExecutionResult", "toolCall", "toolResponse"),
)
"""What a part may hold."""
_BESIDE = ("thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution")
_FOREIGN_IN_PARTS = ("type", "role", "content", "source", "image_url", "input_audio")
_FOREIGN_IN_TOOLS = ("type", "function", "input_schema")
_UNREADABLE = (
    *("shape", "role", "unknown_field", "several_fields", "empty_part", "empty_parts"),
    *("call_role", "response_role"),
)
"""Faults after which order is not checked: what the unreadable part answers is not known."""
_NAME = re.compile(r"gemini-(\d+)(?:\.(\d+))?")


class Spelled(Fields):
    """Fields under either name: `fileUri` of the wire, or `file_uri` of the client."""

    def get(self, key: str) -> Any:
        """The value of a field under the name that the object uses."""
        value = self.values.get(key)
        return self.values.get(_snake_case(key)) if value is None else value

    def at(self, key: str) -> str:
        """The path of a field under the name that the object uses."""
        snake = _snake_case(key)
        is_snake = self.values.get(key) is None and self.values.get(snake) is not None
        return super().at(snake if is_snake else key)

    def one_or_each(self, key: str) -> Iterable[tuple[str, Any]]:
        """The elements of a list, or the one value that the client takes for a list of one."""
        value = self.get(key)
        return [(self.at(key), value)] if as_list(value) is None else self.each(key)


@cache
def _snake_case(key: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key)


class Model:
    """What a model asks for, by its name; an unknown name is held to no rule of a model."""

    def __init__(self, name: str) -> None:
        # `gemini-flash-latest` stands for the version that its row has.
        version = max(version_in(name, _NAME), version_in(known_model(name).prefix, _NAME))
        on_vertex = cloud_of(name) == "vertex"
        self.signs_calls = version >= (3, 0) and "image" not in name
        self.signs_words = version >= (3, 0) and "image" in name and not on_vertex
        self.mixes_tools = not (0, 0) < version < (3, 0) and not on_vertex
        self.ends_with_user = version > (3, 1)


def check_request(request: Fields, model_name: str) -> None:
    """Find what generateContent refuses or misreads in a request."""
    body, model = Spelled(request.findings, "", request.values), Model(model_name)
    if as_list(body.get("contents")) == []:
        body.add("contents", "no_contents")
    contents = [_read_content(body, place, value) for place, value in body.one_or_each("contents")]
    for content in contents:
        _check_content(content)
    if not body.findings.any_of(_UNREADABLE):
        is_cached = body.has("cachedContent") or body.inner("config").has("cachedContent")
        _check_pairs(body.findings, contents, after_cache=is_cached)
        _check_signatures(contents, model)
        _check_end(body.findings, contents, model, after_cache=is_cached)
    # On the wire, instructions and tools stand beside the contents; the client has them in `config`.
    config = body.opened("config", body.get("config")) if body.has("config") else None
    for settings in filter(None, (body, config)):
        _check_instructions(settings)
        _check_tools(settings, model)
    check_texts(body)


# Reading contents.


def _read_content(body: Spelled, place: str, value: Any) -> Turn:
    parts, role = list(_read_parts(body, place, value)), (as_object(value) or {}).get("role")
    is_result = role in ("function", "tool") and {part.kind for part in parts} == {_RESPONSE}
    if role is not None and role not in ("user", "model") and not is_result:
        body.findings.add(f"{place}.role", "role", f"role {short(role)} is neither user nor model")
    return Turn(place, "user" if role is None or is_result else str(role), parts)


def _read_parts(holder: Spelled, place: str, value: Any) -> Iterator[Fields]:
    """The parts of a text, a part or a content, each of which holds one thing and not several."""
    if isinstance(value, str):
        yield holder.within(place, {"text": value}, "text")
        return
    fields = holder.opened(place, value)
    is_part = fields is not None and not fields.has("parts", "role") and fields.has(*_DATA)
    if fields and not is_part and as_list(fields.get("parts")) == []:
        fields.add("parts", "empty_parts")
    for part in [] if fields is None else [fields] if is_part else fields.objects("parts"):
        held = [name for name in _DATA if part.has(name)]
        foreign = next((key for key in _FOREIGN_IN_PARTS if part.has(key)), None)
        if foreign is not None:
            part.add(foreign, "unknown_field", f"a part has no {foreign}")
        elif len(held) > 1:
            part.add("", "several_fields", f"the part holds {' and '.join(held)}")
        elif not held and {*part.names()} <= {*_BESIDE, *map(_snake_case, _BESIDE)}:
            part.add("", "empty_part")
        else:
            part.kind = held[0] if held else ""  # newer models may hold something else
            yield part


# Parts, each by itself.


def _check_content(content: Turn) -> None:
    for part in content.parts:
        _check_part(part)
        if part.kind == _CALL and content.role == "user":
            part.add("", "call_role", "a call in a content of the user")
    for response in content.of(_RESPONSE)[:1]:
        if content.of(_CALL):
            response.add("", "call_role", "a response in a content with calls")
        elif content.role == "model":
            response.add("", "response_role")


def _check_part(part: Fields) -> None:
    signature = part.get("thoughtSignature")
    if isinstance(signature, str) and signature and not is_base64(signature):
        part.add("thoughtSignature", "signature_data")
    if part.kind == "text" and part.text("text") == "" and not signature:
        part.add("", "empty_text")
    if part.kind not in part.findings.shapes:
        return
    held = part.opened(part.at(part.kind), part.get(part.kind))
    if held and part.kind == "inlineData":
        _check_data(held)
    elif held:
        has_parts = part.kind == _RESPONSE and bool(held.get("parts"))
        held.check(f"{part.kind} with parts" if has_parts else part.kind)
        for inner in held.inners("parts") if has_parts else ():
            if as_object(inner.get("inlineData")) is not None:
                _check_data(inner.inner("inlineData"))


def _check_data(inline: Fields) -> None:
    data = inline.get("data")
    inline.check("inlineData")
    # The client takes bytes and writes base64 itself.
    if not (isinstance(data, bytes) and data) and not (isinstance(data, str) and is_base64(data)):
        inline.add("data", "media_data")
    check_signature(inline, "media_type", inline.get("mimeType"), data)


# Order: calls and responses, signatures, the end.


def _check_pairs(findings: Findings, contents: list[Turn], *, after_cache: bool) -> None:
    """Pair calls with the responses right after them; what a cache holds is not seen."""
    calls, is_late = list[Turn](), False
    for kind, group in groupby([*contents, Turn("", "", [])], key=_step):
        run = list(group)
        if calls and (kind == _CALL or run[-1].place == ""):
            findings.add(calls[0].place, "unanswered_call")
        if kind == _RESPONSE and not (after_cache and run[0] is contents[0]):
            _check_responses(findings, calls, run, is_late=is_late)
        if kind in (_CALL, _RESPONSE):  # calls that were split over contents are answered together
            calls = run if kind == _CALL else []
        is_late = kind == "other"
    for index, content in enumerate(contents):
        is_misplaced = contents[index - 1].role == "model" if index else not after_cache
        if content.of(_CALL) and is_misplaced:
            findings.add(content.place, "call_place")


def _step(content: Turn) -> str:
    return next((kind for kind in (_CALL, _RESPONSE) if content.of(kind)), "other")


def _check_responses(findings: Findings, calls: list[Turn], run: list[Turn], *, is_late: bool) -> None:
    responses = [part for content in run for part in content.of(_RESPONSE)]
    names = Counter(_name(part) for content in calls for part in content.of(_CALL))
    if not calls:
        findings.add(run[0].place, "orphan_response")
    elif is_late:
        findings.add(run[0].place, "late_response", f"the calls at {calls[0].place} are not just before")
    elif len(responses) != names.total():
        findings.add(run[0].place, "response_count", f"{len(responses)} responses to {names.total()} calls")
    else:
        if len(run) > 1:
            findings.add(run[1].place, "responses_split")
        for part in responses:
            names[_name(part)] -= 1
            if names[_name(part)] < 0:
                part.add("", "response_name", f"{_name(part)} was not called, or not so often")
    for content in run:
        for other in [part for part in content.parts if part.kind != _RESPONSE][:1]:
            other.add("", "responses_mixed")


def _name(part: Fields) -> str:
    return short(part.inner(part.kind).get("name"))


def _check_signatures(contents: list[Turn], model: Model) -> None:
    users = [at for at, one in enumerate(contents) if one.role == "user" and one.parts != one.of(_RESPONSE)]
    since_user, follows_calls = contents[users[-1] + 1 :] if users else contents, False
    for content in since_user if model.signs_calls else ():
        calls = content.of(_CALL)
        # Calls that were split have a fault of their own.
        if calls and not follows_calls and not calls[0].get("thoughtSignature"):
            calls[0].add("", "thought_signature", f"call of {_name(calls[0])} has none")
        follows_calls = bool(calls)
    for content in contents if model.signs_words else ():
        parts = [part for part in content.parts if part.get("thought") is not True]
        for index, part in enumerate(parts if content.role == "model" else ()):
            is_signing = part.kind == "inlineData" or (part.kind == "text" and index == 0)
            if is_signing and not part.get("thoughtSignature"):
                part.add("", "words_signature")


def _check_end(findings: Findings, contents: list[Turn], model: Model, *, after_cache: bool) -> None:
    is_refused = model.ends_with_user or (len(contents) == 1 and not after_cache)
    if contents and contents[-1].role == "model" and not contents[-1].of(_CALL) and is_refused:
        findings.add(contents[-1].place, "ends_with_model")


# Instructions and tools.


def _check_instructions(settings: Spelled) -> None:
    key = "systemInstruction"
    given = settings.one_or_each(key) if settings.has(key) else ()
    for part in [part for place, one in given for part in _read_parts(settings, place, one)]:
        if part.kind == "text":
            _check_part(part)
        else:
            part.add("", "system_content", f"{short(part.kind)} in the instructions")


def _check_tools(settings: Spelled, model: Model) -> None:
    names, has_others, most = list[Any](), False, rules.GEMINI_FUNCTION_COUNT.accepted
    for place, one in settings.each("tools") if settings.has("tools") else ():
        tool = None if callable(one) else settings.opened(place, one)  # the client declares functions itself
        foreign = next((key for key in _FOREIGN_IN_TOOLS if tool and tool.has(key)), None)
        if tool and foreign is not None:
            tool.add(foreign, "unknown_field", f"a tool has no {foreign}")
        elif tool:
            has_others |= any(_snake_case(key) != "function_declarations" for key in tool.names())
            declared = tool.objects("functionDeclarations") if tool.has("functionDeclarations") else ()
            for declaration in declared:
                _check_declaration(declaration, names)
                names.append(declaration.get("name"))
    if len(names) > most:
        settings.add("tools", "tool_count", f"{len(names)} functions, more than {most}")
    is_allowed = settings.inner("toolConfig").get("includeServerSideToolInvocations") is True
    if names and has_others and not (is_allowed and model.mixes_tools):
        settings.add("tools", "tools_mixed")


def _check_declaration(declaration: Fields, names: list[Any]) -> None:
    name = declaration.get("name")
    declaration.check("declaration")
    if isinstance(name, str) and name in names:
        declaration.add("name", "duplicate_tool", f"another function is named {short(name)}")
    check_schema(declaration, "parametersJsonSchema")
    if declaration.has("parameters") and declaration.has("parametersJsonSchema"):
        declaration.add("parametersJsonSchema", "tool_schema", "the parameters are given twice")
    elif check_parameters(declaration, "parameters"):
        check_arrays(declaration, "parameters")
