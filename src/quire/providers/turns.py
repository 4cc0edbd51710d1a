"""Items as turns: each result with its call, each call with a result.

The wires differ in form; in this they are alike. `Turns` takes items one by one and hands whole turns to the
writer of a wire, so that one more item costs one more item.
"""

from collections.abc import Container, Iterator, Sequence
from copy import copy
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self, cast

from msgspec.structs import replace

from quire.items import (
    MAX_DEPTH,
    Audio,
    ConfigChange,
    Item,
    Message,
    Note,
    Part,
    Reasoning,
    Summary,
    ToolCall,
    ToolResult,
    parts_of,
)
from quire.providers.draft import Draft, content_for_model
from quire.providers.media import Media, as_text, is_garbled, replaced, split
from quire.providers.profiles import Profile
from quire.providers.rules import FROM_ASSISTANT, NO_RESULT, from_tool, tagged_instructions
from quire.providers.types import CachePlan
from quire.providers.values import Json, nests_deeper, object_in
from quire.state import MASKED, answered, answers, merge_of

Output = Message | Reasoning | ToolCall


class Marks(NamedTuple):
    """Where, among the messages, the static and the slow part end."""

    static: int
    slow: int
    plan: CachePlan


class Reply(NamedTuple):
    """What a model said, thought and called in one turn, and the result of each call, in their order."""

    outputs: list[Output]
    calls: list[ToolCall]
    results: list[ToolResult | None]


