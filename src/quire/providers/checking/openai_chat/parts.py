"""The content of a message: a string, or parts that its role may have."""

from collections.abc import Callable

from quire.providers.checking.openai_chat.media import check_audio, check_file_data, check_image_url
from quire.providers.checking.reading import Fields, as_list, opened, short, type_of

TEXT_ONLY = frozenset({"text"})
PARTS: dict[str, frozenset[str]] = {
    "user": frozenset({"text", "image_url", "input_audio", "file"}),
    "assistant": frozenset({"text", "refusal"}),
}
THINKING = "thinking"
"""A part of an assistant's content that some services of this wire give and take back, OpenAI itself not."""


def check_content(message: Fields, role: str, *, thinks: bool = False) -> None:
    """The content of a message that has to have one."""
    content = message.get("content")
    if isinstance(content, str):
        return
    if content is None:
        message.add("content", "content_missing", f"is null in a message with the role {role}")
    elif role == "function" or as_list(content) is None:
        message.add("content", "shape", f"is {type_of(content)} in a message with the role {role}")
    else:
        _check_parts(message, role, thinks)


def _check_parts(message: Fields, role: str, thinks: bool) -> None:
    for place, value in message.each("content"):
        part = opened(message.findings, place, value)
        kind = part.text("type") if part else None
        if part is None or kind is None:
            continue
        if kind == THINKING and thinks and as_list(part.get(THINKING)) is not None:
            for inner, piece in part.each(THINKING):
                opened(message.findings, inner, piece)
        elif kind not in _CHECKS:
            part.add("type", "unknown_part", f"is {short(kind)}")
        elif kind not in PARTS.get(role, TEXT_ONLY):
            part.add("", "part_for_role", f"is {kind} in a message with the role {role}")
        else:
            _CHECKS[kind](part)


def _check_text(part: Fields) -> None:
    part.text("text")


def _check_refusal(part: Fields) -> None:
    part.text("refusal")


def _check_image(part: Fields) -> None:
    image = part.object("image_url")
    if image:
        check_image_url(image, "url")


def _check_audio(part: Fields) -> None:
    audio = part.object("input_audio")
    if audio:
        check_audio(audio)


def _check_file(part: Fields) -> None:
    file = part.object("file")
    if file is None:
        return
    if file.get("file_id") is None and file.get("file_data") is None:
        file.add("", "file_source", "has neither file_id nor file_data")
    file.optional_text("file_id")
    check_file_data(file, "file_data")


_CHECKS: dict[str, Callable[[Fields], None]] = {
    "text": _check_text,
    "refusal": _check_refusal,
    "image_url": _check_image,
    "input_audio": _check_audio,
    "file": _check_file,
}
