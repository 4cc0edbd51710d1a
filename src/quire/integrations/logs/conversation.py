"""A conversation of a log: messages of one wire with ids and times, in windows between compactions."""

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
"""The number of a line, or of an element of a list, counted from 1; and the object there."""


class Entry(NamedTuple):
    """A message in the format of its conversation's wire, with its id and time in the log."""

    message: Json
    id: str | None = None
    time: float | None = None


class Window(NamedTuple):
    """The messages between two compactions. The first `replacing` entries replace all earlier windows."""

    entries: list[Entry]
    replacing: int = 0


class Used(NamedTuple):
    """The usage of one answer, as reported in the log."""

    model: str | None
    usage: Usage
    time: float | None


class Conversation(NamedTuple):
    """One conversation of a log.

    `wire` names the provider's format of the messages. `head` has the other fields of a request: the model,
    instructions, tools. `number` is the line on which the conversation begins. The last `answers` entries are
    an answer that no request contains yet. `used` has the usage of each answer, if the log reports it.
    """

    wire: str
    windows: list[Window]
    head: Json
    number: int = 1
    answers: int = 0
    used: Sequence[Used] = ()

    @property
    def payload(self) -> Json:
        """The last request of the log; if the log has no requests, the next request."""
        entries = self.windows[-1].entries
        sent = [entry.message for entry in entries[: len(entries) - self.answers]]
        return {**self.head, HISTORY[self.wire]: _merged(sent) if self.wire == "anthropic" else sent}

    def items(self, model: str | None = None) -> list[Item]:
        """Everything in the log as items; an edit hides the items that a compaction replaced."""
        wire = provider_for(self.wire)
        entries = [entry for window in self.windows for entry in window.entries]
        messages = [entry.message for entry in entries]
        items = wire.read_history({**self.head, HISTORY[self.wire]: messages}, model=model)
        counts = [len(wire.read_history([message])) for message in messages]
        instruction_count = len(items) - sum(counts)
        time = next((entry.time for entry in entries if entry.time is not None), None)
        recorded = [replace(item, created_at=time or item.created_at) for item in items[:instruction_count]]
        remaining, sizes, ids = iter(items[instruction_count:]), iter(counts), set[str]()
        for window in self.windows:
            recorded[instruction_count:] = _with_last_reply_ended(recorded[instruction_count:])
            start = len(recorded)
            for number, entry in enumerate(window.entries, 1):
                time = max(filter(None, (time, entry.time)), default=None)
                for item in [next(remaining) for _ in range(next(sizes))]:
                    own_id = unused_id(entry.id or item.id, ids)
                    recorded.append(replace(item, id=own_id, created_at=time or item.created_at))
                if number == window.replacing:
                    recorded += _compaction_edits(recorded[instruction_count:start], recorded[start:])
        return recorded


def unused_id(wanted: str, ids: set[str]) -> str:
    """The wanted id, with a number if it is in `ids` already; adds it to `ids`."""
    own_id, number = wanted, 1
    while own_id in ids:
        number += 1
        own_id = f"{wanted}-{number}"
    ids.add(own_id)
    return own_id


def _with_last_reply_ended(items: list[Item]) -> list[Item]:
    """Items whose last reply has an id, so that outputs at the start of the next window do not join it."""
    last_groups = groups(item for item in items if not is_edit(item))[-1:]
    ended_by_id = {item.id: item for group in last_groups for item in in_one_reply(group.items)}
    return [ended_by_id.get(item.id, item) for item in items]


def _compaction_edits(earlier: list[Item], replacing: list[Item]) -> list[Item]:
    """The edit that hides the earlier items, except open calls and a user message without an answer."""
    open_groups = (group for group in Transcript(earlier).view.groups() if group.pending)
    shown_ids = {item.id for group in open_groups for item in group.items}
    if not any(map(is_user_message, replacing)):
        shown_ids |= {item.id for item in list(filter(is_user_message, earlier))[-1:]}
    content = [item for item in earlier if not isinstance(item, Hide)]
    stretches = groupby(content, lambda item: item.id in shown_ids)
    runs = [list(run) for is_shown, run in stretches if not is_shown]
    spans = tuple(Span(run[0].id, run[-1].id) for run in runs)
    return [Hide(spans, created_at=replacing[-1].created_at)] if spans and replacing else []


def _merged(messages: Sequence[Json]) -> list[Json]:
    """Messages with consecutive ones of one role merged, as Anthropic reads them."""
    merged = list[Json]()
    for _, group in groupby(messages, lambda message: message.get("role")):
        run = list(group)
        blocks = [block for message in run for block in _blocks(message.get("content"))]
        merged.append({**run[0], "content": blocks} if len(run) > 1 else run[0])
    return merged


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else entries_in(content)


class Log(NamedTuple):
    """The conversations of a log, and the number of records that were left out, by kind."""

    format: str
    title: str
    conversations: list[Conversation]
    left_out: Counter[str]

    def __str__(self) -> str:
        """The format, the conversations, and what was left out."""
        count = len(self.conversations)
        summary = f"{self.title}, {count:,} conversation{'s' * (count != 1)}"
        left_out = ", ".join(f"{number:,} {kind}" for kind, number in self.left_out.most_common())
        return f"{summary}; left out: {left_out}" if left_out else summary


class Target(NamedTuple):
    """The settings of a writer: the conversation's address, its working folder, and the model that continues.

    With `whole`, everything recorded is written, with its compactions if the format has them; otherwise only
    the items that are shown. Without a `model`, opaque state is kept for the model that made it last.
    """

    address: str
    folder: str = "/"
    model: str | None = None
    whole: bool = True

    def shown(self, items: Sequence[Item]) -> list[Item]:
        """The items to write in a format without edits."""
        return [item for item in items if not is_edit(item)] if self.whole else list(Transcript(items).view)

    @property
    def session_id(self) -> str:
        """A session id that is the same each time this conversation is written."""
        return str(uuid5(NAMESPACE_URL, f"quire:{self.address}"))


class Written(NamedTuple):
    """A conversation in a format.

    `content` is a JSON object, a list with the value of each line (`has_lines`), or a text. `downgrades` say,
    item by item, what the format cannot hold. `hint` says how to continue the conversation in the program.
    """

    content: Json | list[Json] | str
    downgrades: Sequence[Downgrade] = ()
    hint: str = ""
    has_lines: bool = False


def timestamp(time: float | None) -> str:
    """A time as ISO text in UTC: `2026-03-04T09:00:04.120Z`."""
    text = datetime.fromtimestamp(time or 0.0, UTC).isoformat(timespec="microseconds")
    return text.removesuffix("+00:00").removesuffix("000") + "Z"


def moment(value: Any) -> float | None:
    """A time in seconds, from ISO text or from a number of seconds, milliseconds or nanoseconds."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        try:
            parsed = datetime.fromisoformat(str(value))
        except ValueError:
            return None
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    return number / 1e9 if number > 1e16 else number / 1e3 if number > 1e11 else number


def records_in(values: Sequence[Any]) -> list[Record]:
    """The objects of a log with their numbers; if the file is a single list, the objects in it."""
    if len(values) == 1 and isinstance(values[0], list):
        values = entries_in(values[0])
    return [(number, fields_in(value)) for number, value in enumerate(values, 1) if fields_in(value)]
