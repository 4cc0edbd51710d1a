"""Tools by which a model manages its own context: see the free room, drop results, pin, note, and undo.

Each change is an edit on the record, with the model as its author, and can be undone. The tools never change
the pins and hides of a person, instructions, or a reply whose calls still run. If the model's pins leave no
room for a request, the agent undoes them.
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from quire.agent.builtin.recall import read_back_tools, recall_tools
from quire.agent.repeats import first_seen
from quire.agent.tools import Tool, tool
from quire.agent.window import MODEL, pins_of_model
from quire.compactors import READ_BACK, number_handle
from quire.context import DEFAULT_MODEL
from quire.errors import EditRefused, UnknownId, cut
from quire.items import Edit, Item, Mask, Note, Pin, ToolCall, ToolResult, Undo
from quire.session import Session, rewrite_with
from quire.state import View
from quire.tokens import Counter, counter_for, whole

_MAX_PINNED = 2_000
_MAX_LISTED = 10
"""Results in the list of the largest."""

_MAX_LENGTH = 100
"""Characters of a call in the list, and of a handle."""

_Handles = Annotated[list[str], Meta(min_length=1, max_length=50)]
_Fact = Annotated[str, Meta(min_length=1, max_length=2_000)]


def context_tools(*, pinned: int = _MAX_PINNED) -> list[Tool]:
    """Tools by which a model manages its own context, with `recall` and the tool that reads shortened output.

    The model's pins and notes take at most `pinned` tokens.
    """
    own = _ContextTools(whole(pinned, "pinned", least=0))
    edits = (own.drop_results, own.pin_item, own.note_fact, own.take_back)
    reading = (recall_tools()[0], *read_back_tools())
    return [tool(own.context_room, idempotent=True), *(tool(edit) for edit in edits), *reading]


class _ContextTools:
    def __init__(self, pinned: int) -> None:
        self._max_pinned = pinned
        self._counter = counter_for(DEFAULT_MODEL)

    def context_room(self, session: Session) -> str:
        """See how much room your context has left, and which results of your calls take most of it."""
        lines = [_room_line(session)]
        results = nlargest(_MAX_LISTED, self._droppable(session), key=lambda pair: pair[1])
        if results:
            lines.append("The largest results that you can drop, by handle:")
        view = session.view()
        for result, tokens in results:
            lines.append(f"{number_handle(view, result.id)} {_call_line(view, result)}: {tokens:,} tokens")
        pinned = _group_tokens(view, pins_of_model(view), self._counter)
        lines.append(f"What you have pinned and noted takes {pinned:,} of {self._max_pinned:,} tokens.")
        return "\n".join(lines)

    async def drop_results(self, handles: _Handles, session: Session) -> str:
        """Drop results of your calls that you no longer need. Drop several at once: each call has a cost.

        Args:
            handles: Their handles, such as #12, as `context_room` gives them.
        """
        view = session.view()
        masks = [_new_mask(view, _item_of(view, handle)) for handle in dict.fromkeys(handles)]

        def rewrite(view: View) -> Sequence[Item]:
            for mask in masks:
                self._check_droppable(view, mask)
            return masks

        await rewrite_with(session, rewrite)
        return (
            f"Dropped. `{READ_BACK['name']}` reads them by their handles, and `take_back` shows them again."
        )

    async def pin_item(self, item: str, session: Session) -> str:
        """Keep a message, or a call with its results, in view for as long as you need it.

        Args:
            item: A handle such as #12, or an id as `recall` gives it.
        """
        target = _item_of(session.view(), item)
        await self._pin(session, Pin(target.id, agent_id=MODEL, origin="model"))
        return "Pinned."

    async def note_fact(self, fact: _Fact, session: Session) -> str:
        """Write down a fact that you will need later; it stays in view until you take it back.

        Args:
            fact: The fact, in words that can be understood alone.
        """
        note = Note(fact, agent_id=MODEL, origin="model")
        await self._pin(session, Pin(note.id, agent_id=MODEL, origin="model"), note)
        return f"Noted as {note.id}."

    async def take_back(self, item: str, session: Session) -> str:
        """Show a result again that you dropped, or release a message or note that you pinned.

        Args:
            item: The handle or the id of the result, the message or the note.
        """
        target = _item_of(session.view(), item)

        def own_edit(view: View) -> Edit:
            for edit in reversed(view.edits_in_force.edits.values()):
                if isinstance(edit, Mask | Pin) and (edit.target, edit.agent_id) == (target.id, MODEL):
                    return edit
            raise UnknownId(f"you have not dropped, pinned or noted {cut(item)!r}")

        undo = Undo(own_edit(session.view()).id, agent_id=MODEL, origin="model")
        await rewrite_with(session, lambda view: [undo] if own_edit(view).id == undo.target else [])
        return "Taken back."

    async def _pin(self, session: Session, pin: Pin, *items: Item) -> None:
        def rewrite(view: View) -> Sequence[Item]:
            heads = pins_of_model(view)
            if not items:
                position = view.position(pin.target)
                if view.fate_at(position).state in ("hidden", "edit"):
                    raise EditRefused("it is hidden: it cannot be pinned")
                heads.add(_closed_group(view, position))
            pinned = _group_tokens(view, heads, self._counter) + sum(map(self._counter.count, items))
            if pinned > self._max_pinned:
                raise EditRefused(
                    f"pins and notes would take {pinned:,} tokens, of {self._max_pinned:,} at most"
                )
            return [*items, pin]

        await rewrite_with(session, rewrite)

    def _droppable(self, session: Session) -> Iterator[tuple[ToolResult, int]]:
        """The results in the last request that may be dropped, with the tokens that each saves."""
        view = session.view()
        for position in range(first_seen(session, view), view.end):
            item = view.log.item(position)
            if isinstance(item, ToolResult) and view.fate_at(position).state == "shown":
                saved = self._saved(view, _new_mask(view, item))
                if saved > 0 and not _is_open(view, position):
                    yield item, saved

    def _check_droppable(self, view: View, mask: Mask) -> None:
        """Refuse to drop anything but a shown result of an ended call."""
        position = view.position(mask.target)
        handle, state = f"#{position}", view.fate_at(position).state
        if not isinstance(view.log.item(position), ToolResult):
            raise EditRefused(f"{handle} is not the result of a call")
        if state != "shown":
            raise EditRefused(f"{handle} is {state}: it cannot be dropped")
        _closed_group(view, position)
        if self._saved(view, mask) <= 0:
            raise EditRefused(f"{handle} is too short: dropping it saves nothing")

    def _saved(self, view: View, mask: Mask) -> int:
        item = view.log.item(view.position(mask.target))
        assert isinstance(item, ToolResult)
        return self._counter.count(item) - self._counter.count(replace(item, content=mask.stub))


def _room_line(session: Session) -> str:
    if not len(session.receipts):
        return "Nothing was sent yet."
    sent = session.receipts[-1]
    return f"Your last request took {sent.tokens:,} of {sent.available:,} tokens."


def _item_of(view: View, handle: str) -> Item:
    name = handle.strip()
    number = int(name[1:]) if name[:1] == "#" and name[1:].isdecimal() and len(name) < _MAX_LENGTH else None
    position = view.log.find(name, view.end) if number is None else number
    if position is None or position >= view.end:
        raise UnknownId(f"nothing is called {cut(name)!r}: handles are numbers such as #12")
    return view.log.item(position)


def _new_mask(view: View, item: Item) -> Mask:
    handle = number_handle(view, item.id)
    return Mask(item.id, f"[You dropped this. `{READ_BACK['name']}` reads it: {handle}]", agent_id=MODEL)


def _call_line(view: View, result: ToolResult) -> str:
    """The call of a result, on one short line."""
    group = view.log.group(view.log.head(view.position(result.id)), view.end)
    calls = (item for item in map(view.log.item, group) if isinstance(item, ToolCall))
    arguments = next((one.arguments for one in calls if one.call_id == result.call_id), "")
    return f"{result.name}({cut(arguments, _MAX_LENGTH)})"


def _is_open(view: View, position: int) -> bool:
    return view.log.head(position) in map(view.log.head, view.open_calls())


def _closed_group(view: View, position: int) -> int:
    """The head of a group; `EditRefused` while one of its calls has no result."""
    if _is_open(view, position):
        raise EditRefused(f"#{position} belongs to a reply whose calls still run")
    return view.log.head(position)


def _group_tokens(view: View, heads: Iterable[int], counter: Counter) -> int:
    positions = (position for head in heads for position in view.log.group(head, view.end))
    return sum(counter.count(view.log.item(position)) for position in positions)
