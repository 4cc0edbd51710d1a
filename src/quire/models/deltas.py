"""What an event of a stream tells beside words: thoughts, and calls that begin, as each wire has them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from quire.models.answering import Delta

_Event = Mapping[str, Any]
_THOUGHTS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_CALLS = ("function_call", "custom_tool_call")


def beside(wire: str, names: Mapping[str, str]) -> Callable[[_Event], Iterable[Delta]]:
    """What finds thoughts and calls in the events of a wire; `names` are the tools' own by those sent."""
    find = _FINDERS[wire]

    def found(event: _Event) -> Iterator[Delta]:
        for delta in find(event):
            if delta.text:
                yield (
                    delta._replace(text=names.get(delta.text, delta.text)) if delta.kind == "call" else delta
                )

    return found


def _chat(event: _Event) -> Iterator[Delta]:
    for choice in _objects(event.get("choices")):
        delta = _object(choice.get("delta") or choice.get("message"))
        yield _thought(delta.get("reasoning_content") or delta.get("reasoning"))
        for chunk in _objects(delta.get("content")):
            for piece in _objects(chunk.get("thinking")):
                yield _thought(piece.get("text"))
        for call in _objects(delta.get("tool_calls")):
            # The name comes once, in the first piece of a call.
            yield _call(_object(call.get("function") or call.get("custom")).get("name"))


def _responses(event: _Event) -> Iterator[Delta]:
    if event.get("type") in _THOUGHTS:
        yield _thought(event.get("delta"))
    elif event.get("type") == "response.output_item.added":
        yield from _output(_object(event.get("item")))
    else:
        for item in _objects(event.get("output")):
            yield from _output(item)


def _output(item: _Event) -> Iterator[Delta]:
    if item.get("type") in _CALLS:
        yield _call(item.get("name"))
    for part in _objects(item.get("summary")):
        yield _thought(part.get("text"))


def _anthropic(event: _Event) -> Iterator[Delta]:
    if event.get("type") == "content_block_delta":
        yield _thought(_object(event.get("delta")).get("thinking"))
    elif event.get("type") == "content_block_start":
        yield from _block(_object(event.get("content_block")))
    else:
        for block in _objects(event.get("content")):
            yield from _block(block)


def _block(block: _Event) -> Iterator[Delta]:
    yield _thought(block.get("thinking"))
    if block.get("type") == "tool_use":
        yield _call(block.get("name"))


def _gemini(event: _Event) -> Iterator[Delta]:
    for candidate in _objects(event.get("candidates"))[:1]:
        for part in _objects(_object(candidate.get("content")).get("parts")):
            if part.get("thought") is True:
                yield _thought(part.get("text"))
            yield _call(_object(part.get("functionCall")).get("name"))


_FINDERS: dict[str, Callable[[_Event], Iterator[Delta]]] = {
    "openai": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}


def _thought(value: Any) -> Delta:
    return Delta("thinking", value if isinstance(value, str) else "")


def _call(value: Any) -> Delta:
    return Delta("call", value if isinstance(value, str) else "")


def _object(value: Any) -> _Event:
    return cast(_Event, value) if isinstance(value, Mapping) else {}


def _objects(value: Any) -> list[_Event]:
    return [_object(entry) for entry in cast("Iterable[Any]", value)] if isinstance(value, list) else []
