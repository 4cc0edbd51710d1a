"""What the benchmark asks of a library, and the adapters of Quire and of the floor, which is plain Python."""

from collections.abc import Callable, Coroutine, Sequence
from importlib import import_module
from typing import Any, ClassVar, Literal

import msgspec

from transcript import ONE_MORE, Entry, add_all

OURS = {"floor": "Floor", "quire": "Quire"}
PEERS = {
    "loom": "loom",
    "pydantic-ai": "pydantic_ai",
    "pydantic-ai-harness": "harness",
    "langchain": "langchain",
}


def adapter(name: str) -> "Adapter":
    """The adapter of a library; the library is imported for it."""
    return globals()[OURS[name]]() if name in OURS else getattr(import_module("peers"), PEERS[name])()


class Adapter:
    """One library. A history is whatever the library keeps messages in; what it cannot do is missing."""

    package: ClassVar[str]
    module: ClassVar[str]
    how: ClassVar[dict[str, str]] = {}
    """For a workload, the calls that are measured."""

    parsed: ClassVar[bool] = False
    """Whether a call's arguments are given as a dictionary; they are parsed off the clock."""

    by_tokens: ClassVar[bool] = True
    """Whether it truncates to a number of tokens, rather than of messages."""

    keeps_history: ClassVar[bool] = False
    """Whether a turn leaves the whole history where it is."""

    def new(self) -> Any:
        """An empty history."""
        raise NotImplementedError

    def add(self, history: Any, chat: Sequence[Entry]) -> None:
        """Make the library's own objects and append them one by one."""
        raise NotImplementedError

    def length(self, history: Any) -> int:
        """How many records the history has."""
        return len(history)

    def fork(self, history: Any) -> Any:
        """An independent history with the same content."""
        raise NotImplementedError

    def spare(self, history: Any) -> Any:
        """A copy to truncate, made off the clock."""
        return self.fork(history)

    def truncate(self, history: Any, limit: int) -> Any:
        """A history with the newest that fit in the limit; it may be the same one."""
        raise NotImplementedError

    def total(self, history: Any) -> int:
        """Its tokens, as the library counts them."""
        raise NotImplementedError

    def dumpable(self, history: Any) -> Any:
        """The history as `dump` takes it, made off the clock."""
        return history

    def dump(self, history: Any) -> bytes:
        """The history as JSON."""
        raise NotImplementedError

    def load(self, data: bytes) -> Any:
        """What `dump` wrote."""
        raise NotImplementedError

    def renders(self) -> dict[str, Callable[[Any], Any]]:
        """By wire: from a history to what the provider's client is given."""
        raise NotImplementedError

    def forgetful(self, history: Any) -> Any:
        """The history without what rendering has cached."""
        return history

    def again(self, history: Any, write: Callable[[Any], Any]) -> Any:
        """The OpenAI payload of a history that was rendered before it grew by one message."""
        return write(history)

    def turns_of(self, limit: int) -> Callable[[Any], Any]:
        """A function that takes one turn: one more message, cut to the limit, the payload for OpenAI."""
        write = self.renders()["openai"]

        def turn(history: Any) -> Any:
            self.add(history, (ONE_MORE,))
            return write(self.truncate(history, limit))

        return turn

    def messages(self, payload: Any) -> list[Any]:
        """The messages of a payload."""
        return payload[0] if isinstance(payload, tuple) else payload

    def filled(self, chat: Sequence[Entry]) -> Any:
        """A new history with these messages."""
        history = self.new()
        self.add(history, chat)
        return history


class Quire(Adapter):
    package, module = "quire", "quire.state"
    keeps_history = True
    how: ClassVar = {
        "append": "`Transcript.append`",
        "truncate": "`truncate` by tokens and appending its edit; counted before",
        "tokens": "`view.tokens`, only what is new is counted",
        "codec": "`JSON.encode`, `JSON.decode`",
        "render": "`PROVIDERS[…].render(view, model=…).payload`",
        "turn": "`append`, `TruncateOldest.plan` and `record` if due, `Template.build`, `render(…).payload`",
    }
    models: ClassVar = {"openai": "gpt-5.6", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}

    def __init__(self) -> None:
        from quire import items, state

        self.state = state
        self.items = items

    def new(self) -> Any:
        return self.state.Transcript()

    def add(self, history: Any, chat: Sequence[Entry]) -> None:
        add_all(history.append, chat, (self.items.Message, self.items.ToolCall, self.items.ToolResult))

    def length(self, history: Any) -> int:
        return len(history if isinstance(history, list) else history.view)

    def fork(self, history: Any) -> Any:
        return history.fork()

    def truncate(self, history: Any, limit: int) -> Any:
        edit = self.state.truncate(history.view, tokens=limit, counter=QUARTERS)
        if edit is not None:
            history.append(edit)
        return history

    def total(self, history: Any) -> int:
        return history.view.tokens(QUARTERS)

    def dumpable(self, history: Any) -> list[Any]:
        return history if isinstance(history, list) else list(history.view)

    def dump(self, history: list[Any]) -> bytes:
        return self.items.JSON.encode(history)

    def load(self, data: bytes) -> list[Any]:
        return self.items.JSON.decode(data)

    def renders(self) -> dict[str, Callable[[Any], Any]]:
        from quire.providers import PROVIDERS

        def renderer(wire: str, model: str) -> Callable[[Any], Any]:
            return lambda history: PROVIDERS[wire].render(history.view, model=model).payload

        return {wire: renderer(wire, model) for wire, model in self.models.items()}

    def turns_of(self, limit: int) -> Callable[[Any], Any]:
        from quire.compactors import Room, TruncateOldest, record
        from quire.context import Context, Template
        from quire.sections import Ask, History
        from quire.tokens import Budget

        room, compactor = Room(limit, QUARTERS), TruncateOldest()
        template = Template(History(), budget=Budget(window=limit), model=self.models["openai"])
        previous: Context | None = None

        def turn(history: Any) -> Any:
            nonlocal previous
            self.add(history, (ONE_MORE,))
            plan = compactor.plan(history.view, room)
            if plan is not None:
                record(history, plan)
            ask = Ask(views={"main": history.view})
            previous = _done(template.build(ask, counter=QUARTERS, previous=previous))
            return previous.render("openai").payload

        return turn

    def forgetful(self, history: Any) -> Any:
        self.state.memos(history.view).clear()
        return history

    def messages(self, payload: Any) -> list[Any]:
        return payload.get("messages") or payload["contents"]


