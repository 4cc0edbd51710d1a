"""What is ours: Quire, and the floor beside it, plain structs in a plain list, plain loops, and no checks."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from libraries import Adapter
from quire import state
from quire.compactors import Room, TruncateOldest, record
from quire.context import Context, Template
from quire.items import (
    JSON,
    Address,
    Content,
    Hide,
    Message,
    Opaque,
    ToolCall,
    ToolResult,
    Wording,
    new_id,
    now,
)
from quire.providers import PROVIDERS, Rendered
from quire.sections import Ask, History
from quire.state import Transcript, memos
from quire.tokens import Budget
from transcript import ONE_MORE, Entry, add_all

# --- Quire -----------------------------------------------------------------------------------------------

KINDS = (Message, ToolCall, ToolResult)
MODELS = {"openai": "gpt-5.6", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}


class Quarters:
    """Four tokens, and one for each four characters: the rule that most peers use."""

    key = "bench: len / 4"

    def count(self, item: Any) -> int:
        if type(item) is Hide:
            return 0
        text = item.arguments if type(item) is ToolCall else item.content
        return 4 + len(text) // 4

    def total(self, counted: int) -> int:
        return counted


COUNTER = Quarters()


class Quire(Adapter):
    name = "quire"
    package = "quire"
    validates = True
    by_tokens = True
    keeps_history = True
    how: ClassVar = {
        "append": "`Transcript.append`",
        "memory": "`Transcript`, counted once",
        "truncate": "`truncate` by tokens and appending its edit; counted before",
        "tokens": "`view.tokens`, only what is new is counted",
        "codec": "`JSON.encode`, `JSON.decode`: a list of items, like the floor",
        "render": "`PROVIDERS[…].render(view, model=…)`",
        "turn": "`append`, `TruncateOldest.plan` and `record` if due, `Template.build`, `context.render`",
    }

    def new(self) -> Transcript:
        return Transcript()

    def add(self, history: Transcript, chat: Sequence[Entry]) -> None:
        add_all(history.append, chat, KINDS)

    def length(self, history: Transcript | list[Any]) -> int:
        return len(history if isinstance(history, list) else history.view)

    def use(self, history: Transcript) -> None:
        self.total(history)

    def forks(self) -> dict[str, Callable[[Any], Any]]:
        return {"`fork()`": Transcript.fork, "`fork()` and one `append`": _fork_and_append}

    def truncate(self, history: Transcript, limit: int) -> Transcript:
        edit = state.truncate(history.view, tokens=limit, counter=COUNTER)
        if edit is not None:
            history.append(edit)
        return history

    def total(self, history: Transcript) -> int:
        return history.view.tokens(COUNTER)

    def dumpable(self, history: Transcript | list[Any]) -> list[Any]:
        return history if isinstance(history, list) else list(history.view)

    def dump(self, history: list[Any]) -> bytes:
        return JSON.encode(history)

    def load(self, data: bytes) -> list[Any]:
        return JSON.decode(data)

    def renders(self) -> dict[str, Callable[[Any], Any]]:
        return {wire: _renderer(wire, model) for wire, model in MODELS.items()}

    def turns_of(self, history: Transcript, limit: int) -> Callable[[Any], Any]:
        room, compactor = Room(limit, COUNTER), TruncateOldest()
        template = Template(History(), budget=Budget(window=limit), model=MODELS["openai"])
        previous: Context | None = None

        def turn(history: Transcript) -> Rendered:
            nonlocal previous
            self.add(history, (ONE_MORE,))
            plan = compactor.plan(history.view, room)
            if plan is not None:
                record(history, plan)
            ask = Ask(views={"main": history.view})
            previous = _done(template.build(ask, counter=COUNTER, previous=previous))
            return previous.render("openai")

        return turn

    def forgetful(self, history: Transcript) -> Transcript:
        memos(history.view).clear()
        return history

    def turns(self, payload: Rendered) -> list[Any]:
        return payload.payload.get("messages") or payload.payload["contents"]


def _renderer(wire: str, model: str) -> Callable[[Transcript], Rendered]:
    render = PROVIDERS[wire].render
    return lambda history: render(history.view, model=model)


def _done(building: Coroutine[Any, Any, Context]) -> Context:
    """What a coroutine gives that waits for nothing."""
    try:
        building.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("a section waits")


def _fork_and_append(history: Transcript) -> Transcript:
    child = history.fork()
    child.append(Message(role="user", content="And then?"))
    return child


# --- the floor -------------------------------------------------------------------------------------------

FIXED = {"frozen": True, "kw_only": True, "tag_field": "kind", "omit_defaults": True, "gc": False}


class Plain(msgspec.Struct, **FIXED):
    id: str = msgspec.field(default_factory=new_id)
    created_at: float = msgspec.field(default_factory=now)
    agent_id: str | None = None
    extras: dict[str, Any] | None = None


class PlainMessage(Plain, tag="message", **FIXED):
    role: Literal["system", "developer", "user", "assistant"]
    content: Content
    interrupted: bool = False
    wording: Wording | None = None
    address: Address | None = None
    state: Opaque | None = None


class PlainCall(Plain, tag="tool_call", **FIXED):
    call_id: str
    name: str
    arguments: str = "{}"
    state: Opaque | None = None


class PlainResult(Plain, tag="tool_result", **FIXED):
    call_id: str
    name: str
    content: Content
    is_error: bool = False


Json = dict[str, Any]
Turns = list[Json]

ROLES = {PlainCall: "assistant", PlainResult: "user"}

read: Callable[[str], Any] = msgspec.json.Decoder().decode


def openai(items: Sequence[Any]) -> Turns:
    """Messages of OpenAI's chat API."""
    turns: Turns = []
    open_to_calls = False
    for item in items:
        if type(item) is PlainCall:
            if not open_to_calls:
                turns.append({"role": "assistant", "content": None})
                open_to_calls = True
            turns[-1].setdefault("tool_calls", []).append(_function(item))
            continue
        turns.append(said(item))
        open_to_calls = type(item) is PlainMessage and item.role == "assistant"
    return turns


