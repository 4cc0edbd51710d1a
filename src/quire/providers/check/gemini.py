"""The checks of Gemini's generateContent, in the spelling of the client or of the wire."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from quire.errors import InvalidValue
from quire.providers import rules
from quire.providers.check.core import (
    Fields,
    Findings,
    as_list,
    as_object,
    check_signature,
    check_texts,
    is_base64,
    objects_in,
    short,
    version_in,
)
from quire.providers.check.schema import check_arrays, check_schema
from quire.providers.profiles import cloud_of
from quire.tokens import model_named

_DATA = (
    *("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode"),
    *("codeExecutionResult", "toolCall", "toolResponse"),
)
"""What a part may hold."""
_BESIDE = frozenset(
    (
        *("thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution"),
        *("thought_signature", "video_metadata", "part_metadata", "media_resolution"),
    )
)
_FOREIGN_IN_PARTS = ("type", "role", "content", "source", "image_url", "input_audio")
_FOREIGN_IN_TOOLS = ("type", "function", "input_schema")
_UNREADABLE = (
    *("shape", "role", "unknown_field", "several_fields", "empty_part", "empty_parts"),
    *("call_role", "response_role"),
)
"""Faults after which pairing is not checked: what the unreadable part answers is not known."""


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


@cache
def _snake_case(key: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key)


class Part(NamedTuple):
    """A part and what it holds; `kind` is empty for what newer models may hold."""

    kind: str
    fields: Spelled

    @property
    def place(self) -> str:
        """The path of the part."""
        return self.fields.place

    @property
    def is_signed(self) -> bool:
        """Whether it carries a thought signature."""
        return bool(self.fields.get("thoughtSignature"))

    @property
    def name(self) -> str | None:
        """The function that a call or a response names."""
        name = (as_object(self.fields.get(self.kind)) or {}).get("name")
        return name if isinstance(name, str) else None


class Content(NamedTuple):
    """A content and its readable parts."""

    place: str
    role: str
    parts: list[Part]

    @property
    def calls(self) -> list[Part]:
        """Its function calls."""
        return [part for part in self.parts if part.kind == "functionCall"]

    @property
    def responses(self) -> list[Part]:
        """Its function responses."""
        return [part for part in self.parts if part.kind == "functionResponse"]


class Model:
    """What a model asks for, by its name; an unknown name is held to no rule of a model."""

    _NAME = re.compile(r"gemini-(\d+)(?:\.(\d+))?")

    def __init__(self, name: str | None) -> None:
        lower = (name or "").lower()
        try:
            named = model_named(lower)  # `gemini-flash-latest` stands for a version
        except InvalidValue:  # nothing is left of the name without its route
            named = ""
        version = version_in(named, self._NAME)
        is_image_model, on_vertex = "image" in lower, cloud_of(lower) == "vertex"
        self.needs_call_signatures = version >= (3, 0) and not is_image_model
        self.needs_part_signatures = version >= (3, 0) and is_image_model and not on_vertex
        self.mixes_tools = not (0, 0) < version < (3, 0) and not on_vertex
        self.ends_with_user = version > (3, 1)


def check_request(request: Fields, model_name: str | None) -> None:
    """Find what generateContent refuses or misreads in a request."""
    body, model = Spelled(request.findings, "", request.values), Model(model_name)
    findings, contents = body.findings, _read_contents(body)
    for content in contents:
        _check_parts(content)
    if not findings.any_of(_UNREADABLE):
        holders = (body, body.within("config", body.dict("config")))
        is_cached = any(holder.has("cachedContent") for holder in holders)
        _Pairing(findings, after_cache=is_cached).check(contents)
        _check_signatures(findings, contents, model)
        _check_order(findings, contents, model, after_cache=is_cached)
    # On the wire, instructions and tools stand beside the contents; the client has them in `config`.
    config = body.object("config") if body.has("config") else None
    for settings in filter(None, (body, config)):
        _check_instructions(settings)
        _check_tools(settings, model)
    check_texts(body)


# Reading contents.


def _read_contents(body: Spelled) -> list[Content]:
    """The contents that can be read; the client takes a text, a part or a content for a list of one."""
    value = body.get("contents")
    if isinstance(value, str) or as_object(value) is not None:
        return list(_read_content(body, "contents", value))
    if as_list(value) is not None and not value:
        body.add("contents", "no_contents")
    return [content for place, one in body.each("contents") for content in _read_content(body, place, one)]


def _read_content(body: Spelled, place: str, value: Any) -> Iterator[Content]:
    if isinstance(value, str):
        yield Content(place, "user", [Part("text", body.within(place, {"text": value}))])
        return
    fields = body.opened(place, value)
    if fields is None:
        return
    if not fields.has("parts", "role") and fields.has(*_DATA):
        yield Content(place, "user", list(_read_part(fields)))
        return
    parts, role = list(_read_parts(fields)), fields.get("role")
    is_result = role in ("function", "tool") and {part.kind for part in parts} == {"functionResponse"}
    if role is not None and role not in ("user", "model") and not is_result:
        fields.add("role", "role", f"role {short(role)} is neither user nor model")
    yield Content(place, "user" if role is None or is_result else str(role), parts)


def _read_parts(content: Spelled) -> Iterator[Part]:
    if as_list(content.get("parts")) is not None and not content.get("parts"):
        content.add("parts", "empty_parts")
    for part in filter(None, content.each_object("parts")):
        yield from _read_part(part)


def _read_part(part: Spelled) -> Iterator[Part]:
    """The part, if it holds one thing and not several."""
    held = [name for name in _DATA if part.has(name)]
    foreign = next((key for key in _FOREIGN_IN_PARTS if part.has(key)), None)
    if foreign is not None:
        part.add(foreign, "unknown_field", f"a part has no {foreign}")
    elif len(held) > 1:
        part.add("", "several_fields", f"the part holds {' and '.join(held)}")
    elif not held and _BESIDE.issuperset(part.names()):
        part.add("", "empty_part")
    else:
        yield Part(held[0] if held else "", part)


# Parts, each by itself.


def _check_parts(content: Content) -> None:
    for part in content.parts:
        signature = part.fields.get("thoughtSignature")
        if part.kind == "functionCall" and content.role == "user":
            part.fields.add("", "call_role", "a call in a content of the user")
        if isinstance(signature, str) and signature and not is_base64(signature):
            part.fields.add("thoughtSignature", "signature_data")
        if part.kind == "text":
            _check_text(part)
        elif part.kind in _PART_CHECKS:
            held = part.fields.object(part.kind)
            if held is not None:
                _PART_CHECKS[part.kind](held)
    if content.calls and content.responses:
        content.responses[0].fields.add("", "call_role", "a response in a content with calls")
    elif content.responses and content.role == "model":
        content.responses[0].fields.add("", "response_role")


def _check_text(part: Part) -> None:
    if part.fields.text("text") == "" and not part.is_signed:
        part.fields.add("", "empty_text")


def _check_call(call: Spelled) -> None:
    _check_filled(call, "name", "call_name")
    if call.has("args") and as_object(call.get("args")) is None:
        call.must_be("args", "an object", "call_args")


def _check_response(response: Spelled) -> None:
    _check_filled(response, "name", "call_name")
    value = response.get("response")
    if as_object(value) is None and not (value is None and response.get("parts")):
        response.must_be("response", "an object", "response_object")
    for index, part in enumerate(objects_in(response.get("parts"))):
        nested = response.within(f"{response.at('parts')}[{index}]", part)
        if as_object(nested.get("inlineData")) is not None:
            _check_inline_data(nested.within(nested.at("inlineData"), nested.get("inlineData")))


def _check_inline_data(inline: Spelled) -> None:
    data = inline.get("data")
    _check_filled(inline, "mimeType", "media_type")
    # The client takes bytes and writes base64 itself.
    if not (isinstance(data, bytes) and data) and not (isinstance(data, str) and is_base64(data)):
        inline.add("data", "media_data")
    check_signature(inline, "media_type", inline.get("mimeType"), data)


def _check_file(file: Spelled) -> None:
    _check_filled(file, "fileUri", "media_source")


def _check_filled(fields: Spelled, key: str, rule: str) -> None:
    if not isinstance(fields.get(key), str) or not fields.get(key):
        fields.add(key, rule)


_PART_CHECKS: dict[str, Callable[[Spelled], None]] = {
    "functionCall": _check_call,
    "functionResponse": _check_response,
    "inlineData": _check_inline_data,
    "fileData": _check_file,
}


# Order: calls and responses, signatures, the end.


class _Pairing:
    """Pairs calls with the responses right after them; what a cache holds is not seen."""

    def __init__(self, findings: Findings, *, after_cache: bool) -> None:
        self._findings = findings
        self._unseen = after_cache
        self._calls: list[Part] = []
        self._place = ""
        self._is_late = False

    def check(self, contents: list[Content]) -> None:
        """Find calls and responses that do not meet."""
        start = 0
        while start < len(contents):
            content, end = contents[start], start + 1
            if content.calls:
                self._call(content, contents[start - 1] if start else None)
            elif content.responses:
                while end < len(contents) and contents[end].responses and not contents[end].calls:
                    end += 1
                self._answer(contents[start:end])
            elif self._calls:
                self._is_late = True
            start, self._unseen = end, False
        self._leave_open()

    def _leave_open(self) -> None:
        if self._calls:
            self._findings.add(self._place, "unanswered_call", f"{len(self._calls)} calls and no response")
        self._calls, self._is_late = [], False

    def _call(self, content: Content, before: Content | None) -> None:
        if not self._unseen and (before is None or before.role == "model"):
            self._findings.add(content.place, "call_place")
        # Calls that were split over contents are answered together.
        if before is None or not before.calls or self._is_late:
            self._leave_open()
            self._place = content.place
        self._calls.extend(content.calls)

    def _answer(self, run: list[Content]) -> None:
        place, responses = run[0].place, [part for content in run for part in content.responses]
        if self._unseen:
            return
        if not self._calls:
            self._findings.add(place, "orphan_response")
        elif self._is_late:
            self._findings.add(place, "late_response", f"the calls at {self._place} are not just before")
        elif len(responses) != len(self._calls):
            text = f"{len(responses)} responses to {len(self._calls)} calls"
            self._findings.add(place, "response_count", text)
        else:
            self._check_names(run, responses)
        self._calls, self._is_late = [], False

    def _check_names(self, run: list[Content], responses: list[Part]) -> None:
        if len(run) > 1:
            self._findings.add(run[1].place, "responses_split")
        called = Counter(part.name for part in self._calls)
        for part in responses:
            called[part.name] -= 1
            if called[part.name] < 0:
                text = f"{short(part.name)} was not called, or not so often"
                self._findings.add(part.place, "response_name", text)


def _check_signatures(findings: Findings, contents: list[Content], model: Model) -> None:
    follows_calls = False
    for content in _since_user(contents) if model.needs_call_signatures else ():
        calls = content.calls
        if calls and not follows_calls and not calls[0].is_signed:  # split calls have a fault of their own
            findings.add(calls[0].place, "thought_signature", f"call of {short(calls[0].name)} has none")
        follows_calls = bool(calls)
    for content in contents if model.needs_part_signatures else ():
        parts = [part for part in content.parts if part.fields.get("thought") is not True]
        for index, part in enumerate(parts if content.role == "model" else ()):
            is_first_text = part.kind == "text" and index == 0
            if (is_first_text or part.kind == "inlineData") and not part.is_signed:
                findings.add(part.place, "words_signature")


def _since_user(contents: list[Content]) -> list[Content]:
    """The contents after the last one of the user that is more than responses."""
    for index in range(len(contents) - 1, -1, -1):
        content = contents[index]
        if content.role == "user" and len(content.responses) < len(content.parts):
            return contents[index + 1 :]
    return contents


def _check_order(findings: Findings, contents: list[Content], model: Model, *, after_cache: bool) -> None:
    for content in contents:
        other = next((part for part in content.parts if part.kind != "functionResponse"), None)
        if content.responses and other is not None:
            findings.add(other.place, "responses_mixed")
    last = contents[-1] if contents else None
    is_refused = (len(contents) == 1 and not after_cache) or model.ends_with_user
    if last and last.role == "model" and not last.calls and is_refused:
        findings.add(last.place, "ends_with_model")


# Instructions and tools.


def _check_instructions(settings: Spelled) -> None:
    value, place = settings.get("systemInstruction"), settings.at("systemInstruction")
    for part in () if value is None else _read_instructions(settings, place, value):
        if part.kind == "text":
            _check_text(part)
        else:
            part.fields.add("", "system_content", f"{short(part.kind)} in the instructions")


def _read_instructions(settings: Spelled, place: str, value: Any) -> Iterator[Part]:
    """The parts of instructions: a text, a part, a content, or a list of texts and parts."""
    if isinstance(value, str):
        yield Part("text", settings.within(place, {"text": value}))
        return
    for index, one in enumerate(as_list(value) or ()):
        if isinstance(one, str):
            yield Part("text", settings.within(f"{place}[{index}]", {"text": one}))
        elif part := settings.opened(f"{place}[{index}]", one):
            yield from _read_part(part)
    if as_list(value) is None and (fields := settings.opened(place, value)):
        yield from _read_part(fields) if fields.has("text") else _read_parts(fields)


def _check_tools(settings: Spelled, model: Model) -> None:
    names, count = set[str](), 0
    for place, tool in settings.each("tools") if settings.has("tools") else ():
        if not callable(tool):  # the client declares Python functions itself
            count += _check_tool(settings.opened(place, tool), names)
    most = rules.GEMINI_FUNCTION_COUNT.accepted
    if count > most:
        settings.add("tools", "tool_count", f"{count} functions, more than {most}")
    given = {
        key for tool in objects_in(settings.get("tools")) for key, value in tool.items() if value is not None
    }
    config = settings.within("", settings.dict("toolConfig"))
    is_allowed = model.mixes_tools and config.get("includeServerSideToolInvocations") is True
    if count and given - {"functionDeclarations", "function_declarations"} and not is_allowed:
        settings.add("tools", "tools_mixed")


def _check_tool(tool: Spelled | None, names: set[str]) -> int:
    """Check the declarations of one tool; return their count."""
    foreign = next((key for key in _FOREIGN_IN_TOOLS if tool.has(key)), None) if tool else None
    if tool and foreign is not None:
        tool.add(foreign, "unknown_field", f"a tool has no {foreign}")
    if tool is None or foreign is not None or not tool.has("functionDeclarations"):
        return 0
    declarations = list(tool.each_object("functionDeclarations"))
    for declaration in filter(None, declarations):
        name = declaration.get("name")
        if not isinstance(name, str) or not rules.GEMINI_FUNCTION_NAME.accepted.fullmatch(name):
            declaration.add("name", "tool_name", f"{short(name)} is no name of a function")
        elif name in names:
            declaration.add("name", "duplicate_tool", f"another function is named {short(name)}")
        else:
            names.add(name)
        _check_parameters(declaration)
    return len(declarations)


def _check_parameters(declaration: Spelled) -> None:
    parameters, schema = declaration.get("parameters"), as_object(declaration.get("parameters"))
    check_schema(declaration, "parametersJsonSchema")
    if parameters is None:
        return
    if schema is None:
        declaration.must_be("parameters", "an object", "tool_schema")
    elif declaration.has("parametersJsonSchema"):
        declaration.add("parametersJsonSchema", "tool_schema", "the parameters are given twice")
    elif schema.get("properties") is not None and as_object(schema["properties"]) is None:
        declaration.add("parameters.properties", "tool_schema", "must be an object")
    elif schema and str(schema.get("type")).upper() != "OBJECT":
        declaration.add("parameters.type", "tool_schema", "the schema is not of type object")
    else:
        check_arrays(declaration, "parameters")
