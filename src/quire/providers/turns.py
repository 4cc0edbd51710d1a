"""Items as turns: each result with its call, each call with a result.

The wires differ in form; in this they are alike. `Turns` takes items one by one and hands whole turns to the
writer of a wire, so that one more item costs one more item.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self

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
    instructions_in_turn,
    parts_of,
    plain_text,
)
from quire.providers import rules
from quire.providers.draft import Draft, content_for_model
from quire.providers.media import ABILITIES, Media, as_text, replaced, split
from quire.providers.profiles import Profile
from quire.providers.tools import Tool, write_tools
from quire.providers.types import CachePlan
from quire.providers.values import Json, json_text, nests_deeper, object_in
from quire.state import MASKED, Output, ReplySoFar, index_of_call, is_output, merge_of, with_output
from quire.tokens import framed, late_result

Input = Message | Note | Summary | ConfigChange
Step = tuple[Json, Json]
"""A call on a wire, and its result."""


class ModelTurn(NamedTuple):
    """What a model said, thought and called in one turn, and the result of each call, in their order."""

    outputs: list[Output]
    calls: list[ToolCall]
    results: list[ToolResult | None]


class Writer:
    """Writes the turns of one wire into a draft. Lists that were handed out are never changed.

    What all wires do is here. A wire says how parts, instructions, replies and results look.
    """

    wire: ClassVar[str]
    deepest: ClassVar[int] = MAX_DEPTH
    """How many levels the arguments of a call may have."""
    has_text_arguments: ClassVar[bool] = False
    """Whether arguments are JSON text, and no object."""

    def __init__(self, profile: Profile, tools: Sequence[Tool]) -> None:
        self.profile = profile
        self.draft = Draft(self.wire, profile.model, profile.call_ids or rules.CALL_IDS[self.wire])
        self._tools = write_tools(tools, self.draft, profile)
        self.writes_plainly = True  # whether plain turns need nothing added
        # OpenAI takes back what its model wrote.
        self.takes_any_arguments = self.has_text_arguments and profile.takes_all

    def branch(self) -> Self:
        """A copy to be finished; both go on by themselves."""
        twin = self.__class__.__new__(self.__class__)
        twin.__dict__ |= self.__dict__
        twin.draft = self.draft.branch()
        return twin

    def write_plainly(self, items: Sequence[Any], start: int, stop: int) -> int:
        """Write texts, and calls with their results, as long as nothing has to be changed or noted.

        Returns the place of the first item that was not written. Nearly all of a history is of this kind, and
        the usual way takes four times as long. A message of a user or of instructions is at `stop`, so that
        every turn before it is complete. The loop stops at calls if

        - there are more of them than a reply may have;
        - a call has state, or another agent or reply id than what precedes it;
        - a tool has no name on the wire yet, and has to have another;
        - the arguments of a call are empty, no JSON object, or nest too deeply;
        - the id of a call is taken, or the wire does not allow it;
        - the results do not follow in the order of their calls;
        - the content of a result is blank, or has parts;
        - a message is of another origin than its role says.
        """
        names, ids, reads = self.draft.names, self.draft.ids, not self.takes_any_arguments
        taken, longest = ids.taken, ids.alphabet.longest
        write_text, write_turn = self._write_plain_text, self._write_plain_turn
        step, most = self._step, rules.OPENAI_TOOL_CALL_COUNT
        while start < stop:
            item: Any = items[start]
            text: Any = None
            called = start
            if type(item) is Message:
                role, text, called = item.role, item.content, start + 1
                if type(text) is not str or not text or text.isspace():
                    break
                if item.state is not None or item.origin is not None:
                    break
                if role == "user":
                    if item.address is not None:
                        break
                    write_text(role, plain_text(text) if "<" in text or not text.isascii() else text)
                    start = called
                    continue
                if role == "assistant" and type(items[called]) is Message:
                    write_text(role, text)
                    start = called
                    continue
                if role != "assistant":
                    break
            calls: list[Json] = []
            results: list[Json] = []
            end = called
            while type(items[end]) is ToolCall:
                end += 1
            count = end - called
            if not count:
                break
            agent, reply_id = item.agent_id, item.reply_id
            for place in range(called, end):
                call, result = items[place], items[place + count]
                call_id, name = call.call_id, names.given.get(call.name)
                if type(result) is not ToolResult or result.call_id != call_id or call_id in taken:
                    break
                if call.state is not None or call.agent_id != agent or call.reply_id != reply_id:
                    break
                if name is None:
                    if not names.keeps(call.name):
                        break
                    name = names.give(call.name)
                output, given = result.content, call.arguments
                if type(output) is not str or not output or output.isspace():
                    break
                # Most ids are identifiers, and asking for one is quicker than a pattern.
                is_name = call_id.isidentifier() and call_id.isascii() and len(call_id) <= longest
                if not is_name and not ids.alphabet.takes(call_id):
                    break
                if reads or not given:
                    given = self._read_arguments(given)
                    if given is None:
                        break
                taken[call_id] = 1
                if "<" in output or not output.isascii():
                    output = plain_text(output)
                written, answer = step(call_id, name, given, output, result.is_error)
                calls.append(written)
                results.append(answer)
            if not len(calls) == count <= most:
                for call in items[called : called + len(calls)]:
                    del taken[call.call_id]
                break
            write_turn(items[called], text, calls, results)
            start = end + count
        return start

    def finish(self, plan: CachePlan | None) -> dict[str, Any]:
        """The payload."""
        raise NotImplementedError

    # --- the steps that all wires share ------------------------------------------------------------------

    def user(self, item: Message | Note | Summary) -> None:
        """Write an item that is addressed to the model."""
        place = len(self.draft.messages)
        parts = self.input_parts(item, parts_of(content_for_model(item)))
        if parts:
            self._write_user(parts)
        self._add_state(item, place)

    def instruct(self, item: Message) -> None:
        """Write instructions, or tagged text of the user where the wire has no place for them."""
        place, text = len(self.draft.messages), self.draft.instructions(item)
        if not text.strip():
            self.draft.note_empty(item)
        elif reason := self._write_instructions(item, text):
            self.draft.note(item, "instructions_as_text", reason)
            self._write_user([self._text_part(instructions_in_turn(text))])
        self._add_state(item, place)

    def reply(self, reply: ModelTurn) -> None:
        """Write a turn of the model, the results of its calls, and the media that neither can carry."""
        calls, found = reply.calls, reply.results
        outputs = [self._spoken(one) if isinstance(one, Message) else one for one in reply.outputs]
        results = [result or self._missing(call) for call, result in zip(calls, found, strict=True)]
        self._write_assistant(outputs, calls, results)
        for output in outputs:
            if isinstance(output, Message):
                self._move_media(output, "assistant")
        for call, result in zip(calls, results, strict=True):
            if not isinstance(result.content, str):
                self._move_media(result, call.name)

    def _spoken(self, item: Message) -> Message:
        """A message of the model with the transcripts of what it said aloud; no wire takes that back.

        Words that are not to be trusted as those of the model are quoted.
        """
        if item.origin is not None:
            item = replace(item, content=content_for_model(item), origin=None)
        if isinstance(item.content, str):
            return item
        parts = tuple(part.transcript or part if isinstance(part, Audio) else part for part in item.parts)
        if parts == item.parts:
            return item
        self.draft.note(item, "media_as_text", "a recording of the model is its transcript here")
        return replace(item, content=parts)

    def _missing(self, call: ToolCall) -> ToolResult:
        self.draft.note(call, "result_added", "the call has no result")
        return ToolResult(call.call_id, call.name, rules.NO_RESULT, is_error=True)

    def _move_media(self, item: Message | ToolResult, maker: str) -> None:
        """Write the media of an item that only a turn of the user can carry."""
        if isinstance(item.content, str):
            return
        media = [part for part in split(item.parts)[1] if not self._keeps(item, part)]
        if media:
            self.draft.note(item, "media_moved", "only the user sends such media here")
            self._write_user(self.input_parts(item, parts_of(framed("media", media, **{"from": maker}))))

    # --- what a wire says --------------------------------------------------------------------------------

    def _write_user(self, parts: list[Json]) -> None:
        """Write parts of the user."""
        raise NotImplementedError

    def _write_instructions(self, item: Item, text: str) -> str | None:
        """Write instructions; returns why they cannot be written as such."""
        raise NotImplementedError

    def _write_assistant(
        self, outputs: list[Output], calls: list[ToolCall], results: list[ToolResult]
    ) -> None:
        """Write a turn of the model, and a result for each call."""
        raise NotImplementedError

    def _write_plain_text(self, role: str, text: str) -> None:
        """Write a message of the user, or of the model."""
        raise NotImplementedError

    def _write_plain_turn(
        self, first: ToolCall, text: str | None, calls: list[Json], results: list[Json]
    ) -> None:
        """Write a turn of the model, a text and calls from `first` on, and its results."""
        raise NotImplementedError

    def _step(self, call_id: str, name: str, arguments: Any, output: Any, is_error: bool) -> Step:
        raise NotImplementedError

    def _call_part(self, call_id: str, name: str, arguments: Any) -> Json:
        return self._step(call_id, name, arguments, "", False)[0]

    def _result_part(self, call_id: str, name: str, output: Any, is_error: bool) -> Json:
        return self._step(call_id, name, "", output, is_error)[1]

    def _add_state(self, item: Item, place: int) -> None:
        """Put state of an input on what was written from a place on; by default its loss is noted."""
        if isinstance(item, Message):
            self.draft.usable_blocks(item)

    def _keeps(self, item: Message | ToolResult, part: Media) -> bool:
        """Whether media stay in a message of the model or in a result."""
        return False

    def _text_part(self, text: str) -> Json:
        raise NotImplementedError

    def _media_part(self, item: Item, part: Media) -> Json | None:
        """Media as the wire carries them; None if it cannot."""
        raise NotImplementedError

    # --- thoughts, calls and parts -----------------------------------------------------------------------

    def _thoughts(self, item: Reasoning) -> list[Json]:
        """The raw blocks of a thought, if they may go back."""
        if item.state is None or not item.state.data:
            self.draft.note_thoughts(item, "reasoning without provider state is not sent")
            return []
        return self.draft.usable_blocks(item)

    def tool_name(self, call: ToolCall) -> str:
        """The wire's name for the tool of a call."""
        names = self.draft.names
        is_new, given = call.name not in names.given, names.give(call.name)
        if is_new and given != call.name:
            self.draft.note(call, "name_renamed", f"the tool's name is {given!r} here")
        return given

    def arguments(self, call: ToolCall) -> Any:
        """The arguments of a call as the wire has them: an object, which holds any text that is none."""
        text = call.arguments if call.arguments.strip() else "{}"
        given: Any = text if self.takes_any_arguments else self._read_arguments(text)
        names = self.draft.parameters.get(call.name)
        if given is None:
            self.draft.note(call, "arguments_repaired", "its arguments are no JSON object")
            repaired: Json = {"arguments": text}
            return json_text(repaired, "arguments") if self.has_text_arguments else repaired
        return {names.get(name, name): value for name, value in given.items()} if names else given

    def _read_arguments(self, text: str) -> Any:
        """Arguments as the wire has them; None if they are no object, or nest too deeply."""
        given = object_in(text)
        if given is None or nests_deeper(text, self.deepest):
            return None
        return text if self.has_text_arguments else given

    def input_parts(self, item: Item, parts: Sequence[Part]) -> list[Json]:
        """Parts as the user may send them, without blank texts; media that cannot be carried become text."""
        written = [one for part in parts if (one := self._input_part(item, part))]
        if len(written) < max(len(parts), 1):
            self.draft.note_empty(item)
        return written

    def _input_part(self, item: Item, part: Part) -> Json | None:
        text = as_text(part)
        if text is not None or isinstance(part, str):
            return self._text_part(plain_text(text)) if text and not text.isspace() else None
        is_taken = ABILITIES[type(part)] in self.profile.media
        written = self._media_part(item, part) if is_taken else None
        if written is not None:
            return written
        text, reason = replaced(part)
        self.draft.note(item, "media_as_text", reason)
        return self._text_part(text)


