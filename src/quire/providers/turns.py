"""Groups items into turns, in which each call has a result and each result has its call.

All wires need this order. `Turns` takes items one by one and passes each complete turn to the `Writer` of a
wire, so that a new item never requires earlier items to be written again.
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
from quire.providers.media import ABILITIES, Media, as_text, replacement_for, split_media
from quire.providers.profiles import Profile
from quire.providers.tools import Tool, write_tools
from quire.providers.types import CachePlan
from quire.providers.values import Json, json_text, nests_deeper, object_in
from quire.state import MASKED, Output, ReplySoFar, index_of_call, is_output, merge_of, with_output
from quire.tokens import framed, late_result

Input = Message | Note | Summary | ConfigChange
Pair = tuple[Json, Json]
"""A call and its result in the format of a wire."""


class ModelTurn(NamedTuple):
    """The messages, thoughts and calls of one turn in order, and for each call its result."""

    outputs: list[Output]
    calls: list[ToolCall]
    results: list[ToolResult | None]


class Writer:
    """Writes turns into the draft of one wire. It never changes a list that an earlier payload shares.

    This class has the steps that all wires share; a subclass writes parts, instructions, replies and results
    in the format of its wire.
    """

    wire: ClassVar[str]
    max_depth: ClassVar[int] = MAX_DEPTH
    """How deeply the arguments of a call may nest."""
    has_text_arguments: ClassVar[bool] = False
    """Whether arguments are JSON text; if not, they are an object."""

    def __init__(self, profile: Profile, tools: Sequence[Tool]) -> None:
        self.profile = profile
        self.draft = Draft(self.wire, profile.model, profile.call_ids or rules.CALL_IDS[self.wire])
        self._tools = write_tools(tools, self.draft, profile)
        self.can_write_fast = True  # a subclass sets False if its turns need more than `write_fast` writes
        # OpenAI accepts whatever arguments its model wrote, even malformed ones.
        self.takes_any_arguments = self.has_text_arguments and profile.takes_all

    def branch(self) -> Self:
        """An independent copy, to finish a payload from."""
        twin = self.__class__.__new__(self.__class__)
        twin.__dict__ |= self.__dict__
        twin.draft = self.draft.branch()
        return twin

    def write_fast(self, items: Sequence[Any], start: int, stop: int) -> int:
        """Write texts, and calls with their results, until an item needs a change or a downgrade.

        Returns the index of the first item that was not written. Nearly all items of a history are plain, and
        writing them one by one takes four times as long. The item at `stop` is a message of a user or of
        instructions, so every turn before it is complete. The loop stops at a message whose origin differs
        from its role, and at calls if

        - there are more of them than a reply may have;
        - a call has state, or another agent or reply id than the item before it;
        - a tool has no wire name yet, and its own name cannot be one;
        - the arguments of a call are empty, no JSON object, or nest too deeply;
        - the id of a call is used already, or the wire does not accept it;
        - the results do not follow in the order of their calls;
        - the content of a result is blank, or has parts.
        """
        names, ids, reads_arguments = self.draft.names, self.draft.ids, not self.takes_any_arguments
        used_ids, max_length = ids.uses_by_id, ids.alphabet.max_length
        write_text, write_turn = self._write_text_fast, self._write_turn_fast
        pair, max_calls = self._pair, rules.OPENAI_TOOL_CALL_COUNT
        while start < stop:
            item: Any = items[start]
            text: Any = None
            first = start  # the index of the first call
            if type(item) is Message:
                role, text, first = item.role, item.content, start + 1
                if type(text) is not str or not text or text.isspace():
                    break
                if item.state is not None or item.origin is not None:
                    break
                if role == "user":
                    if item.address is not None:
                        break
                    write_text(role, plain_text(text) if "<" in text or not text.isascii() else text)
                    start = first
                    continue
                if role == "assistant" and type(items[first]) is Message:
                    write_text(role, text)
                    start = first
                    continue
                if role != "assistant":
                    break
            calls: list[Json] = []
            results: list[Json] = []
            end = first
            while type(items[end]) is ToolCall:
                end += 1
            count = end - first
            if not count:
                break
            agent, reply_id = item.agent_id, item.reply_id
            for index in range(first, end):
                call, result = items[index], items[index + count]
                call_id, name = call.call_id, names.by_own_name.get(call.name)
                if type(result) is not ToolResult or result.call_id != call_id or call_id in used_ids:
                    break
                if call.state is not None or call.agent_id != agent or call.reply_id != reply_id:
                    break
                if name is None:
                    if not names.can_keep(call.name):
                        break
                    name = names.wire_name(call.name)
                output, arguments = result.content, call.arguments
                if type(output) is not str or not output or output.isspace():
                    break
                # Most ids are identifiers, and `isidentifier` is faster than the pattern.
                is_name = call_id.isidentifier() and call_id.isascii() and len(call_id) <= max_length
                if not is_name and not ids.alphabet.accepts(call_id):
                    break
                if reads_arguments or not arguments:
                    arguments = self._read_arguments(arguments)
                    if arguments is None:
                        break
                used_ids[call_id] = 1
                if "<" in output or not output.isascii():
                    output = plain_text(output)
                written, answer = pair(call_id, name, arguments, output, result.is_error)
                calls.append(written)
                results.append(answer)
            if len(calls) < count or count > max_calls:
                for call in items[first : first + len(calls)]:
                    del used_ids[call.call_id]
                break
            write_turn(items[first], text, calls, results)
            start = end + count
        return start

    def finish(self, plan: CachePlan | None) -> dict[str, Any]:
        """The payload."""
        raise NotImplementedError

    # --- the steps that all wires share ------------------------------------------------------------------

    def add_user(self, item: Message | Note | Summary) -> None:
        """Write a user message, a note or a summary."""
        start = len(self.draft.messages)
        parts = self.input_parts(item, parts_of(content_for_model(item)))
        if parts:
            self._write_user(parts)
        self._write_state(item, start)

    def add_instructions(self, item: Message) -> None:
        """Write instructions, as tagged text of the user if the wire does not accept them here."""
        start, text = len(self.draft.messages), self.draft.instructions(item)
        if not text.strip():
            self.draft.report_empty(item)
        elif reason := self._write_instructions(item, text):
            self.draft.report(item, "instructions_as_text", reason)
            self._write_user([self._text_part(instructions_in_turn(text))])
        self._write_state(item, start)

    def add_reply(self, reply: ModelTurn) -> None:
        """Write a turn of the model, the results of its calls, and media that only the user may send."""
        calls = reply.calls
        outputs = [self._spoken(out) if isinstance(out, Message) else out for out in reply.outputs]
        pairs = zip(calls, reply.results, strict=True)
        results = [result or self._missing_result(call) for call, result in pairs]
        self._write_assistant(outputs, calls, results)
        for output in outputs:
            if isinstance(output, Message):
                self._move_media(output, "assistant")
        for call, result in zip(calls, results, strict=True):
            if not isinstance(result.content, str):
                self._move_media(result, call.name)

    def _spoken(self, item: Message) -> Message:
        """A message of the model as text: transcripts replace its recordings, which no wire accepts back.

        A message whose origin is not the model is quoted.
        """
        if item.origin is not None:
            item = replace(item, content=content_for_model(item), origin=None)
        if isinstance(item.content, str):
            return item
        parts = tuple(part.transcript or part if isinstance(part, Audio) else part for part in item.parts)
        if parts == item.parts:
            return item
        self.draft.report(item, "media_as_text", "a recording of the model is its transcript here")
        return replace(item, content=parts)

    def _missing_result(self, call: ToolCall) -> ToolResult:
        self.draft.report(call, "result_added", "the call has no result")
        return ToolResult(call.call_id, call.name, rules.NO_RESULT, is_error=True)

    def _move_media(self, item: Message | ToolResult, maker: str) -> None:
        """Write the media of an item in a turn of the user, if the wire accepts them only there."""
        if isinstance(item.content, str):
            return
        media = [part for part in split_media(item.parts)[1] if not self._carries_media(item, part)]
        if media:
            self.draft.report(item, "media_moved", "only the user sends such media here")
            self._write_user(self.input_parts(item, parts_of(framed("media", media, **{"from": maker}))))

    # --- the steps of each wire --------------------------------------------------------------------------

    def _write_user(self, parts: list[Json]) -> None:
        """Write parts in a turn of the user."""
        raise NotImplementedError

    def _write_instructions(self, item: Item, text: str) -> str | None:
        """Write instructions and return None, or write nothing and return why the wire refuses them."""
        raise NotImplementedError

    def _write_assistant(
        self, outputs: list[Output], calls: list[ToolCall], results: list[ToolResult]
    ) -> None:
        """Write a turn of the model, and a result for each call."""
        raise NotImplementedError

    def _write_text_fast(self, role: str, text: str) -> None:
        """Write a text of the user or of the model."""
        raise NotImplementedError

    def _write_turn_fast(
        self, first: ToolCall, text: str | None, calls: list[Json], results: list[Json]
    ) -> None:
        """Write a turn of the model with a text and calls, of which `first` is the first, and the results."""
        raise NotImplementedError

    def _pair(self, call_id: str, name: str, arguments: Any, output: Any, is_error: bool) -> Pair:
        raise NotImplementedError

    def _call_part(self, call_id: str, name: str, arguments: Any) -> Json:
        return self._pair(call_id, name, arguments, "", False)[0]

    def _result_part(self, call_id: str, name: str, output: Any, is_error: bool) -> Json:
        return self._pair(call_id, name, "", output, is_error)[1]

    def _write_state(self, item: Item, start: int) -> None:
        """Add the item's state to the messages from index `start` on; by default report its loss."""
        if isinstance(item, Message):
            self.draft.usable_blocks(item)

    def _carries_media(self, item: Message | ToolResult, part: Media) -> bool:
        """Whether the wire accepts media in a message of the model, or in a result."""
        return False

    def _text_part(self, text: str) -> Json:
        raise NotImplementedError

    def _media_part(self, item: Item, part: Media) -> Json | None:
        """Media in the format of the wire; None if it does not accept them."""
        raise NotImplementedError

    # --- thoughts, calls and parts -----------------------------------------------------------------------

    def _thoughts(self, item: Reasoning) -> list[Json]:
        """The raw blocks of a thought, if they may be sent back."""
        if item.state is None or not item.state.data:
            self.draft.report_thoughts(item, "reasoning without provider state is not sent")
            return []
        return self.draft.usable_blocks(item)

    def tool_name(self, call: ToolCall) -> str:
        """The wire name of a call's tool."""
        names = self.draft.names
        is_new, name = call.name not in names.by_own_name, names.wire_name(call.name)
        if is_new and name != call.name:
            self.draft.report(call, "name_renamed", f"the tool's name is {name!r} here")
        return name

    def arguments(self, call: ToolCall) -> Any:
        """The arguments of a call in the format of the wire; text that is no JSON object is put into one."""
        text = call.arguments if call.arguments.strip() else "{}"
        arguments: Any = text if self.takes_any_arguments else self._read_arguments(text)
        names = self.draft.parameters.get(call.name)
        if arguments is None:
            self.draft.report(call, "arguments_repaired", "its arguments are no JSON object")
            repaired: Json = {"arguments": text}
            return json_text(repaired, "arguments") if self.has_text_arguments else repaired
        return {names.get(name, name): value for name, value in arguments.items()} if names else arguments

    def _read_arguments(self, text: str) -> Any:
        """Arguments in the format of the wire; None if they are no object or nest too deeply."""
        arguments = object_in(text)
        if arguments is None or nests_deeper(text, self.max_depth):
            return None
        return text if self.has_text_arguments else arguments

    def input_parts(self, item: Item, parts: Sequence[Part]) -> list[Json]:
        """Parts for a turn of the user, without blank texts; text replaces media that the wire refuses."""
        written = [json for part in parts if (json := self._input_part(item, part))]
        if len(written) < max(len(parts), 1):
            self.draft.report_empty(item)
        return written

    def _input_part(self, item: Item, part: Part) -> Json | None:
        text = as_text(part)
        if text is not None or isinstance(part, str):
            return self._text_part(plain_text(text)) if text and not text.isspace() else None
        is_accepted = ABILITIES[type(part)] in self.profile.media
        written = self._media_part(item, part) if is_accepted else None
        if written is not None:
            return written
        text, reason = replacement_for(part)
        self.draft.report(item, "media_as_text", reason)
        return self._text_part(text)