class Writer:
    """Writes the turns of one wire into a draft. Lists that were handed out are never changed.

    What all wires do is here. A wire says how parts, instructions, replies and results look.
    """

    __slots__ = ("draft", "profile", "tool_names")

    deepest: ClassVar[int] = MAX_DEPTH
    """How many levels the arguments of a call may have."""

    def __init__(self, draft: Draft, profile: Profile) -> None:
        self.draft = draft
        self.profile = profile
        self.tool_names: dict[str, str] = {}  # wire names of the tools called so far

    def branch(self) -> Self:
        """A copy to be finished; both go on by themselves."""
        twin = copy(self)
        twin.draft, twin.tool_names = self.draft.branch(), self.tool_names.copy()
        return twin

    def plain(self, items: Sequence[Item], start: int, stop: int) -> int:
        """Write common turns from `start` on; returns the place of the first item that was not written.

        At `stop` there is a message that is not the model's, so every turn before it is complete.
        """
        raise NotImplementedError

    def finish(self, marks: Marks | None) -> dict[str, Any]:
        """The payload."""
        raise NotImplementedError

    # --- the steps that all wires share ------------------------------------------------------------------

    def user(self, item: Message | Note | Summary) -> None:
        """Write an item that is addressed to the model."""
        self._note_state(item)
        parts = self.input_parts(item, parts_of(content_for_model(item)))
        if parts:
            self._say(parts)

    def instruct(self, item: Message | ConfigChange) -> None:
        """Write instructions, or tagged text of the user where the wire has no place for them."""
        self._note_state(item)
        text = self.draft.instructions(item)
        if self._is_empty(text):
            self.draft.note_empty(item)
        elif reason := self._instruct(item, text):
            self.draft.note(item, "instructions_as_text", reason)
            self._say([self._text_part(tagged_instructions(text))])

    def reply(self, reply: Reply) -> None:
        """Write a turn of the model, the results of its calls, and the media that neither can carry."""
        calls, found = reply.calls, reply.results
        outputs = [self._spoken(one) if isinstance(one, Message) else one for one in reply.outputs]
        results = [result or self._missing(call) for call, result in zip(calls, found, strict=True)]
        self._reply(outputs, calls, results)
        for output in outputs:
            if isinstance(output, Message):
                self._move_media(output, FROM_ASSISTANT)
        for call, result in zip(calls, results, strict=True):
            self._move_media(result, from_tool(call.name))

    def _note_state(self, item: Item) -> None:
        """Note the loss of state beside a message that is not the model's: no wire takes it back."""
        if isinstance(item, Message) and item.state is not None:
            self.draft.usable_blocks(item)

    def _spoken(self, item: Message) -> Message:
        """A message of the model with the transcripts of what it said aloud; no wire takes that back."""
        if isinstance(item.content, str):
            return item
        parts = tuple(part.transcript or part if isinstance(part, Audio) else part for part in item.parts)
        if parts == item.parts:
            return item
        self.draft.note(item, "media_as_text", "a recording of the model is its transcript here")
        return replace(item, content=parts)

    def _missing(self, call: ToolCall) -> ToolResult:
        self.draft.note(call, "result_added", "the call has no result")
        return ToolResult(call.call_id, call.name, NO_RESULT, is_error=True)

    def _move_media(self, item: Message | ToolResult, heading: str) -> None:
        """Write the media of an item that only a turn of the user can carry."""
        if isinstance(item.content, str):
            return
        media = [part for part in split(item.parts)[1] if not self._keeps(item, part)]
        if media:
            self.draft.note(item, "media_moved", "only the user sends such media here")
            self._say(self.input_parts(item, (heading, *media)))

    # --- what a wire says --------------------------------------------------------------------------------

    def _say(self, parts: list[Json]) -> None:
        """Write parts of the user."""
        raise NotImplementedError

    def _instruct(self, item: Item, text: str) -> str | None:
        """Write instructions; returns why they cannot be written as such."""
        raise NotImplementedError

    def _reply(self, outputs: list[Output], calls: list[ToolCall], results: list[ToolResult]) -> None:
        """Write a turn of the model, and a result for each call."""
        raise NotImplementedError

    def _keeps(self, item: Message | ToolResult, part: Media) -> bool:
        """Whether media stay in a message of the model or in a result."""
        return False

    def _text_part(self, text: str) -> Json:
        raise NotImplementedError

    def _media_part(self, item: Item, part: Media) -> Json | None:
        """Media as the wire carries them; None if it cannot."""
        raise NotImplementedError

    def _part_text(self, part: Part) -> str | None:
        """The text of a part that is written as text."""
        return as_text(part)

    def _is_empty(self, text: str) -> bool:
        """Whether the wire refuses a text, or the text says nothing."""
        return not text

    def _stands(self, prefix: str) -> bool:
        """Whether a digest is that of what precedes the reply to be written."""
        return self.draft.stands(prefix)

    # --- thoughts, calls and parts -----------------------------------------------------------------------

    def _thoughts(self, item: Reasoning) -> list[Json]:
        """The raw blocks of a thought, if they may go back."""
        if item.state is None or not item.state.data:
            self.draft.note_thoughts(item, "only what a service wants back goes back to it")
            return []
        return self.draft.usable_blocks(item, self._stands)

    def tool_name(self, call: ToolCall) -> str:
        """The wire's name for the tool of a call."""
        given = self.tool_names.get(call.name)
        if given is None:
            given = self.tool_names[call.name] = self.draft.names.give(call.name)
            if given != call.name:
                self.draft.note(call, "name_renamed", f"the tool's name is {given!r} here")
        return given

    def arguments(self, call: ToolCall) -> Json:
        """The arguments of a call as an object, which holds any text that is none."""
        text = call.arguments
        given = object_in(text) if text and not text.isspace() else {}
        if given is None or nests_deeper(text, self.deepest):
            self.draft.note(call, "arguments_repaired", "its arguments are no JSON object")
            return {"arguments": text}
        names = self.draft.parameters.get(call.name)
        return {names.get(name, name): value for name, value in given.items()} if names else given

    def input_parts(self, item: Item, parts: Sequence[Part]) -> list[Json]:
        """Parts as the user may send them, without empty texts; media that cannot be carried become text."""
        written = [one for part in parts if (one := self._input_part(item, part))]
        if len(written) < max(len(parts), 1):
            self.draft.note_empty(item)
        return written

    def _input_part(self, item: Item, part: Part) -> Json | None:
        text = self._part_text(part)
        if text is not None or isinstance(part, str):
            return None if text is None or self._is_empty(text) else self._text_part(text)
        written = self._media_part(item, part)
        if written is not None:
            return written
        text, reason = replaced(part)
        self.draft.note(item, "media_as_text", reason)
        return self._text_part(text)


class LateResult(Exception):
    """A result came for a call that had been closed without one: begin again, knowing it."""