class Turns:
    """Groups items into turns, in the order of their arrival.

    - What a model said, thought and called in one reply is one turn (`ReplySoFar.takes`). A result or any
      input ends it.
    - Items that are neither a result of this reply nor further model output are buffered until all its calls
      have results, since the model is asked only afterwards: what a user says meanwhile, and what was merged
      from a child that a tool started.
    - Once the model speaks again, each open call gets a result that says there is none. A result that comes
      later is written as text of the user where it arrived, so that what was sent stays as it is.
    """

    __slots__ = ("_end", "_is_over", "_reply", "_unanswered", "_waiting", "writer")

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self._reply: ModelTurn | None = None  # the reply at hand
        self._end: ReplySoFar | None = None  # what decides whether it takes the next output
        self._is_over = False  # whether anything but output came since the reply began
        self._waiting: list[Item] = []  # what came while a call of the reply at hand was open
        self._unanswered: list[str] = []  # ids of calls that were written without their result

    def branch(self, writer: Writer) -> "Turns":
        """A copy that goes on with another writer."""
        twin = Turns(writer)
        twin._end, twin._is_over, twin._waiting = self._end, self._is_over, self._waiting.copy()
        twin._unanswered = self._unanswered.copy()
        if self._reply is not None:
            outputs, calls, results = self._reply
            twin._reply = ModelTurn(outputs.copy(), calls.copy(), results.copy())
        return twin

    def feed(self, items: Sequence[Item]) -> None:
        """Take more items: plain turns many at a time, all others one by one."""
        index, stop = 0, _last_break(items) if self.writer.writes_plainly else 0
        while index < len(items):
            if index < stop and self._reply is None:
                index = self.writer.write_plainly(items, index, stop)
            self._take(items[index])
            index += 1

    def close(self) -> None:
        """Write the reply at hand, and what waits for it."""
        while self._reply is not None:
            self._write_reply(self._reply)

    def _write_reply(self, reply: ModelTurn) -> None:
        draft = self.writer.draft
        for turn in _turns_of(reply):
            draft.masked = any(output.state and output.state.prefix == MASKED for output in turn.outputs)
            self.writer.reply(turn)
            pairs = zip(turn.calls, turn.results, strict=True)
            self._unanswered += [call.call_id for call, result in pairs if result is None]
        draft.masked = False
        waiting, self._waiting, self._reply = self._waiting, [], None
        for item in waiting:
            self._take(item)

    def _take(self, item: Item) -> None:
        reply = self._reply
        if reply is not None and None in reply.results and not self._concerns(reply, item):
            self._is_over = True
            self._waiting.append(item)
            return
        match item:
            case Message(role="assistant") | ToolCall() | Reasoning():
                self._take_output(item)
            case ToolResult():
                self._take_result(item)
            case Message() | Note() | Summary():
                self._take_input(item)
            case ConfigChange() if item.instructions:
                self._take_input(item)
            case _:
                reason = "a record for the program, without text for a model"
                self.writer.draft.note(item, "not_rendered", reason)

    def _concerns(self, reply: ModelTurn, item: Item) -> bool:
        """Whether an item answers an open call of a reply, or is the next output of its model."""
        if isinstance(item, ToolResult):
            return _place_of(reply, item) is not None
        return is_output(item) and merge_of(item) in (None, merge_of(reply.outputs[-1]))

    def _take_output(self, item: Output) -> None:
        if self._reply is None or self._end is None or self._is_over or not self._end.takes(item):
            self.close()
            self._reply, self._end, self._is_over = ModelTurn([], [], []), None, False
        self._end = with_output(item, self._end)
        self._reply.outputs.append(item)
        if isinstance(item, ToolCall):
            self._reply.calls.append(item)
            self._reply.results.append(None)

    def _take_result(self, item: ToolResult) -> None:
        self._is_over = True
        place = None if self._reply is None else _place_of(self._reply, item)
        if self._reply is None or place is None:
            self._take_unpaired(item)
            return
        self._reply.results[place] = item
        if None not in self._reply.results:
            self._write_reply(self._reply)

    def _take_unpaired(self, item: ToolResult) -> None:
        """Write a late result as text of the user; leave out one whose call is not there."""
        if item.call_id not in self._unanswered:
            reason = f"no open call {item.call_id!r} for this result"
            self.writer.draft.note(item, "result_left_out", reason)
            return
        self._unanswered.remove(item.call_id)
        parts = rules.failed_parts(item.parts) if item.is_error else item.parts
        self._take_input(Message("user", late_result(item.name, parts), id=item.id))
        self.writer.draft.note(item, "text_moved", "the model had gone on without this result")

    def _take_input(self, item: Input) -> None:
        self.close()
        if isinstance(item, ConfigChange):
            item = Message("system", item.instructions or "", id=item.id, origin=item.origin)
        if isinstance(item, Message) and item.role != "user" and item.origin in (None, "system"):
            self.writer.instruct(item)
        else:
            self.writer.user(item)