class Quarters:
    """Four tokens, and one for each four characters: the rule that most peers use."""

    key = "bench: len / 4"

    def count(self, item: Any) -> int:
        text = getattr(item, "arguments", None) or getattr(item, "content", None)
        return 0 if text is None else 4 + len(text) // 4

    def total(self, counted: int) -> int:
        return counted


QUARTERS = Quarters()


def _done(building: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that waits for nothing."""
    try:
        building.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("a section waits")


# The floor: structs of the same fields without checks, in a list


class Plain(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True, gc=False):
    id: str
    created_at: float
    agent_id: str | None = None
    extras: dict[str, Any] | None = None
    state: Any = None


class PlainMessage(Plain, tag="message", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    role: Literal["system", "developer", "user", "assistant"]
    content: Any
    interrupted: bool = False


class PlainCall(Plain, tag="tool_call", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    call_id: str
    name: str
    arguments: str = "{}"


class PlainResult(Plain, tag="tool_result", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    call_id: str
    name: str
    content: Any
    is_error: bool = False


class PlainHistory:
    """A list, the size of each item, their running sum, and the messages that were rendered."""

    __slots__ = ("items", "messages", "sizes", "sum")

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.messages: list[Any] = []
        self.sizes: list[int] = []
        self.sum = 0


class Floor(Adapter):
    package, module = "msgspec", "msgspec"
    how: ClassVar = {
        "append": "struct without checks, `list.append`",
        "fork": "`list.copy`",
        "truncate": "walk back over the known sizes, slice the list",
        "tokens": "running sum",
        "codec": "msgspec on structs without checks",
        "render": "one loop over the structs; for one more message: `dict.copy` of each message",
    }

    def __init__(self) -> None:
        from quire.items import new_id, now

        def kind(struct: Any) -> Callable[..., Any]:
            return lambda **fields: struct(id=new_id(), created_at=now(), **fields)

        self.kinds = kind(PlainMessage), kind(PlainCall), kind(PlainResult)
        self.encode = msgspec.json.Encoder().encode
        self.decode = msgspec.json.Decoder(list[PlainMessage | PlainCall | PlainResult]).decode

    def new(self) -> PlainHistory:
        return PlainHistory([])

    def add(self, history: PlainHistory, chat: Sequence[Entry]) -> None:
        add_all(history.items.append, chat, self.kinds)

    def length(self, history: PlainHistory) -> int:
        return len(history.items)

    def fork(self, history: PlainHistory) -> PlainHistory:
        return PlainHistory(history.items.copy())

    def spare(self, history: PlainHistory) -> PlainHistory:
        return history

    def truncate(self, history: PlainHistory, limit: int) -> PlainHistory:
        kept = 0
        for size in reversed(history.sizes):
            limit -= size
            if limit < 0:
                break
            kept += 1
        return PlainHistory(history.items[-kept:])

    def total(self, history: PlainHistory) -> int:
        for item in history.items[len(history.sizes) :]:
            history.sizes.append(size := QUARTERS.count(item))
            history.sum += size
        return history.sum

    def dump(self, history: PlainHistory) -> bytes:
        return self.encode(history.items)

    def load(self, data: bytes) -> PlainHistory:
        return PlainHistory(self.decode(data))

    def renders(self) -> dict[str, Callable[[Any], Any]]:
        return {"openai": _openai}

    def again(self, history: PlainHistory, _write: Callable[[Any], Any]) -> list[Any]:
        history.messages.append({"role": history.items[-1].role, "content": history.items[-1].content})
        return list(map(dict.copy, history.messages))


def _openai(history: PlainHistory) -> list[Any]:
    turns: list[Any] = []
    takes_calls = False
    for item in history.items:
        if type(item) is PlainCall:
            if not takes_calls:
                turns.append({"role": "assistant", "content": None})
                takes_calls = True
            function = {"name": item.name, "arguments": item.arguments}
            call = {"id": item.call_id, "type": "function", "function": function}
            turns[-1].setdefault("tool_calls", []).append(call)
        elif type(item) is PlainResult:
            turns.append({"role": "tool", "tool_call_id": item.call_id, "content": item.content})
            takes_calls = False
        else:
            turns.append({"role": item.role, "content": item.content})
            takes_calls = item.role == "assistant"
    history.messages = turns
    return turns