class Turns:
    """Groups items into turns, in the order of their arrival.

    - The outputs of one reply are one turn (`ReplySoFar.takes`). A result or any input ends the reply.
    - While a call of the reply is open, other items are buffered until all its calls have results, because
      the model is only asked again then. Such items are messages of the user, and items merged from a child
      that a tool started.
    - When the model's next reply begins, each open call gets a result that says there is none. If its result
      arrives later, it is written there as text of the user, so that earlier messages do not change.
    """

    __slots__ = ("_buffered", "_is_reply_over", "_reply", "_reply_so_far", "_unanswered_ids", "writer")

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self._reply: ModelTurn | None = None  # the current reply, not yet written
        self._reply_so_far: ReplySoFar | None = None  # decides whether the next output belongs to it
        self._is_reply_over = False  # whether an item other than output came since the reply began
        self._buffered: list[Item] = []  # items that came while a call of the current reply was open
        self._unanswered_ids: list[str] = []  # ids of calls that were written without their result

    def branch(self, writer: Writer) -> "Turns":
        """An independent copy that uses another writer."""
        twin = Turns(writer)
        twin._reply_so_far, twin._is_reply_over = self._reply_so_far, self._is_reply_over
        twin._buffered, twin._unanswered_ids = self._buffered.copy(), self._unanswered_ids.copy()
        if self._reply is not None:
            outputs, calls, results = self._reply
            twin._reply = ModelTurn(outputs.copy(), calls.copy(), results.copy())
        return twin

    def feed(self, items: Sequence[Item]) -> None:
        """Add items: plain turns many at a time, all others one by one."""
        index, stop = 0, _last_input_index(items) if self.writer.can_write_fast else 0
        while index < len(items):
            if index < stop and self._reply is None:
                index = self.writer.write_fast(items, index, stop)
            self._add(items[index])
            index += 1

    def close(self) -> None:
        """Write the current reply and the buffered items."""
        while self._reply is not None:
            self._write_reply(self._reply)

    def _write_reply(self, reply: ModelTurn) -> None:
        draft = self.writer.draft
        for turn in _split_reply(reply):
            draft.is_masked = any(output.state and output.state.prefix == MASKED for output in turn.outputs)
            self.writer.add_reply(turn)
            pairs = zip(turn.calls, turn.results, strict=True)
            self._unanswered_ids += [call.call_id for call, result in pairs if result is None]
        draft.is_masked = False
        waiting, self._buffered, self._reply = self._buffered, [], None
        for item in waiting:
            self._add(item)

    def _add(self, item: Item) -> None:
        reply = self._reply
        if reply is not None and None in reply.results and not self._belongs_to(reply, item):
            self._is_reply_over = True
            self._buffered.append(item)
            return
        match item:
            case Message(role="assistant") | ToolCall() | Reasoning():
                self._add_output(item)
            case ToolResult():
                self._add_result(item)
            case Message() | Note() | Summary():
                self._add_input(item)
            case ConfigChange() if item.instructions:
                self._add_input(item)
            case _:
                reason = "a record for the program, without text for a model"
                self.writer.draft.report(item, "not_rendered", reason)

    def _belongs_to(self, reply: ModelTurn, item: Item) -> bool:
        """Whether an item is a result for an open call of a reply, or the next output of its model."""
        if isinstance(item, ToolResult):
            return _open_call_index(reply, item) is not None
        return is_output(item) and merge_of(item) in (None, merge_of(reply.outputs[-1]))

    def _add_output(self, item: Output) -> None:
        so_far = self._reply_so_far
        if self._reply is None or so_far is None or self._is_reply_over or not so_far.takes(item):
            self.close()
            self._reply, so_far, self._is_reply_over = ModelTurn([], [], []), None, False
        self._reply_so_far = with_output(item, so_far)
        self._reply.outputs.append(item)
        if isinstance(item, ToolCall):
            self._reply.calls.append(item)
            self._reply.results.append(None)

    def _add_result(self, item: ToolResult) -> None:
        self._is_reply_over = True
        index = None if self._reply is None else _open_call_index(self._reply, item)
        if self._reply is None or index is None:
            self._add_unpaired(item)
            return
        self._reply.results[index] = item
        if None not in self._reply.results:
            self._write_reply(self._reply)

    def _add_unpaired(self, item: ToolResult) -> None:
        """Write a late result as text of the user; leave out a result without a call."""
        if item.call_id not in self._unanswered_ids:
            reason = f"no open call {item.call_id!r} for this result"
            self.writer.draft.report(item, "result_left_out", reason)
            return
        self._unanswered_ids.remove(item.call_id)
        parts = rules.failed_parts(item.parts) if item.is_error else item.parts
        self._add_input(Message("user", late_result(item.name, parts), id=item.id))
        self.writer.draft.report(item, "text_moved", "the model had gone on without this result")

    def _add_input(self, item: Input) -> None:
        self.close()
        if isinstance(item, ConfigChange):
            item = Message("system", item.instructions or "", id=item.id, origin=item.origin)
        if isinstance(item, Message) and item.role != "user" and item.origin in (None, "system"):
            self.writer.add_instructions(item)
        else:
            self.writer.add_user(item)


