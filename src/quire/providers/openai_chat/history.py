"""OpenAI Chat Completions: an existing list of messages as items."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quire.errors import Damaged, cut
from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers.json_values import entries_in, fields_in
from quire.providers.made_ids import MadeIds
from quire.providers.native import beside
from quire.providers.openai_chat.blocks import entries, fields, read_content, read_output, text_at
from quire.providers.openai_chat.elsewhere import content_if_any, content_of, refuse_elsewhere
from quire.providers.openai_chat.other_forms import as_chat
from quire.providers.openai_chat.outputs import LEGACY, outputs_of
from quire.providers.openai_chat.pictures import images_in, with_images
from quire.providers.openai_chat.states import NAME, Maker
from quire.providers.provider import Answer, plain_json, words_in
from quire.providers.sheet import Json
from quire.providers.wording import unmarked

_NAMELESS = "unknown"


def read_history(payload: Any, *, model: str | None = None) -> list[Item]:
    """A list of messages, or a payload that has one, as items; what is of no known kind becomes a note."""
    if isinstance(payload, Mapping) or hasattr(payload, "model_dump"):
        body = plain_json(payload)
        if "messages" not in body:
            raise Damaged("the payload has no messages", "messages")
        model, payload = body.get("model") or model, body["messages"]
    places = [(f"messages[{index}]", value) for index, value in enumerate(entries(payload, "messages"))]
    given = [(place, fields(value, place)) for place, value in places]
    answered = {words_in(message.get("tool_call_id")) for _, message in given} - {""}
    name = words_in(model)
    messages = [(place, one) for place, message in given for one in as_chat(message, place, answered, name)]
    reader = _Reader(name, MadeIds(_ids([message for _, message in messages])))
    for place, message in messages:
        reader.take(message, place)
    return reader.items


class _Reader:
    """Goes through messages, remembering which call was for which tool, and which have no result yet."""

    def __init__(self, model: str, new_id: MadeIds) -> None:
        self.items: list[Item] = []
        self._maker = Maker(model, None, Answer().tool, new_id)
        self._names: dict[str, str] = {}
        self._waiting: list[str] = []  # the ids of calls of the last round
        self._replying = False

    def take(self, message: Json, path: str) -> None:
        self._read(message, path)
        self._replying = message.get("role") == "assistant"

    def _read(self, message: Json, path: str) -> None:
        match message.get("role"):
            case "system" | "developer" | "user" as role:
                self._said(role, message, path)
            case "assistant":
                self._replied(message, path)
            case "tool":
                self._answered(self._answered_id(message, path), message, path)
            case "function":
                self._answered(LEGACY, message, path)
            case role:
                raise Damaged(f"no such role: {cut(words_in(role))!r}", f"{path}.role")

    def _said(self, role: Any, message: Json, path: str) -> None:
        told = message.get("content") if images_in(message) else content_of(message, path)
        content, strange = read_content(told, f"{path}.content", NAME)
        content, odd = with_images(content, message, path)
        if content or not (strange or odd):
            named = beside(NAME, {"name": words_in(message.get("name"))})
            self.items.append(Message(role, content, extras=named))
        self.items += [*strange, *odd]

    def _replied(self, message: Json, path: str) -> None:
        refuse_elsewhere(message, path)
        outputs = outputs_of(message, path, self._maker)
        if not outputs:
            content_if_any(message, path)  # nothing came of it: no words of it may stand elsewhere
        calls = {item.call_id: item.name for item in outputs if isinstance(item, ToolCall)}
        self._names |= calls
        if calls:
            self._waiting = [*(self._waiting if self._replying else ()), *calls]
        self.items += outputs

    def _answered_id(self, message: Json, path: str) -> str:
        """The id of the call that a result is for; where it names neither that nor its tool, the first's.

        The first without a result, that is. One call that waits is meant whatever the tool is called.
        """
        if message.get("tool_call_id") not in (None, ""):
            return text_at(message, "tool_call_id", path)
        name, waiting = _tool_named(message), self._waiting
        meant = waiting if name is None or len(waiting) == 1 else []
        named = [one for one in waiting if self._names[one] == name]
        return next(iter(named or meant), None) or self._maker.call_id()

    def _answered(self, call_id: str, message: Json, path: str) -> None:
        if call_id in self._waiting:
            self._waiting.remove(call_id)
        content = read_output(content_if_any(message, path), f"{path}.content")
        name = self._names.get(call_id) or words_in(_tool_named(message)) or _NAMELESS
        content, is_error = unmarked(content)
        self.items.append(ToolResult(call_id, name, content, is_error))


def _tool_named(message: Json) -> Any:
    """The tool that a result names, by the word of one service or of another."""
    return message.get("name") or message.get("tool_name") or None


def _ids(messages: Sequence[Json]) -> Iterator[str]:
    """The ids that calls have already, and those that results name."""
    for message in messages:
        calls = map(fields_in, entries_in(message.get("tool_calls")))
        for held in (message.get("tool_call_id"), *(call.get("id") for call in calls)):
            if isinstance(held, str):
                yield held