class Turns:
    """Groups items into turns. `results` are results by the position of their call, as far as known before.

    They are those among the first `seen` items, found by `results_by_call`.
    """

    __slots__ = ("_answered", "_closed", "_position", "_reply", "_results", "_seen", "_taken", "writer")

    def __init__(
        self, writer: Writer, results: dict[int, tuple[int, ToolResult]] | None = None, seen: int = 0
    ) -> None:
        self.writer = writer
        self._results = results or {}
        self._seen = seen
        self._taken = {position for position, _ in self._results.values()}
        self._position = 0
        self._reply: Reply | None = None  # the reply at hand
        self._answered = False  # whether a result came since the reply began
        self._closed: set[str] = set()  # ids of calls that were closed without a result

    def branch(self, writer: Writer) -> "Turns":
        """A copy that goes on with another writer."""
        twin = Turns(writer)
        twin._results, twin._taken, twin._position = self._results, self._taken, self._position
        twin._seen, twin._answered, twin._closed = self._seen, self._answered, self._closed.copy()
        if self._reply is not None:
            twin._reply = Reply(*(list(part) for part in self._reply))  # type: ignore[arg-type]
        return twin

    def feed(self, items: Sequence[Item]) -> None:
        """Take more items: common turns many at a time, all others one by one."""
        first, whole = self._position, _last_break(items)
        index = 0
        while index < len(items):
            if index < whole and self._reply is None:
                index = self.writer.plain(items, index, whole)
                self._position = first + index
            self._take(items[index])
            index += 1
            self._position += 1

    def close(self) -> None:
        """Hand over the reply at hand."""
        reply, self._reply = self._reply, None
        if reply is not None:
            for part in _parts(reply) if None in reply.results else (reply,):
                self._write(part)

    def _take(self, item: Item) -> None:
        match item:
            case Message():
                self._take_message(item)
            case ToolCall():
                self._take_call(item)
            case ToolResult():
                self._take_result(item)
            case Reasoning():
                self._open(item).outputs.append(item)
            case Note() | Summary():
                self.close()
                self.writer.user(item)
            case ConfigChange() if item.instructions:
                self.close()
                self.writer.instruct(item)
            case _:
                reason = "a record for the program, without text for a model"
                self.writer.draft.note(item, "not_rendered", reason)

    def _write(self, reply: Reply) -> None:
        if None in reply.results:
            pairs = zip(reply.calls, reply.results, strict=True)
            self._closed.update(call.call_id for call, result in pairs if result is None)
        draft = self.writer.draft
        draft.masked = any(output.state and output.state.prefix == MASKED for output in reply.outputs)
        self.writer.reply(reply)
        draft.masked = False

    def _take_message(self, item: Message) -> None:
        self._note_garbled(item)
        if item.role == "assistant":
            self._open(item).outputs.append(item)
            return
        self.close()
        if item.role == "user":
            self.writer.user(item)
        else:
            self.writer.instruct(item)

    def _take_call(self, item: ToolCall) -> None:
        outputs, calls, results = self._open(item)
        outputs.append(item)
        calls.append(item)
        known = self._results.get(self._position)
        results.append(known[1] if known else None)

    def _take_result(self, item: ToolResult) -> None:
        self._note_garbled(item)
        if self._position in self._taken:
            self._end_outputs()
            return
        waiting = self._waiting(item.call_id) if self._position >= self._seen else []
        index = answered([call for _, call in waiting], item) if waiting else -1
        is_sure = index >= 0 and _belongs(waiting[index][1], item)
        if item.call_id in self._closed and not is_sure and self._position >= self._seen:
            raise LateResult
        if self._reply is not None and index >= 0:
            self._reply.results[waiting[index][0]] = item
            self._answered = True
            return
        self._end_outputs()
        reason = f"no open call {item.call_id!r} for this result"
        self.writer.draft.note(item, "result_left_out", reason)

    def _open(self, item: Output) -> Reply:
        """The reply that an output belongs to: the one at hand, or a new one."""
        if self._reply is None or not self._joins(self._reply, item):
            self.close()
            self._reply = Reply([], [], [])
            self._answered = False
        return self._reply

    def _joins(self, reply: Reply, item: Output) -> bool:
        """Whether an output is of the reply at hand: not after a result, nor of another agent or answer.

        Two messages in a row are two replies, and thoughts open a reply of their own after a lone message.
        """
        last = reply.outputs[-1]
        if self._answered or last.agent_id != item.agent_id:
            return False
        if type(last) is Message and (
            type(item) is Message or (type(item) is Reasoning and len(reply.outputs) == 1)
        ):
            return False
        return not _of_two_answers(reply.outputs, item)

    def _waiting(self, call_id: str) -> list[tuple[int, ToolCall]]:
        """The calls of the reply at hand that wait for a result under an id, with their places."""
        if self._reply is None:
            return []
        pairs = enumerate(zip(self._reply.calls, self._reply.results, strict=True))
        return [(at, call) for at, (call, result) in pairs if result is None and call.call_id == call_id]

    def _end_outputs(self) -> None:
        """A result ends the outputs before it, whichever call it is for."""
        self._answered = True
        if self._reply is not None and not self._reply.calls and type(self._reply.outputs[-1]) is Message:
            self.close()

    def _note_garbled(self, item: Message | ToolResult) -> None:
        if type(item.content) is not str and any(map(is_garbled, item.parts)):
            reason = "a text file is not UTF-8, and letters of it are replaced"
            self.writer.draft.note(item, "media_as_text", reason)


