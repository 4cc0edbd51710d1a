"""The content of messages and the outputs of tools: a string, or parts that may stand there."""

from collections.abc import Callable

from quire.providers.checking.openai_chat.media import check_audio, check_file_data, check_image_url
from quire.providers.checking.reading import Fields, as_list, opened, short, type_of

FROM_MODEL = frozenset({"output_text", "refusal"})
TO_MODEL = frozenset({"input_text", "input_image", "input_audio", "input_file"})
# Named by the API's own answers as values it takes; what is in them is not ours to judge.
OPAQUE = frozenset({"computer_screenshot", "summary_text", "scoped_content", "encrypted_content"})
FROM_TOOL = frozenset({"input_text", "input_image", "input_file"})


def check_content(message: Fields, role: str) -> None:
    """The content of a message."""
    content = message.get("content")
    if content is None:
        message.add("content", "content_missing", f"is null in a message with the role {short(role)}")
    elif not isinstance(content, str):
        allowed = FROM_MODEL if role == "assistant" else TO_MODEL | OPAQUE
        _check_parts(message, "content", allowed, f"a message with the role {short(role)}")


def check_output(item: Fields) -> None:
    """The output of a function or of a custom tool."""
    output = item.get("output")
    if not isinstance(output, str):
        _check_parts(item, "output", FROM_TOOL | OPAQUE, "the output of a tool")


def _check_parts(item: Fields, key: str, allowed: frozenset[str], where: str) -> None:
    if as_list(item.get(key)) is None:
        item.add(key, "shape", f"must be a string or a list of parts, is {type_of(item.get(key))}")
        return
    for place, value in item.each(key):
        part = opened(item.findings, place, value)
        kind = part.text("type") if part else None
        if part is None or kind is None:
            continue
        if kind not in FROM_MODEL | TO_MODEL | OPAQUE:
            part.add("type", "unknown_part", f"is {short(kind)}")
        elif kind not in allowed:
            part.add("type", "part_for_role", f"is {kind} in {where}")
        elif kind in _CHECKS:
            _CHECKS[kind](part)


def _check_text(part: Fields) -> None:
    part.text("text")


def _check_refusal(part: Fields) -> None:
    part.text("refusal")


def _check_image(part: Fields) -> None:
    part.optional_text("file_id")
    if part.get("image_url") is not None:
        check_image_url(part, "image_url")
    elif part.get("file_id") is None:
        part.add("", "image_source", "has neither image_url nor file_id")


def _check_audio(part: Fields) -> None:
    audio = part.object("input_audio")
    if audio:
        check_audio(audio)


def _check_file(part: Fields) -> None:
    if all(part.get(key) is None for key in ("file_id", "file_url", "file_data")):
        part.add("", "file_source", "has neither file_id nor file_url nor file_data")
    part.optional_text("file_id")
    part.optional_text("file_url")
    check_file_data(part, "file_data")


_CHECKS: dict[str, Callable[[Fields], None]] = {
    "input_text": _check_text,
    "output_text": _check_text,
    "refusal": _check_refusal,
    "input_image": _check_image,
    "input_audio": _check_audio,
    "input_file": _check_file,
}
