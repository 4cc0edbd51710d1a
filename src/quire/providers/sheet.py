"""What every wire's writer keeps: the messages so far, ids and names given out, and what was changed."""

from collections.abc import Mapping
from typing import Any

from quire.items import ConfigChange, Item, Message, Opaque, Reasoning
from quire.providers import wording
from quire.providers.binding import Asked, Prefix
from quire.providers.downgrades import Change, Downgrade
from quire.providers.media import split
from quire.providers.names import Alphabet, Names

Json = dict[str, Any]


class Sheet:
    """Messages of one payload. A branch shares what was written and writes on its own."""

    __slots__ = (
        *("_last", "asked", "downgrades", "edited", "ids", "masked", "messages", "model"),
        *("names", "own", "parameters", "prefix", "provider", "stable", "unmarked"),
    )

    def __init__(
        self, provider: str, model: str | None, ids: Alphabet, names: Alphabet, before: Any = None
    ) -> None:
        self.provider = provider
        self.model = model
        self.asked = Asked(model)
        self.messages: list[Json] = []
        self.own = 0  # messages from here on were not handed out, and may still be changed
        self.downgrades: list[Downgrade] = []
        self.ids = Names(ids, unique=True)
        self.names = Names(names, unique=False)
        self.parameters: dict[str, Mapping[str, str]] = {}  # by tool: the wire's names of some, by its own
        self.prefix = Prefix(before)
        self._last: Json | None = None
        self.edited = False  # whether what is written was edited at all
        self.masked = False  # whether something in the reply at hand was
        self.stable = 0  # how many messages there were before anything volatile came
        self.unmarked: dict[int, Json] = {}  # messages that were marked for a cache, as they were before

    def branch(self) -> "Sheet":
        """The same sheet, to be finished; what was written so far is changed by neither from now on."""
        twin = object.__new__(Sheet)
        twin.provider, twin.model, twin.asked = self.provider, self.model, self.asked
        self.own = twin.own = len(self.messages)
        twin.messages, twin.downgrades = self.messages.copy(), self.downgrades.copy()
        twin.ids, twin.names, twin.prefix = self.ids.branch(), self.names.branch(), self.prefix.branch()
        twin.parameters = self.parameters  # all are known before anything is written
        twin.stable, twin._last, twin.unmarked = 0, None, {}
        twin.edited, twin.masked = self.edited, self.masked
        return twin

    def settle(self) -> None:
        """Keep the messages as they stand: what comes now is volatile, even where it joins the last one."""
        self.own = self.stable = len(self.messages)
        self._last = self.messages[-1] if self.messages else None

    @property
    def settled(self) -> list[Json]:
        """The messages as they were before anything volatile came."""
        return [*self.written(self.stable - 1), self._last] if self._last is not None else []

    def written(self, count: int) -> list[Json]:
        """The first so many messages, as they were written: the marks of a cache are not part of them."""
        messages = self.messages[:count]
        for place, message in self.unmarked.items():
            if place < count:
                messages[place] = message
        return messages

    def note(self, item: Item | None, change: Change, reason: str) -> None:
        """Note what was changed or left out."""
        self.downgrades.append(Downgrade(item.id if item else None, change, reason))

    def left_out(self, item: Item) -> None:
        """Note that there was nothing to write, or nothing in a part."""
        self.note(item, "empty_left_out", "it has no content, or a part that has none")

    def unsent(self, item: Reasoning, reason: str) -> None:
        """Note that thoughts have no way back; those that came from here without one are no loss."""
        state = item.state
        is_own = state is not None and state.provider == self.provider and not state.data
        if is_own and state and self.asked.made(state):
            self.note(item, "thoughts_left_out", reason)
        else:
            self.note(item, "reasoning_left_out", reason)

    def words(self, item: Message | ConfigChange) -> str:
        """What is said or ordered where only words can be; media are described."""
        if isinstance(item, ConfigChange):
            return wording.mended(item.instructions or "")
        if type(item.content) is str:
            return wording.mended(item.content)
        text, media = split(item.parts)
        if media:
            self.note(item, "media_as_text", "only turns of the user carry media here")
            text = "\n".join(filter(None, (text, *map(wording.described, media))))
        return wording.mended(text)

    def doubt(self, state: Opaque) -> str | None:
        """Why a state is not to be trusted whatever its digest says."""
        if self.masked:
            return "something in its own reply was masked"
        if state.prefix is None and self.edited:
            return "there were edits, and what it was made after is not known"
        return None

    def call_id(self, item: Item, call_id: str, bare: str | None = None) -> str:
        """The wire's id for a call; made of the bare one, where the id holds more than that."""
        given = self.ids.give(bare or call_id)
        if given != call_id:
            self.note(item, "id_renamed", f"the call's id is {given!r} here")
        return given

    def tool_name(self, item: Item, name: str) -> str:
        """The wire's name for a tool."""
        given = self.names.give(name)
        if given != name:
            self.note(item, "name_renamed", f"the tool's name is {given!r} here")
        return given

    def open_message(self) -> Json:
        """The last message, as one that may be added to: its own copy where it was handed out."""
        if len(self.messages) <= self.own:
            last = self.messages[-1]
            self.messages[-1] = {
                key: value.copy() if isinstance(value, list) else value  # pyright: ignore
                for key, value in last.items()
            }
            self.own = len(self.messages) - 1
        return self.messages[-1]