def _turns_of(reply: ModelTurn) -> Iterator[ModelTurn]:
    """Split a reply whose boundaries were guessed.

    Without a reply id, a text after unanswered calls is a reply of its own: the model had been asked again,
    with made-up results, and the text answers those. A reply with an id is never split.
    """
    if None not in reply.results or reply.outputs[0].reply_id is not None:
        yield reply
        return
    turn, given = ModelTurn([], [], []), iter(reply.results)
    for output in reply.outputs:
        if isinstance(output, Message) and turn.calls and all(result is None for result in turn.results):
            yield turn
            turn = ModelTurn([], [], [])
        turn.outputs.append(output)
        if isinstance(output, ToolCall):
            turn.calls.append(output)
            turn.results.append(next(given))
    yield turn


def _place_of(reply: ModelTurn, result: ToolResult) -> int | None:
    """The place of the open call that a result answers."""
    pairs = enumerate(zip(reply.calls, reply.results, strict=True))
    places = [at for at, (call, known) in pairs if known is None and call.call_id == result.call_id]
    index = index_of_call([reply.calls[at] for at in places], result)
    return None if index < 0 else places[index]


def _last_break(items: Sequence[Item]) -> int:
    """The place of the last message that is not the model's: every turn before it is complete."""
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        if isinstance(item, Message) and item.role != "assistant":
            return index
    return 0