def said(item: Any) -> Json:
    """A message, or a result, of OpenAI's chat API."""
    if type(item) is PlainMessage:
        return {"role": item.role, "content": item.content}
    return {"role": "tool", "tool_call_id": item.call_id, "content": item.content}


def _function(call: Any) -> Json:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function}


def anthropic(items: Sequence[Any]) -> Json:
    """A payload of Anthropic's Messages API: roles take turns, instructions stand apart."""
    system, turns = _in_turns(items, "assistant", "content", _block)
    return {"system": system, "messages": turns}


def _block(item: Any) -> Json:
    if type(item) is PlainMessage:
        return {"type": "text", "text": item.content}
    if type(item) is PlainCall:
        return {"type": "tool_use", "id": item.call_id, "name": item.name, "input": read(item.arguments)}
    return {"type": "tool_result", "tool_use_id": item.call_id, "content": item.content}


def gemini(items: Sequence[Any]) -> Json:
    """A payload of Gemini: roles take turns, instructions stand apart."""
    system, turns = _in_turns(items, "model", "parts", _part)
    return {"config": {"system_instruction": system}, "contents": turns}


def _part(item: Any) -> Json:
    if type(item) is PlainMessage:
        return {"text": item.content}
    if type(item) is PlainCall:
        return {"functionCall": {"id": item.call_id, "name": item.name, "args": read(item.arguments)}}
    response = {"output": item.content}
    return {"functionResponse": {"id": item.call_id, "name": item.name, "response": response}}


def _in_turns(
    items: Sequence[Any], model: str, content: str, made: Callable[[Any], Json]
) -> tuple[Turns, Turns]:
    system: Turns = []
    turns: Turns = []
    last = ""
    for item in items:
        role = item.role if type(item) is PlainMessage else ROLES[type(item)]
        if role == "system":
            system.append(made(item))
        elif role == last:
            turns[-1][content].append(made(item))
        else:
            turns.append({"role": model if role == "assistant" else role, content: [made(item)]})
            last = role
    return system, turns


PLAIN = (PlainMessage, PlainCall, PlainResult)


class Plainly:
    """A list, the size of each item and their running sum; once rendered, the messages of OpenAI's wire."""

    __slots__ = ("items", "messages", "sizes", "sum")
    messages: list[Any]

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.sizes: list[int] = []
        self.sum = 0


def size_of(item: Any) -> int:
    """Four tokens, and one for each four characters."""
    text = item.arguments if type(item) is PlainCall else item.content
    return 4 + len(text) // 4


class Floor(Adapter):
    name = "floor"
    package = "msgspec"
    by_tokens = True
    how: ClassVar = {
        "append": "struct without checks, `list.append`",
        "memory": "struct without checks in a list",
        "fork": "`list.copy`",
        "truncate": "walk back over the known sizes, slice the list",
        "tokens": "running sum",
        "codec": "msgspec on structs without checks",
        "render": "one loop over the structs; for one more message: one dictionary, `list.copy`",
    }

    def __init__(self) -> None:
        self.encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode
        self.decode = msgspec.json.Decoder(list[PlainMessage | PlainCall | PlainResult]).decode

    def new(self) -> Plainly:
        return Plainly([])

    def add(self, history: Plainly, chat: Sequence[Entry]) -> None:
        add_all(history.items.append, chat, PLAIN)

    def length(self, history: Plainly) -> int:
        return len(history.items)

    def forks(self) -> dict[str, Callable[[Any], Any]]:
        return {"": lambda history: Plainly(history.items.copy())}

    def spare(self, history: Plainly) -> Plainly:
        return history

    def truncate(self, history: Plainly, limit: int) -> Plainly:
        kept = 0
        for size in reversed(history.sizes):
            limit -= size
            if limit < 0:
                break
            kept += 1
        return Plainly(history.items[-kept:])

    def total(self, history: Plainly) -> int:
        for item in history.items[len(history.sizes) :]:
            history.sizes.append(size := size_of(item))
            history.sum += size
        return history.sum

    def dump(self, history: Plainly) -> bytes:
        return self.encode(history.items)

    def load(self, data: bytes) -> Plainly:
        return Plainly(self.decode(data))

    def renders(self) -> dict[str, Callable[[Any], Any]]:
        return {"openai": _kept, "anthropic": _of(anthropic), "gemini": _of(gemini)}

    def again(self, history: Plainly, _write: Callable[[Any], Any]) -> list[Any]:
        history.messages.append(said(history.items[-1]))
        return history.messages.copy()

    def turns(self, payload: Any) -> list[Any]:
        return payload if isinstance(payload, list) else payload.get("messages") or payload["contents"]


def _kept(history: Plainly) -> list[Any]:
    history.messages = openai(history.items)
    return history.messages


def _of(write: Callable[[Sequence[Any]], Any]) -> Callable[[Plainly], Any]:
    return lambda history: write(history.items)
