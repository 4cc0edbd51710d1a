"""The contents of a request as far as they can be read, in the spelling of the client or of the wire."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from quire.providers.checking.faults import Findings
from quire.providers.checking.reading import Fields, as_list, as_object, opened, short, type_of

DATA = {
    "text": "text",
    "inlineData": "inline_data",
    "fileData": "file_data",
    "functionCall": "function_call",
    "functionResponse": "function_response",
    "executableCode": "executable_code",
    "codeExecutionResult": "code_execution_result",
    "toolCall": "tool_call",
    "toolResponse": "tool_response",
}
"""What a part may hold, on the wire and in the client."""

_OF_FUNCTIONS = ("function", "tool")
_OF_OTHERS = ("type", "role", "content", "source", "image_url", "input_audio")
_BESIDE = {
    *("thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution"),
    *("thought_signature", "video_metadata", "part_metadata", "media_resolution"),
}


class Part(NamedTuple):
    """One part: what it holds, and where that stands."""

    place: str
    kind: str
    value: Any
    fields: Fields

    @property
    def signed(self) -> bool:
        """Whether it carries a thought signature."""
        return bool(self.fields.get(spelled(self.fields, "thoughtSignature")))

    @property
    def thought(self) -> bool:
        """Whether it is a thought, and nothing that was said."""
        return self.fields.get("thought") is True


class Content(NamedTuple):
    """One content with the parts that could be read."""

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


def spelled(fields: Fields, name: str) -> str:
    """The spelling of a field that the object uses: `fileUri` of the wire or `file_uri` of the client."""
    if fields.get(name) is not None:
        return name
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    return name if fields.get(snake) is None else snake


def read_contents(findings: Findings, value: Any) -> list[Content]:
    """The contents that can be read; the client takes a text, a part or a content for a list of one."""
    if isinstance(value, str) or as_object(value) is not None:
        return list(_content(findings, "contents", value))
    items = as_list(value)
    if items is None:
        findings.add("contents", "shape", f"must be a list, is {type_of(value)}")
        return []
    if not items:
        findings.add("contents", "no_contents", "there are no contents")
    return [
        content
        for index, item in enumerate(items)
        for content in _content(findings, f"contents[{index}]", item)
    ]


def _content(findings: Findings, place: str, value: Any) -> Iterator[Content]:
    if isinstance(value, str):
        part = Part(place, "text", value, Fields(findings, place, {"text": value}))
        yield Content(place, "user", [part])
        return
    fields = opened(findings, place, value)
    if fields is None:
        return
    if fields.get("parts") is None and fields.get("role") is None and _held(fields):
        yield Content(place, "user", list(read_part(findings, place, value)))
        return
    parts = list(read_parts(fields))
    yield Content(place, _role(fields, parts), parts)


def _role(fields: Fields, parts: list[Part]) -> str:
    role = fields.get("role")
    if role is None or (role in _OF_FUNCTIONS and {part.kind for part in parts} == {"functionResponse"}):
        return "user"
    if role not in ("user", "model"):
        fields.add("role", "role", f"role {short(role)} is neither user nor model")
        return ""
    return str(role)


def read_parts(fields: Fields) -> Iterator[Part]:
    """The parts of a content that can be read."""
    items = as_list(fields.get("parts"))
    if items is None:
        fields.add("parts", "shape", f"must be a list, is {type_of(fields.get('parts'))}")
        return
    if not items:
        fields.add("parts", "empty_parts", "there are no parts")
    for index, item in enumerate(items):
        yield from read_part(fields.findings, f"{fields.at('parts')}[{index}]", item)


def read_part(findings: Findings, place: str, value: Any) -> Iterator[Part]:
    """A part, if it holds one thing and not several."""
    fields = opened(findings, place, value)
    if fields is None:
        return
    held = _held(fields)
    foreign = next((key for key in _OF_OTHERS if fields.get(key) is not None), None)
    if foreign is not None:
        fields.add(foreign, "unknown_field", f"a part has no {foreign}: what it holds says what it is")
    elif len(held) > 1:
        fields.add("", "several_fields", f"the part holds {' and '.join(held)}")
    elif held:
        yield Part(place, held[0], fields.get(spelled(fields, held[0])), fields)
    elif all(key in _BESIDE or field is None for key, field in (as_object(value) or {}).items()):
        fields.add("", "empty_part", "the part holds nothing")
    else:
        # What newer models may put there is not known here.
        yield Part(place, "", None, fields)


def _held(fields: Fields) -> list[str]:
    return [
        wire
        for wire, client in DATA.items()
        if fields.get(wire) is not None or fields.get(client) is not None
    ]
