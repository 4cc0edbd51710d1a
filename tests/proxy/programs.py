"""Programs that keep a history and send all of it, and an observer that is told of each request."""

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

from quire.items import Item, Message, ToolCall, ToolResult
from quire.providers import provider_for
from quire.proxy import Observer, Settings
from quire.proxy.exchange import Answer, Exchange
from quire.session import Session
from quire.stores import Store

Json = dict[str, Any]
CHAT = "/v1/chat/completions"
_JSON = (("content-type", "application/json"),)
_numbers = count(1)


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def system(text: str) -> Json:
    return {"role": "system", "content": text}


def said(text: str) -> Json:
    return {"role": "assistant", "content": text}


def calls(*ids: str, name: str = "look_up") -> Json:
    made = [{"id": one, "type": "function", "function": {"name": name, "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(call_id: str, text: str) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


class Watched:
    """A store, and an observer that records in it what programs say."""

    def __init__(self, store: Store | None = None, **settings: Any) -> None:
        self.store = store or Store.open("memory:")
        self._settings = Settings(self.store, **settings)
        self.warnings: tuple[str, ...] = ()
        self.sent: bytes | None = None
        """The body that is sent in place of the last request; None if it is sent as it is."""
        self.observer = Observer(self._settings)

    def restart(self) -> None:
        self.observer = Observer(self._settings)

    def begin(self, messages: Sequence[Json], path: str = CHAT, **fields: Any) -> int:
        """Send a request; returns its number."""
        body = {"model": "gpt-5.6", **({"messages": list(messages)} if messages else {}), **fields}
        number = next(_numbers)
        begun = self.observer.begin(Exchange(number, "openai", path, json.dumps(body).encode(), 0.0))
        self.warnings, self.sent = begun.warnings, begun.body
        return number

    def end(self, number: int, message: Json | None, status: int = 200, cached: int = 0) -> None:
        """Answer a request with a message, or with an error."""
        body: Json = {"error": {"type": "server_error", "message": "busy"}}
        if message is not None:
            usage: Json = {"prompt_tokens": 100, "completion_tokens": 9}
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            body = {"model": "gpt-5.6", "choices": [choice], "usage": usage}
        self.answer(number, body, status)

    def answer(self, number: int, body: Json, status: int = 200) -> None:
        data = json.dumps(body).encode()
        self.warnings = self.observer.end(Answer(number, status, data, _JSON, ((0.5, len(data)),))) or ()

    def ask(self, messages: Sequence[Json], answer: Json | None, **fields: Any) -> None:
        self.end(self.begin(messages, **fields), answer, 200 if answer else 500)

    def sessions(self) -> dict[str, Session]:
        places = [one.place for one in self.store.recent(None)]
        found = {place.conversation: Session.open(str(place), store=self.store) for place in places}
        return dict(sorted(found.items()))

    def shown(self) -> dict[str, list[str]]:
        return {name: [*filter(None, map(brief, one.view()))] for name, one in self.sessions().items()}


def brief(item: Item) -> str:
    """An item in one word or a few."""
    if isinstance(item, ToolCall):
        return f"{item.name}({item.call_id})"
    if isinstance(item, ToolResult):
        return f"{item.call_id}: {item.text}"
    return f"{item.role}: {item.text}" if isinstance(item, Message) and item.role != "system" else ""


def brief_messages(messages: Sequence[Json]) -> list[str]:
    """What messages of a program say, in short."""
    return [*filter(None, map(brief, provider_for("openai").read_history([*messages])))]
