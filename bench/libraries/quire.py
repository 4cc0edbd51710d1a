"""Quire: a transcript of checked items."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ClassVar

from libraries.adapter import Adapter
from quire import state
from quire.compactors import Room, TruncateOldest, record
from quire.context import Context, Template
from quire.items import JSON, Hide, Message, ToolCall, ToolResult
from quire.providers import PROVIDERS, Rendered
from quire.sections import Ask, History
from quire.state import Transcript, memos
from quire.tokens import Budget
from transcript import ONE_MORE, Entry, add_all

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


LIBRARY = Quire()
