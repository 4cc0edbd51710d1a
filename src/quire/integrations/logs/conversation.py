"""A conversation as a log has it: messages of one wire with ids and times, in windows."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from msgspec.structs import replace

from quire.items import Hide, Item, Span
from quire.providers import HISTORY, Downgrade, entries_in, fields_in, provider_for
from quire.state import Transcript, groups, in_one_reply, is_edit, is_user_message
from quire.tokens import Usage

Json = dict[str, Any]
Record = tuple[int, Json]
"""An object of a log, with its line or its place in a list, counted from 1."""


class Entry(NamedTuple):
    """A message in the wire of its conversation, with the id and the time that the log has for it."""

    message: Json
    id: str | None = None
    time: float | None = None


class Window(NamedTuple):
    """What was sent between two compactions. The first `replacing` entries stand for all that was before."""

    entries: list[Entry]
    replacing: int = 0


class Used(NamedTuple):
    """What one answer used, as the log reports it."""

    model: str | None
    usage: Usage
    time: float | None


class Conversation(NamedTuple):
    """One conversation of a log.

    `wire` is the provider's format that its messages have. `head` holds the fields of a request beside the
    messages: the model, instructions, tools. `number` is the line on which it begins. The last `answers`
    entries are an answer that no request has sent yet. `used` has what each answer used, if the log says it.
    """

    wire: str
    windows: list[Window]
    head: Json
    number: int = 1
    answers: int = 0
    used: Sequence[Used] = ()

    @property
    def payload(self) -> Json:
        """The last request; in a log without requests, what the next one would send."""
        entries = self.windows[-1].entries
        sent = [entry.message for entry in entries[: len(entries) - self.answers]]
        return {**self.head, HISTORY[self.wire]: _joined(sent) if self.wire == "anthropic" else sent}

    def items(self, model: str | None = None) -> list[Item]:
        """Everything in the log as items; what a compaction replaced is hidden by an edit."""
        wire = provider_for(self.wire)
        entries = [entry for window in self.windows for entry in window.entries]
        messages = [entry.message for entry in entries]
        items = wire.read_history({**self.head, HISTORY[self.wire]: messages}, model=model)
        counts = [len(wire.read_history([message])) for message in messages]
        first = len(items) - sum(counts)  # instructions come first
        time = next((entry.time for entry in entries if entry.time is not None), None)
        made = [replace(item, created_at=time or item.created_at) for item in items[:first]]
        rest, sizes, ids = iter(items[first:]), iter(counts), set[str]()
        for window in self.windows:
            made[first:] = _ended(made[first:])
            earlier = len(made)
            for number, entry in enumerate(window.entries, 1):
                time = max(filter(None, (time, entry.time)), default=None)
                for item in [next(rest) for _ in range(next(sizes))]:
                    own_id = unused_id(entry.id or item.id, ids)
                    made.append(replace(item, id=own_id, created_at=time or item.created_at))
                if number == window.replacing:
                    made += _hidden(made[first:earlier], made[earlier:])
        return made


def unused_id(wanted: str, ids: set[str]) -> str:
    """An id that nothing has yet: several items of one message are numbered."""
    own, number = wanted, 1
    while own in ids:
        number += 1
        own = f"{wanted}-{number}"
    ids.add(own)
    return own


def _ended(items: list[Item]) -> list[Item]:
    """Items whose last reply is over, so that it does not take the outputs with which a window begins."""
    last = groups(item for item in items if not is_edit(item))[-1:]
    reply = {item.id: item for group in last for item in in_one_reply(group.items)}
    return [reply.get(item.id, item) for item in items]


def _hidden(earlier: list[Item], replacing: list[Item]) -> list[Item]:
    """The edit of a compaction. An open call stays shown, and a message still to be answered."""
    held = {item.id for group in Transcript(earlier).view.groups() if group.pending for item in group.items}
    if not any(map(is_user_message, replacing)):
        held |= {item.id for item in [one for one in earlier if is_user_message(one)][-1:]}
    content = [item for item in earlier if not isinstance(item, Hide)]
    runs = [list(run) for goes, run in groupby(content, lambda item: item.id not in held) if goes]
    spans = tuple(Span(run[0].id, run[-1].id) for run in runs)
    return [Hide(spans, created_at=replacing[-1].created_at)] if spans and replacing else []


def _joined(messages: Sequence[Json]) -> list[Json]:
    """Messages in which neighbours of one role are one message, as Anthropic reads them."""
    made = list[Json]()
    for _, run in groupby(messages, lambda message: message.get("role")):
        some = list(run)
        blocks = [block for message in some for block in _blocks(message.get("content"))]
        made.append({**some[0], "content": blocks} if len(some) > 1 else some[0])
    return made


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else entries_in(content)


class Log(NamedTuple):
    """The conversations of a log, and how many records of each kind are no part of them."""

    format: str
    title: str
    conversations: list[Conversation]
    left_out: Counter[str]

    def __str__(self) -> str:
        """The format, the conversations, and what was left out."""
        count = len(self.conversations)
        words = f"{self.title}, {count:,} conversation{'s' * (count != 1)}"
        rest = ", ".join(f"{number:,} {kind}" for kind, number in self.left_out.most_common())
        return f"{words}; left out: {rest}" if rest else words


class Target(NamedTuple):
    """What a writer is told: the conversation's address, the folder it is about, and who is to go on with it.

    With `whole` everything recorded is written, with its compactions, where the format has such; else what
    is shown. Without a `model`, opaque state is for the model that made it last.
    """

    address: str
    folder: str = "/"
    model: str | None = None
    whole: bool = True

    def shown(self, items: Sequence[Item]) -> list[Item]:
        """What of the items is written, where the format has no edits."""
        return [item for item in items if not is_edit(item)] if self.whole else list(Transcript(items).view)

    @property
    def session_id(self) -> str:
        """The same id each time that the conversation is written."""
        return str(uuid5(NAMESPACE_URL, f"quire:{self.address}"))


class Written(NamedTuple):
    """A conversation in a format.

    `content` is JSON, the values of lines (`has_lines`), or a text. `downgrades` say, item by item, what the
    format does not carry; `hint` how the program goes on with it.
    """

    content: Json | list[Json] | str
    downgrades: Sequence[Downgrade] = ()
    hint: str = ""
    has_lines: bool = False


def timestamp(time: float | None) -> str:
    """A time as logs have it, in UTC: `2026-03-04T09:00:04.120Z`."""
    text = datetime.fromtimestamp(time or 0.0, UTC).isoformat(timespec="microseconds")
    return text.removesuffix("+00:00").removesuffix("000") + "Z"


def moment(value: Any) -> float | None:
    """A time in seconds: of ISO text, or of a number of milliseconds or nanoseconds."""
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        try:
            found = datetime.fromisoformat(str(value))
        except ValueError:
            return None
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    return seconds / 1e9 if seconds > 1e16 else seconds / 1e3 if seconds > 1e11 else seconds


def records_in(values: Sequence[Any]) -> list[Record]:
    """The objects of a log; a list that is the whole file stands for its values."""
    if len(values) == 1 and isinstance(values[0], list):
        values = entries_in(values[0])
    return [(number, fields_in(value)) for number, value in enumerate(values, 1) if fields_in(value)]