PlainTurns = tuple[int, Sequence[Message], str | None, Sequence[ToolCall], Sequence[ToolResult], int]
"""The place after some text messages, these, the text of the reply after them, its calls, their results, and
the place after those."""


def plain_turns(items: Sequence[Item], start: int, stop: int, roles: Container[str]) -> Iterator[PlainTurns]:
    """Common turns, up to the first one with anything else: text messages, and calls with their results.

    Nearly all of a history is of this kind. A writer that takes it here does without a function call for
    each item. Where calls are empty, nothing more comes.
    """
    while start < stop:
        first = start
        while start < stop and type(item := items[start]) is Message:
            text = item.content
            if type(text) is not str or not text or item.role not in roles or item.state is not None:
                break
            start += 1
        said = cast("Sequence[Message]", items[first:start])
        call = items[start]
        last = said[-1] if said and said[-1].role == "assistant" else None
        if type(call) is not ToolCall:
            # What follows may end the text before it, unless it is a message.
            kept = len(said) - (last is not None and type(call) is not Message)
            yield first + kept, said[:kept], None, (), (), 0
            return
        spoken: str | None = None
        if last is not None and call.agent_id == last.agent_id:
            spoken, said = cast(str, last.content), said[:-1]
        end, agent = start + 1, call.agent_id
        while type(items[end]) is ToolCall and items[end].agent_id == agent:
            end += 1
        calls, results = items[start:end], items[end : end + end - start]
        middle, start = first + len(said), end + len(results)
        for call, result in zip(calls, results, strict=False):
            if type(result) is not ToolResult or result.call_id != call.call_id:  # type: ignore[union-attr]
                break
            content = result.content
            if type(content) is not str or not content or call.state is not None:  # type: ignore[union-attr]
                break
        else:
            if len(results) == len(calls):
                yield middle, said, spoken, calls, results, start  # type: ignore[misc]
                continue
        yield middle, said, None, (), (), 0
        return


def _last_break(items: Sequence[Item]) -> int:
    """The place of the last message that is not the model's: every turn before it is complete."""
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        if isinstance(item, Message) and item.role != "assistant":
            return index
    return 0


def _parts(reply: Reply) -> Iterator[Reply]:
    """A reply with calls that lack results, split before the first text after such calls.

    By then the payload may have been sent with results that were made up, and the text stands after those.
    """
    starts, is_waiting, has_result = [0], False, False
    given = iter(reply.results)
    for at, output in enumerate(reply.outputs):
        if isinstance(output, ToolCall):
            has_result = next(given) is not None or has_result
            is_waiting = True
        elif isinstance(output, Message) and is_waiting and not has_result:
            starts.append(at)
            is_waiting = False
        elif starts[-1] == at - 1 > 0:
            starts.append(at)  # nothing joins that text
    results = iter(reply.results)
    for start, stop in pairwise([*starts, len(reply.outputs)]):
        outputs = reply.outputs[start:stop]
        calls = [output for output in outputs if isinstance(output, ToolCall)]
        yield Reply(outputs, calls, [next(results) for _ in calls])


def _of_two_answers(outputs: Sequence[Output], other: Output) -> bool:
    """Whether the state of an output says that it was made after another prefix than those before it."""
    prefix = _prefix(other)
    if prefix is None:
        return False
    return next((found for output in reversed(outputs) if (found := _prefix(output))), prefix) != prefix


def _prefix(output: Output) -> str | None:
    prefix = output.state.prefix if output.state else None
    return None if prefix == MASKED else prefix


def results_by_call(items: Sequence[Item]) -> dict[int, tuple[int, ToolResult]]:
    """For each answered call, by position: the position of its result, and the result."""
    pairs = ((call, position, items[position]) for position, call in answers(items)[0].items())
    return {call: (position, item) for call, position, item in pairs if isinstance(item, ToolResult)}


def _belongs(call: ToolCall, result: ToolResult) -> bool:
    """Whether a result is surely that of a call, and not of another one under the same id."""
    return call.name == result.name and merge_of(call) == merge_of(result)
