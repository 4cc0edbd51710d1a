"""The checks of Gemini's generateContent, in the spelling of the client or of the wire."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
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
    opened,
    short,
    type_of,
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


class Part(NamedTuple):
    """A part and what it holds; `kind` is empty for what newer models may hold."""

    kind: str
    value: Any
    fields: Fields

    @property
    def place(self) -> str:
        """The path of the part."""
        return self.fields.place

    @property
    def is_signed(self) -> bool:
        """Whether it carries a thought signature."""
        return bool(self.fields.get(_spelled(self.fields, "thoughtSignature")))

    @property
    def name(self) -> str | None:
        """The function that a call or a response names."""
        name = (as_object(self.value) or {}).get("name")
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
        found = self._NAME.search(_resolved(lower))
        version = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
        draws, on_vertex = "image" in lower, cloud_of(lower) == "vertex"
        self.needs_call_signatures = version >= (3, 0) and not draws
        self.needs_part_signatures = version >= (3, 0) and draws and not on_vertex
        self.mixes_tools = not (0, 0) < version < (3, 0) and not on_vertex
        self.ends_with_user = version > (3, 1)


def _resolved(name: str) -> str:
    """The model that a name such as `gemini-flash-latest` stands for now."""
    try:
        return model_named(name)
    except InvalidValue:  # nothing is left of the name without its route
        return name


def check_request(body: Fields, model_name: str | None) -> None:
    """Find what generateContent refuses or misreads in a request."""
    findings, model = body.findings, Model(model_name)
    contents = _read_contents(body)
    for content in contents:
        _check_parts(content)
    if not findings.any_of(_UNREADABLE):
        config = Fields(findings, "config", as_object(body.get("config")) or {})
        cached = any(fields.has("cachedContent", "cached_content") for fields in (body, config))
        _Pairing(findings, after_cache=cached).check(contents)
        _check_signatures(findings, contents, model)
        _check_alone(findings, contents)
        _check_end(findings, contents, model, after_cache=cached)
    # On the wire, instructions and tools stand beside the contents; the client has them in `config`.
    config = opened(findings, "config", body.get("config")) if body.has("config") else None
    for settings in (body, config) if config else (body,):
        _check_instructions(settings)
        _check_tools(settings, model)
    check_texts(body)


# Reading contents.


def _spelled(fields: Fields, name: str) -> str:
    """The spelling of a field that an object uses: `fileUri` of the wire, or `file_uri` of the client."""
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    return snake if fields.has(snake) and not fields.has(name) else name


def _read_contents(body: Fields) -> list[Content]:
    """The contents that can be read; the client takes a text, a part or a content for a list of one."""
    value = body.get("contents")
    if isinstance(value, str) or as_object(value) is not None:
        return list(_read_content(body.findings, "contents", value))
    if as_list(value) == [] or as_list(value) == ():
        body.add("contents", "no_contents")
    elements = body.each("contents")
    return [content for place, one in elements for content in _read_content(body.findings, place, one)]


def _read_content(findings: Findings, place: str, value: Any) -> Iterator[Content]:
    if isinstance(value, str):
        yield Content(place, "user", [_text_part(findings, place, value)])
        return
    fields = opened(findings, place, value)
    if fields is None:
        return
    if not fields.has("parts", "role") and _held(fields):
        yield Content(place, "user", list(_read_part(fields)))
        return
    parts = list(_read_parts(fields))
    yield Content(place, _read_role(fields, parts), parts)


def _read_role(fields: Fields, parts: list[Part]) -> str:
    role = fields.get("role")
    is_result = role in ("function", "tool") and {part.kind for part in parts} == {"functionResponse"}
    if role is None or is_result:
        return "user"
    if role not in ("user", "model"):
        fields.add("role", "role", f"role {short(role)} is neither user nor model")
        return ""
    return str(role)


def _text_part(findings: Findings, place: str, text: str) -> Part:
    return Part("text", text, Fields(findings, place, {"text": text}))


def _read_parts(content: Fields) -> Iterator[Part]:
    if as_list(content.get("parts")) is not None and not content.get("parts"):
        content.add("parts", "empty_parts")
    for part in content.each_object("parts"):
        if part is not None:
            yield from _read_part(part)


def _read_part(part: Fields) -> Iterator[Part]:
    """The part, if it holds one thing and not several."""
    held = _held(part)
    foreign = next((key for key in _FOREIGN_IN_PARTS if part.has(key)), None)
    if foreign is not None:
        part.add(foreign, "unknown_field", f"a part has no {foreign}")
    elif len(held) > 1:
        part.add("", "several_fields", f"the part holds {' and '.join(held)}")
    elif held:
        yield Part(held[0], part.get(_spelled(part, held[0])), part)
    elif _BESIDE.issuperset(part.names()):
        part.add("", "empty_part")
    else:
        yield Part("", None, part)


def _held(part: Fields) -> list[str]:
    return [name for name in _DATA if part.has(_spelled(part, name))]


# Parts, each by itself.


def _check_parts(content: Content) -> None:
    for part in content.parts:
        if part.kind == "functionCall" and content.role == "user":
            part.fields.add("", "call_role", "a call in a content of the user")
        key = _spelled(part.fields, "thoughtSignature")
        signature = part.fields.get(key)
        if isinstance(signature, str) and signature and not is_base64(signature):
            part.fields.add(key, "signature_data")
        if part.kind == "text":
            _check_text(part)
        elif part.kind in _PART_CHECKS:
            held = part.fields.object(_spelled(part.fields, part.kind))
            if held is not None:
                _PART_CHECKS[part.kind](held)
    if content.calls and content.responses:
        content.responses[0].fields.add("", "call_role", "a response in a content with calls")
    elif content.responses and content.role == "model":
        content.responses[0].fields.add("", "response_role", "a response in a content of the model")


def _check_text(part: Part) -> None:
    if not isinstance(part.value, str):
        part.fields.add("text", "shape", f"must be a string, is {type_of(part.value)}")
    elif not part.value and not part.is_signed:
        part.fields.add("", "empty_text")


def _check_call(call: Fields) -> None:
    _check_function_name(call)
    if call.has("args") and as_object(call.get("args")) is None:
        call.add("args", "call_args", f"must be an object, is {type_of(call.get('args'))}")


def _check_response(response: Fields) -> None:
    _check_function_name(response)
    value = response.get("response")
    if as_object(value) is None and not (value is None and response.get("parts")):
        response.add("response", "response_object", f"must be an object, is {type_of(value)}")
    for index, part in enumerate(objects_in(response.get("parts"))):
        nested = Fields(response.findings, f"{response.at('parts')}[{index}]", part)
        key = _spelled(nested, "inlineData")
        data = as_object(nested.get(key))
        if data is not None:
            _check_inline_data(Fields(response.findings, nested.at(key), data))


def _check_function_name(function: Fields) -> None:
    if not isinstance(function.get("name"), str) or not function.get("name"):
        function.add("name", "call_name", f"the function has no name: {short(function.get('name'))}")


def _check_inline_data(inline: Fields) -> None:
    key, data = _spelled(inline, "mimeType"), inline.get("data")
    if not isinstance(inline.get(key), str) or not inline.get(key):
        inline.add(key, "media_type")
    # The client takes bytes and writes base64 itself.
    if not (isinstance(data, bytes) and data) and not (isinstance(data, str) and is_base64(data)):
        inline.add("data", "media_data")
    check_signature(inline, "media_type", inline.get(key), data)


def _check_file(file: Fields) -> None:
    key = _spelled(file, "fileUri")
    if not isinstance(file.get(key), str) or not file.get(key):
        file.add(key, "media_source")


_PART_CHECKS: dict[str, Callable[[Fields], None]] = {
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
            where = "comes first" if before is None else "follows another content of the model"
            self._findings.add(content.place, "call_place", f"the content with calls {where}")
        # Calls that were split over contents are answered together.
        if before is None or not before.calls or self._is_late:
            self._leave_open()
            self._place = content.place
        self._calls.extend(content.calls)

    def _answer(self, run: list[Content]) -> None:
        if self._unseen:
            return
        place, responses = run[0].place, [part for content in run for part in content.responses]
        if not self._calls:
            text = f"{len(responses)} responses and no calls before them"
            self._findings.add(place, "orphan_response", text)
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
            text = f"{len(responses)} responses are split over {len(run)} contents"
            self._findings.add(run[1].place, "responses_split", text)
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
            is_image = part.kind == "inlineData"
            if (is_image or (part.kind == "text" and index == 0)) and not part.is_signed:
                noun = "image" if is_image else "first text"
                findings.add(part.place, "words_signature", f"the {noun} of the model's content has none")


def _since_user(contents: list[Content]) -> list[Content]:
    """The contents after the last one of the user that is more than responses."""
    for index in range(len(contents) - 1, -1, -1):
        content = contents[index]
        if content.role == "user" and len(content.responses) < len(content.parts):
            return contents[index + 1 :]
    return contents


def _check_alone(findings: Findings, contents: list[Content]) -> None:
    for content in contents:
        other = next((part for part in content.parts if part.kind != "functionResponse"), None)
        if content.responses and other is not None:
            findings.add(other.place, "responses_mixed")


def _check_end(findings: Findings, contents: list[Content], model: Model, *, after_cache: bool) -> None:
    if not contents or contents[-1].role != "model" or contents[-1].calls:
        return
    if (len(contents) == 1 and not after_cache) or model.ends_with_user:
        findings.add(contents[-1].place, "ends_with_model")


# Instructions and tools.


def _check_instructions(settings: Fields) -> None:
    key = _spelled(settings, "systemInstruction")
    value, place = settings.get(key), settings.at(key)
    for part in () if value is None else _read_instructions(settings.findings, place, value):
        if part.kind == "text":
            _check_text(part)
        else:
            part.fields.add("", "system_content", f"{short(part.kind)} in the instructions")


def _read_instructions(findings: Findings, place: str, value: Any) -> Iterator[Part]:
    """The parts of instructions: a text, a part, a content, or a list of texts and parts."""
    elements = as_list(value)
    if isinstance(value, str):
        yield _text_part(findings, place, value)
    elif elements is not None:
        for index, one in enumerate(elements):
            if isinstance(one, str):
                yield _text_part(findings, f"{place}[{index}]", one)
            elif part := opened(findings, f"{place}[{index}]", one):
                yield from _read_part(part)
    elif fields := opened(findings, place, value):
        yield from _read_part(fields) if fields.has("text") else _read_parts(fields)


def _check_tools(settings: Fields, model: Model) -> None:
    if not settings.has("tools"):
        return
    names: set[str] = set()
    count = 0
    for place, tool in settings.each("tools"):
        if not callable(tool):  # the client declares Python functions itself
            count += _check_tool(opened(settings.findings, place, tool), names)
    most = rules.GEMINI_FUNCTION_COUNT.accepted
    if count > most:
        settings.add("tools", "tool_count", f"{count} functions, more than {most}")
    own = {
        key for tool in objects_in(settings.get("tools")) for key, value in tool.items() if value is not None
    }
    if count and own - {"functionDeclarations", "function_declarations"}:
        _check_mixed(settings, model)


def _check_mixed(settings: Fields, model: Model) -> None:
    key = _spelled(settings, "toolConfig")
    config = Fields(settings.findings, settings.at(key), as_object(settings.get(key)) or {})
    is_allowed = config.get(_spelled(config, "includeServerSideToolInvocations")) is True
    if not (model.mixes_tools and is_allowed):
        settings.add("tools", "tools_mixed")


def _check_tool(tool: Fields | None, names: set[str]) -> int:
    """Check the declarations of one tool; return their count."""
    if tool is None:
        return 0
    foreign = next((key for key in _FOREIGN_IN_TOOLS if tool.has(key)), None)
    if foreign is not None:
        tool.add(foreign, "unknown_field", f"a tool has no {foreign}")
        return 0
    key = _spelled(tool, "functionDeclarations")
    for declaration in tool.each_object(key) if tool.has(key) else ():
        if declaration is not None:
            _check_declaration(declaration, names)
    return len(as_list(tool.get(key)) or ())


def _check_declaration(declaration: Fields, names: set[str]) -> None:
    name = declaration.get("name")
    if not isinstance(name, str) or not rules.GEMINI_FUNCTION_NAME.accepted.fullmatch(name):
        declaration.add("name", "tool_name", f"{short(name)} is no name of a function")
    elif name in names:
        declaration.add("name", "duplicate_tool", f"another function is named {short(name)}")
    else:
        names.add(name)
    _check_parameters(declaration)


def _check_parameters(declaration: Fields) -> None:
    parameters, other = declaration.get("parameters"), _spelled(declaration, "parametersJsonSchema")
    check_schema(declaration, other)
    if parameters is None:
        return
    schema = as_object(parameters)
    if schema is None:
        declaration.add("parameters", "tool_schema", f"must be an object, is {type_of(parameters)}")
    elif declaration.has(other):
        declaration.add(other, "tool_schema", "the parameters are given twice")
    elif schema.get("properties") is not None and as_object(schema["properties"]) is None:
        text = f"must be an object, is {type_of(schema['properties'])}"
        declaration.add("parameters.properties", "tool_schema", text)
    elif schema and str(schema.get("type")).upper() != "OBJECT":
        declaration.add("parameters.type", "tool_schema", "the schema is not of type object")
    else:
        check_arrays(declaration, "parameters")
