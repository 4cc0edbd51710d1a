"""Tools for a model whose template has no place for them.

It is told of them in words, and its answer is forced into JSON that is a call or an answer. From that come
the pieces of a stream as if it had known tools: whoever reads it sees calls and words.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from quire.items import new_id
from quire.providers import read_tools

_Json = dict[str, Any]

_GUIDE = 'Answer with {"tool": name, "arguments": {...}} to use a tool, or with {"answer": ...}. The tools:'
_CALL, _ARGUMENTS, _ANSWER = "tool", "arguments", "answer"


def forced(request: Mapping[str, Any]) -> _Json:
    """The request without tools, and with the shape that its answer has to have."""
    left = {name: value for name, value in request.items() if name not in ("tools", "tool_choice")}
    choice: Any = request.get("tool_choice", "auto")
    left["messages"] = [_guide(request["tools"]), *_plain(request["messages"])]
    if choice == "none":
        return left
    shape = _answer_shape(request.get("response_format"))
    shapes = [_call_shape(tool.name, tool.schema) for tool in read_tools(request["tools"])]
    if isinstance(choice, Mapping):
        wanted: Any = cast("Mapping[str, Any]", choice)["function"]["name"]
        shapes = [one for one in shapes if one["properties"][_CALL]["const"] == wanted]
    left["response_format"] = {
        "type": "json_schema",
        "json_schema": {"schema": {"anyOf": shapes if choice != "auto" else [*shapes, shape]}},
    }
    return left


class Unforced:
    """Takes the chunks of a forced answer, and hands on those of a call or of words."""

    def __init__(self, take: Callable[[Any], bool]) -> None:
        self._take = take
        self._written = ""

    def __call__(self, chunk: _Json) -> bool:
        choices: list[_Json] = chunk.get("choices") or []
        if not choices:
            return self._take(chunk)
        delta: _Json = choices[0].get("delta") or {}
        reason: str | None = choices[0].get("finish_reason")
        self._written += delta.get("content") or ""
        if reason is None:
            return self._take({**chunk, "choices": []})  # so that it can be stopped
        read = _read(self._written)
        self._take({**chunk, "choices": [{"index": 0, "delta": read, "finish_reason": None}]})
        ending: str = "tool_calls" if "tool_calls" in read else reason
        return self._take({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": ending}]})


def _read(written: str) -> _Json:
    """What was written, as a piece of a stream; words that are no whole JSON stay as they are."""
    try:
        read: Any = json.loads(written)
    except ValueError:
        return {"content": written}
    value = cast("_Json", read) if isinstance(read, dict) else {}
    if _CALL in value:
        arguments = json.dumps(value.get(_ARGUMENTS) or {}, ensure_ascii=False)
        called: _Json = {"name": value[_CALL], "arguments": arguments}
        call: _Json = {"index": 0, "id": f"call_{new_id()}", "type": "function", "function": called}
        return {"tool_calls": [call]}
    answer: Any = value.get(_ANSWER, written)
    return {"content": answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)}


def _call_shape(name: str, schema: Mapping[str, Any]) -> _Json:
    return {
        "type": "object",
        "properties": {_CALL: {"const": name}, _ARGUMENTS: dict(schema)},
        "required": [_CALL, _ARGUMENTS],
        "additionalProperties": False,
    }


def _answer_shape(wanted: Any) -> _Json:
    schema: Any = {"type": "string"} if wanted is None else wanted["json_schema"]["schema"]
    return {
        "type": "object",
        "properties": {_ANSWER: schema},
        "required": [_ANSWER],
        "additionalProperties": False,
    }


def _guide(tools: Iterable[Mapping[str, Any]]) -> _Json:
    """What the model is told of the tools: first, so that what it has read of it can be used again."""
    lines = [_GUIDE]
    for tool in read_tools(tools):
        names = ", ".join(cast("Mapping[str, Any]", tool.schema.get("properties") or {}))
        first = tool.description.strip().partition("\n")[0]
        lines.append(f"- {tool.name}({names}): {first}")
    return {"role": "system", "content": "\n".join(lines)}


def _plain(messages: Iterable[Mapping[str, Any]]) -> list[_Json]:
    """Messages in words alone: calls as they are to be written, and results as what was found."""
    plain: list[_Json] = []
    for message in messages:
        if message["role"] == "tool":
            plain.append({"role": "user", "content": f"The tool gave: {_words(message.get('content'))}"})
            continue
        said = [_words(message.get("content"))]
        said += [_written(call) for call in cast("list[Any]", message.get("tool_calls") or [])]
        plain.append({"role": message["role"], "content": "\n".join(filter(None, said))})
    return plain


def _written(call: Mapping[str, Any]) -> str:
    called: Any = call["function"]
    return f'{{"{_CALL}": {json.dumps(called["name"])}, "{_ARGUMENTS}": {called["arguments"]}}}'


def _words(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(str(part.get("text", "")) for part in cast("list[Mapping[str, Any]]", content))