def _split_reply(reply: ModelTurn) -> Iterator[ModelTurn]:
    """Split a reply without an id, because its end is a guess; a reply with an id is one turn.

    A text after unanswered calls begins a new turn: the model had been asked again, with made-up results.
    """
    if None not in reply.results or reply.outputs[0].reply_id is not None:
        yield reply
        return
    turn, results = ModelTurn([], [], []), iter(reply.results)
    for output in reply.outputs:
        if isinstance(output, Message) and turn.calls and all(result is None for result in turn.results):
            yield turn
            turn = ModelTurn([], [], [])
        turn.outputs.append(output)
        if isinstance(output, ToolCall):
            turn.calls.append(output)
            turn.results.append(next(results))
    yield turn


def _open_call_index(reply: ModelTurn, result: ToolResult) -> int | None:
    """The index of the open call that a result answers; None if there is none."""
    pairs = enumerate(zip(reply.calls, reply.results, strict=True))
    indexes = [index for index, (call, answer) in pairs if answer is None and call.call_id == result.call_id]
    chosen = index_of_call([reply.calls[index] for index in indexes], result)
    return None if chosen < 0 else indexes[chosen]


def _last_input_index(items: Sequence[Item]) -> int:
    """The index of the last message that is not the model's; every turn before it is complete."""
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        if isinstance(item, Message) and item.role != "assistant":
            return index
    return 0
