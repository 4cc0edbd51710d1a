"""A draft of one payload: its messages, the ids and names given, the downgrades, and the digest of a prefix.

Every wire writes into a `Draft`. A branch shares what was written and goes on by itself, so the same draft
can be finished into one payload and later go on with more items.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from quire.items import ConfigChange, Content, Item, Message, Note, Opaque, Reasoning, Summary, ToolCall
from quire.providers.media import described, split
from quire.providers.names import Alphabet, Names
from quire.providers.state import is_whole, misfit, same_model, still_said, unpack
from quire.providers.types import Change, Downgrade
from quire.providers.values import Json
from quire.state import MASKED
from quire.tokens import noted, summarized

_encode = msgspec.json.Encoder(order="sorted").encode


class Digest:
    """A running digest of messages. Messages that were counted once are not read again."""

    __slots__ = ("_count", "_hash", "_start", "is_wanted")

    def __init__(self, before: Any = None) -> None:
        """`before` is what precedes all messages, such as instructions that the wire keeps apart."""
        self._start = blake2b(b"" if before is None else _encode(before), digest_size=16)
        self._hash = self._start.copy()
        self._count = 0
        self.is_wanted = False  # whether the digest of a branch was asked for

    def branch(self) -> "Digest":
        """A copy that goes on by itself."""
        twin = object.__new__(Digest)
        twin._start, twin._hash, twin._count = self._start, self._hash.copy(), self._count
        twin.is_wanted = self.is_wanted
        return twin

    def advance(self, messages: Sequence[Json], count: int) -> None:
        """Count the first `count` messages for good; they must not change any more."""
        if count > self._count:
            _update(self._hash, messages[self._count : count])
            self._count = count

    def of(self, messages: Sequence[Json], count: int) -> str:
        """The digest of the first `count` messages."""
        if count < self._count:
            return _update(self._start.copy(), messages[:count]).hexdigest()
        return _update(self._hash.copy(), messages[self._count : count]).hexdigest()


def _update(digest: blake2b, messages: Sequence[Json]) -> blake2b:
    for message in messages:
        digest.update(_encode(message))
        digest.update(b"\n")
    return digest


class Draft:
    """Messages of one payload, and what goes with them."""

    __slots__ = (
        *("_before_volatile", "digest", "downgrades", "edited", "ids", "masked", "messages", "model"),
        *("names", "own", "parameters", "stable", "unmarked", "wire"),
    )

    def __init__(self, wire: str, model: str | None, ids: Alphabet, names: Alphabet) -> None:
        self.wire = wire
        self.model = model
        self.messages: list[Json] = []
        self.own = 0  # messages from here on were not handed out, and may still be changed
        self.downgrades: list[Downgrade] = []
        self.ids = Names(ids, unique=True)
        self.names = Names(names, unique=False)
        self.parameters: dict[str, Mapping[str, str]] = {}  # by tool: wire names of parameters, by their own
        self.digest = Digest()
        self.edited = False  # whether the transcript was edited at all
        self.masked = False  # whether an item of the reply at hand was masked
        self.stable = 0  # how many messages precede the volatile items
        self._before_volatile: Json | None = None  # the last of them, which a volatile item may extend
        self.unmarked: dict[int, Json] = {}  # messages that got a cache mark, as they were before

    def branch(self) -> "Draft":
        """A copy to be finished; what was written so far is changed by neither from now on."""
        twin = object.__new__(Draft)
        twin.wire, twin.model = self.wire, self.model
        self.own = twin.own = len(self.messages)
        twin.messages, twin.downgrades = self.messages.copy(), self.downgrades.copy()
        twin.ids, twin.names, twin.digest = self.ids.branch(), self.names.branch(), self.digest.branch()
        twin.parameters = self.parameters  # complete before the first message
        twin.edited, twin.masked = self.edited, self.masked
        twin.stable, twin._before_volatile, twin.unmarked = 0, None, {}
        return twin

    # --- downgrades --------------------------------------------------------------------------------------

    def note(self, item: Item | None, change: Change, reason: str) -> None:
        """Note what was changed or left out."""
        self.downgrades.append(Downgrade(item.id if item else None, change, reason))

    def note_empty(self, item: Item) -> None:
        """Note that an item, or a part of it, has no content."""
        self.note(item, "empty_left_out", "it has no content, or a part that has none")

    def note_thoughts(self, item: Reasoning, reason: str) -> None:
        """Note that thoughts are not sent; the model's own that came without state are no loss."""
        state = item.state
        is_own = state is not None and not state.data and state.provider == self.wire
        if is_own and state and self.model is not None:
            is_own = same_model(state.model, self.model)
        self.note(item, "thoughts_left_out" if is_own else "reasoning_left_out", reason)

    # --- ids, names and texts ----------------------------------------------------------------------------

    def call_id(self, call: ToolCall, bare: str | None = None) -> str:
        """The wire's id for a call, made of `bare` where the call's own id holds more than an id."""
        given = self.ids.give(bare or call.call_id)
        if given != call.call_id:
            self.note(call, "id_renamed", f"the call's id is {given!r} here")
        return given

    def takes_plainly(
        self,
        calls: Sequence[ToolCall],
        names: Mapping[str, str],
        takes_arguments: Callable[[str], object] = bool,
    ) -> bool:
        """Whether calls are written as they are; their ids are given then.

        Their tools have known wire names, and their ids and arguments need no repair.
        """
        ids = self.ids
        taken, longest = ids.taken, ids.identifiers
        for call in calls:
            call_id = call.call_id
            is_plain = len(call_id) <= longest and call_id.isidentifier() and call_id.isascii()
            is_known = call_id not in taken and call.name in names
            if not is_known or not (is_plain or ids.takes(call_id)) or not takes_arguments(call.arguments):
                for given in calls[: calls.index(call)]:
                    del taken[given.call_id]
                return False
            taken[call_id] = call_id
        return True

    def instructions(self, item: Message | ConfigChange) -> str:
        """The text of instructions; media in them are described."""
        if isinstance(item, ConfigChange):
            return item.instructions or ""
        if type(item.content) is str:
            return item.content
        text, media = split(item.parts)
        if media:
            self.note(item, "media_as_text", "only turns of the user carry media here")
            text = "\n".join(filter(None, (text, *map(described, media))))
        return text

    # --- opaque state ------------------------------------------------------------------------------------

    def usable_blocks(
        self, item: Message | Reasoning | ToolCall, is_standing: Callable[[str], bool] | None = None
    ) -> list[Json]:
        """The raw blocks of an item's state, if they may go back; why not is noted.

        `is_standing` says whether a digest is that of what precedes the item; it is `stands` by default.
        """
        state = item.state
        if state is None or not state.data:
            return []
        if state.provider != self.wire and not isinstance(item, Reasoning):
            self._note_fields(item, state)
            return []
        fault = self._misfit(state, is_standing or self.stands)
        blocks = unpack(state) if fault is None else []
        if fault is None and not (blocks and self._are_whole(item, blocks)):
            fault = "reasoning_left_out", "its state cannot be read"
        if fault is None and not still_said(self.wire, item, blocks):
            fault = "state_stale", "it was changed since"
        if fault is not None:
            self.note(item, *fault)
            return []
        return blocks

    def _are_whole(self, item: Item, blocks: list[Json]) -> bool:
        # Of a call's block the writer takes single fields, and looks at each.
        return isinstance(item, ToolCall) or all(is_whole(self.wire, block) for block in blocks)

    def _note_fields(self, item: Item, state: Opaque) -> None:
        self.note(item, "fields_left_out", f"what {state.provider} has beside it is not sent here")

    def _misfit(self, state: Opaque, is_standing: Callable[[str], bool]) -> tuple[Change, str] | None:
        doubt = None
        if self.masked or state.prefix == MASKED:
            doubt = "something in its own reply was masked"
        elif state.prefix is None and self.edited:
            doubt = "there were edits, and what it was made after is not known"
        return misfit(state, self.wire, self.model, is_standing, doubt)

    def stands(self, prefix: str, *, merges: bool = False, from_nothing: bool = False) -> bool:
        """Whether a digest is that of what precedes a reply of the model that is about to be written.

        The reply may go on with the model's turn at the end, so the digest before that turn counts too. Where
        a wire `merges` both into one message, no other digest does: the reply then answered a turn that was
        made up and is not there any more. So did a reply to nothing, unless the wire writes that turn again.
        """
        messages, count, start = self.messages, len(self.messages), self.turn_start()
        if not start and not from_nothing:
            return False
        self.digest.advance(messages, min(start, count - 1))
        if prefix == self.digest.of(messages, start):
            return True
        return start < count and not merges and prefix == self.digest.of(messages, count)

    def turn_start(self) -> int:
        """Where the model's turn at the end begins; the end itself where another spoke last."""
        start = len(self.messages)
        while start and self.messages[start - 1].get("role") in ("assistant", "model"):
            start -= 1
        return start

    # --- messages ----------------------------------------------------------------------------------------

    def open_message(self) -> Json:
        """The last message, to be extended; a copy of it where it was handed out before."""
        if len(self.messages) <= self.own:
            last = self.messages[-1]
            self.messages[-1] = {
                key: value.copy() if isinstance(value, list) else value  # pyright: ignore
                for key, value in last.items()
            }
            self.own = len(self.messages) - 1
        return self.messages[-1]

    def settle(self) -> None:
        """Keep the messages as they stand: the items that follow are volatile."""
        self.own = self.stable = len(self.messages)
        self._before_volatile = self.messages[-1] if self.messages else None

    @property
    def settled(self) -> list[Json]:
        """The messages as they were before the volatile items."""
        if self._before_volatile is None:
            return []
        return [*self.written(self.stable - 1), self._before_volatile]

    def written(self, count: int) -> list[Json]:
        """The first `count` messages without cache marks."""
        messages = self.messages[:count]
        for place, message in self.unmarked.items():
            if place < count:
                messages[place] = message
        return messages


def content_for_model(item: Message | Note | Summary) -> Content:
    """The content of an item that is addressed to the model."""
    if isinstance(item, Message):
        return item.content
    return summarized(item.text) if isinstance(item, Summary) else noted(item)
