"""Items on their way to a wire: each result with its call, each call with a result.

The wires differ in form; in this they are alike. A dialogue takes items one by one and hands whole turns to
the writer of a wire, so that one more item costs one more item.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, assert_never

from quire.items import (
    ConfigChange,
    Handoff,
    Hide,
    Item,
    Mask,
    Message,
    Note,
    Pin,
    Reasoning,
    Summary,
    ToolCall,
    ToolResult,
    Undo,
    Unknown,
)
from quire.providers.native import BESIDE, FORM, fields_beside, form_of, note_letters
from quire.providers.one_answer import answers_in, of_two_answers
from quire.providers.sheet import Sheet
from quire.state import MASKED, answered, answers, merge_of

Output = Message | Reasoning | ToolCall


class Reply(NamedTuple):
    """What a model said, thought and called in one go, and what each call gave, in the order of the calls."""

    outputs: list[Output]
    calls: list[ToolCall]
    results: list[ToolResult | None]


class Writer(Protocol):
    """What a wire makes of turns. Lists that were handed out are never changed."""

    sheet: Sheet

    def plain(self, items: Sequence[Item], start: int, stop: int) -> int:
        """Write turns that have nothing special, and give the place of the first item that was not written.

        At `stop` there is a message that is not the model's, so that all turns before it are whole.
        """
        ...

    def user(self, item: Message | Note | Summary) -> None:
        """Something said to the model."""
        ...

    def instruct(self, item: Message | ConfigChange) -> None:
        """Instructions, at the start or in the middle."""
        ...

    def assistant(self, item: Message) -> None:
        """A reply that is one message and nothing else."""
        ...

    def reply(self, reply: Reply) -> None:
        """A reply with calls or reasoning."""
        ...


class LateResult(Exception):
    """A result came for a call that had been given up: begin again, knowing it."""


class Dialogue:
    """The turn at hand, and what later results may still belong to.

    `results` are those of calls by the position of the call among the items, where they are known beforehand:
    all that are among the first `seen` items.
    """

    __slots__ = (
        "_answered",
        "_given_up",
        "_held",
        "_position",
        "_reply",
        "_results",
        "_seen",
        "_taken",
        "writer",
    )

    def __init__(
        self, writer: Writer, results: dict[int, tuple[int, ToolResult]] | None = None, seen: int = 0
    ) -> None:
        self.writer = writer
        self._results = results or {}
        self._seen = seen
        self._taken = {position for position, _ in self._results.values()}
        self._position = 0
        self._held: Message | None = None  # words that a call may still join
        self._reply: Reply | None = None  # a reply with calls or reasoning
        self._answered = 0  # how many results came since the reply began
        self._given_up: set[str] = set()  # call ids of calls that a result was made up for

    def branch(self, writer: Writer) -> "Dialogue":
        """The same dialogue, to go on in another way."""
        twin = Dialogue(writer)
        twin._results, twin._taken, twin._position = self._results, self._taken, self._position
        twin._seen = self._seen
        twin._held, twin._answered, twin._given_up = self._held, self._answered, self._given_up.copy()
        if self._reply is not None:
            outputs, calls, results = self._reply
            twin._reply = Reply(outputs.copy(), calls.copy(), results.copy())
        return twin

    def feed(self, items: Sequence[Item]) -> None:
        """Take more items: plain turns many at a time, all others one by one."""
        before, whole = self._position, _last_closing(items)
        index = 0
        while index < len(items):
            if index < whole and self._held is None and self._reply is None:
                index = self.writer.plain(items, index, whole)
                self._position = before + index
            self._take(items[index])
            index += 1
            self._position += 1

    def _take(self, item: Item) -> None:
        if item.extras:
            self._note_extras(item)
        match item:
            case Message():
                self._message(item)
            case ToolCall():
                self._call(item)
            case ToolResult():
                self._result(item)
            case Reasoning():
                self._open(item).outputs.append(item)
            case Note() | Summary():
                self.close()
                self.writer.user(item)
            case ConfigChange() if item.instructions:
                self.close()
                self.writer.instruct(item)
            case ConfigChange() | Handoff() | Hide() | Mask() | Pin() | Undo() | Unknown():
                self.writer.sheet.note(
                    item, "unspoken", "a record for the program, without words for a model"
                )
            case _:
                assert_never(item)

    def _note_extras(self, item: Item) -> None:
        sheet = self.writer.sheet
        if FORM in item.extras and form_of(item, sheet.provider) is None:
            sheet.note(item, "fields_left_out", "a call of another kind is one of a function here")
        if BESIDE in item.extras:
            self._note_fields(item)

    def _note_fields(self, item: Item) -> None:
        # Citations of an answer are for its readers: no wire wants them back.
        fields = fields_beside(item, self.writer.sheet.provider)
        if not fields or "citations" in fields:
            self.writer.sheet.note(item, "fields_left_out", "what stood beside it is not sent here")

    def close(self) -> None:
        """Hand over what is at hand."""
        held, reply = self._held, self._reply
        self._held = self._reply = None
        if held is not None:
            self.writer.assistant(held)
        elif reply is not None:
            for part in _parts(reply) if None in reply.results else [reply]:
                self._hand_over(part)

    def _hand_over(self, reply: Reply) -> None:
        if not reply.calls and len(reply.outputs) == 1 and isinstance(reply.outputs[0], Message):
            self.writer.assistant(reply.outputs[0])
            return
        if None in reply.results:
            missing = zip(reply.calls, reply.results, strict=True)
            self._given_up.update(call.call_id for call, result in missing if result is None)
        sheet = self.writer.sheet
        sheet.masked = any(output.state and output.state.prefix == MASKED for output in reply.outputs)
        self.writer.reply(reply)
        sheet.masked = False

    def _message(self, item: Message) -> None:
        note_letters(item, self.writer.sheet)
        if item.role == "assistant":
            self._words(item)
            return
        self.close()
        if item.role == "user":
            self.writer.user(item)
        else:
            self.writer.instruct(item)

    def _words(self, item: Message) -> None:
        reply = self._reply
        if reply is not None and type(reply.outputs[-1]) is not Message and self._joins(reply, item):
            reply.outputs.append(item)
            return
        self.close()
        self._held = item

    def _joins(self, reply: Reply, item: Output) -> bool:
        same_agent = reply.outputs[-1].agent_id == item.agent_id
        return not self._answered and same_agent and not of_two_answers(reply.outputs, item)

    def _open(self, item: Output) -> Reply:
        """The reply that an output belongs to: the one at hand, or a new one."""
        reply, held = self._reply, self._held
        if reply is not None and self._joins(reply, item):
            return reply
        if held is not None and held.agent_id == item.agent_id and type(item) is ToolCall:
            self._held = None
            self._reply = reply = Reply([held], [], [])
        else:
            self.close()
            self._reply = reply = Reply([], [], [])
        self._answered = 0
        return reply

    def _call(self, item: ToolCall) -> None:
        outputs, calls, results = self._open(item)
        outputs.append(item)
        calls.append(item)
        known = self._results.get(self._position)
        results.append(known[1] if known else None)

    def _result(self, item: ToolResult) -> None:
        note_letters(item, self.writer.sheet)
        if self._position in self._taken:
            self._broken()
            return
        waiting = self._waiting(item.call_id) if self._position >= self._seen else []
        index = answered([call for _, call in waiting], item) if waiting else -1
        same = index >= 0 and _is_for(waiting[index][1], item)
        if item.call_id in self._given_up and not same and self._position >= self._seen:
            raise LateResult
        if self._reply is not None and index >= 0:
            self._reply.results[waiting[index][0]] = item
            self._answered += 1
            return
        self._broken()
        self.writer.sheet.note(item, "result_left_out", f"no open call {item.call_id!r} for this result")

    def _waiting(self, call_id: str) -> list[tuple[int, ToolCall]]:
        """The calls of the reply at hand that wait under an id, with their places among its calls."""
        if self._reply is None:
            return []
        calls = zip(self._reply.calls, self._reply.results, strict=True)
        return [
            (index, call)
            for index, (call, result) in enumerate(calls)
            if result is None and call.call_id == call_id
        ]

    def _broken(self) -> None:
        # A result ends the reply before it, wherever it belongs.
        self._answered += 1
        if self._held is not None:
            self.close()


def _parts(reply: Reply) -> Iterator[Reply]:
    """A reply by the answers that it is of."""
    results = iter(reply.results)
    for outputs in answers_in(reply.outputs, reply.results):
        calls = [output for output in outputs if isinstance(output, ToolCall)]
        yield Reply(outputs, calls, [next(results) for _ in calls])


def _last_closing(items: Sequence[Item]) -> int:
    """The place of the last message that is not the model's: all turns before it are whole."""
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        if isinstance(item, Message) and item.role != "assistant":
            return index
    return 0


def results_by_call(items: Sequence[Item]) -> dict[int, tuple[int, ToolResult]]:
    """For calls, by position: their results, with the positions of these."""
    pairs = ((call, position, items[position]) for position, call in answers(items)[0].items())
    return {call: (position, item) for call, position, item in pairs if isinstance(item, ToolResult)}


def _is_for(call: ToolCall, result: ToolResult) -> bool:
    """Whether a result is surely that of a call, and not of another one under the same id."""
    return call.name == result.name and merge_of(call) == merge_of(result)
