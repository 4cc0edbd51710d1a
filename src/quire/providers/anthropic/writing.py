"""Anthropic Messages: turns as messages of content blocks."""

from collections.abc import Sequence
from typing import Any

from quire.items import ConfigChange, Item, Message, Note, Reasoning, Summary, ToolCall, parts_of
from quire.providers import wording
from quire.providers.anthropic.abilities import NAME, Abilities, abilities_of
from quire.providers.anthropic.binding import Bound
from quire.providers.anthropic.blocks import Blocks, is_blank, text_block
from quire.providers.anthropic.calling import said_of
from quire.providers.anthropic.deferred import Deferred
from quire.providers.anthropic.fitting import fitted
from quire.providers.anthropic.marks import End, mark
from quire.providers.anthropic.order import Order
from quire.providers.anthropic.plain import write_plain
from quire.providers.anthropic.results import Results
from quire.providers.anthropic.thinking import THOUGHTS, answered_in, asked_in, block_of, unsigned
from quire.providers.anthropic.tooling import Tooling, definitions, input_of, marked, stand_ins
from quire.providers.anthropic.turns import Turns
from quire.providers.binding import Prefix
from quire.providers.block_thoughts import CONTAINER
from quire.providers.definitions import Tool
from quire.providers.dialogue import Reply
from quire.providers.media import split
from quire.providers.names import alphabet
from quire.providers.native import said
from quire.providers.openai_chat.wishes import wishes_of
from quire.providers.properties import renamed
from quire.providers.rendering import Marks
from quire.providers.sheet import Json, Sheet

_IDS = alphabet(64)
_TOOL_NAMES = alphabet(128)


class MessagesWriter:
    """Writes messages; leading instructions are apart from them, as `system`."""

    __slots__ = (
        *("_abilities", "_blocks", "_bound", "_deferred", "_known", "_mark", "_results"),
        *("_settled_system", "_system", "_tools", "_turns", "sheet"),
    )

    def __init__(self, sheet: Sheet, abilities: Abilities, tooling: Tooling) -> None:
        self.sheet = sheet
        self._abilities = abilities
        self._tools, self._mark = tooling
        self._system: list[Json] = []
        self._known: dict[str, str] = {}  # tools called so far, by their names here
        offered = frozenset(str(tool.get("name")) for tool in self._tools)
        self._begin(Blocks(sheet, abilities, offered), Turns(sheet), Deferred(sheet))
        self._seed()

    def _begin(self, blocks: Blocks, turns: Turns, deferred: Deferred) -> None:
        self._blocks, self._turns, self._deferred = blocks, turns, deferred
        self._bound = Bound(self.sheet, turns)
        self._results = Results(self.sheet, blocks)
        self._settled_system = len(self._system)  # of a branch: before anything volatile came

    def branch(self) -> "MessagesWriter":
        """The same writer, to be finished."""
        twin = object.__new__(MessagesWriter)
        twin.sheet = sheet = self.sheet.branch()
        twin._abilities, twin._tools, twin._mark = self._abilities, self._tools, self._mark
        twin._system, twin._known = self._system.copy(), self._known.copy()
        twin._begin(self._blocks.branch(sheet), self._turns.branch(sheet), self._deferred.branch(sheet))
        return twin

    def bound(self) -> bool:
        """Whether the model's thinking is bound to all that was sent."""
        return self._abilities.bound

    def plain(self, items: Sequence[Item], start: int, stop: int) -> int:
        """The common case, written at once; a branch has too little to write for that."""
        if self.sheet.ids.is_branch or self._deferred.ids:
            return start
        # Where thinking is wanted beside calls, no call is plain, because no tool has a name.
        names = {} if wishes_of(self.sheet.asked.name).thoughts else self._known
        return write_plain(items, start, stop, self.sheet, names)

    def user(self, item: Message | Note | Summary) -> None:
        """Something said to the model."""
        self._move_on()
        own = self._blocks.own(item) if type(item) is Note else None
        if own is not None:
            self._turns.say([own])
            return
        content = item.content if type(item) is Message else said(item, self.sheet)
        if type(content) is str and not is_blank(content):
            self._turns.say([{"type": "text", "text": wording.mended(content)}])
            return
        blocks = self._blocks.of(item, parts_of(content))
        if blocks:
            self._turns.say(blocks)
        elif not parts_of(content):
            self.sheet.left_out(item)

    def instruct(self, item: Message | ConfigChange) -> None:
        """Instructions: apart from the messages as long as nothing was said, else where they stand."""
        self._move_on()
        block = text_block(self.sheet.words(item))
        if block is None:
            self.sheet.left_out(item)
        elif not self.sheet.messages:
            self._system.append(block)
            self._seed()
        elif self._abilities.steered:
            self._turns.order(item, block)
        else:
            self.sheet.note(item, "instructions_as_text", "the model takes instructions at the start only")
            self._turns.say([{"type": "text", "text": wording.instructed(block["text"])}])

    def assistant(self, item: Message) -> None:
        """A reply of words alone."""
        content = item.content
        if type(content) is str and not is_blank(content):
            self._move_on()
            self._turns.answer([{"type": "text", "text": wording.mended(content)}])
        else:
            self.reply(Reply([item], [], []))

    def reply(self, reply: Reply) -> None:
        """A reply: thinking, words and calls, then what the calls gave."""
        self._await(reply)
        order, moved = Order(self.sheet), list[Json]()
        ids = self._take(reply, order, moved)
        blocks = self._ordered(order, bool(reply.calls))
        if blocks:
            self._turns.answer(blocks)
        self._deferred.settle(order.waiting, order.answered)
        moved = self._results.of(reply.calls, reply.results, ids) + moved
        if any(block["type"] != "tool_result" for block in moved):
            self._move_on()
        if moved:
            self._turns.say(moved)

    def _take(self, reply: Reply, order: Order, moved: list[Json]) -> list[str]:
        """Hand over what is written for each output, and media that come later; the ids of the calls."""
        ids: list[str] = []
        asked = set(self._deferred.ids)
        for output in reply.outputs:
            if type(output) is Reasoning:
                block = self._bound.thought(output, bool(reply.calls))
                self._blocks.weigh(output, block or {})
                order.take(output, [] if block is None else [block])
                if block is not None:
                    asked -= {answered_in(block)}  # what is answered calls no more
                    asked |= {question for question in (asked_in(block),) if question}
            elif type(output) is Message:
                words, media = self._said(output)
                order.take(output, words)
                moved += media
            elif type(output) is ToolCall:
                call = self._call(output) | said_of(output, asked, self.sheet)
                ids.append(call["id"])
                order.take(output, [call])
        return ids

    def _ordered(self, order: Order, calls: bool) -> list[Json]:
        """The blocks of a reply, with thinking where its service wants some beside calls."""
        blocks = order.blocks(self._deferred.ids)
        if not calls and (gone := self._deferred.unanswered(order.answered)):
            self._deferred.take_back(gone)
            if any(block["type"] in THOUGHTS for block in blocks):
                self.sheet.note(None, "state_stale", "thinking: what came before it changed")
                blocks = [block for block in blocks if block["type"] not in THOUGHTS]
        thinks = any(block["type"] in THOUGHTS for block in blocks)
        self._bound.settle(thinks)
        if calls and not thinks and wishes_of(self.sheet.asked.name).thoughts:
            return [unsigned(), *blocks]
        return blocks

    def _move_on(self) -> None:
        """Take back the questions that wait: something else is said than what they wait for."""
        if self._deferred.ids:
            self._deferred.take_back(set(self._deferred.ids))

    def _await(self, reply: Reply) -> None:
        """Take back the questions that a reply leaves open, unless it goes on to wait for them.

        Before its thinking is looked at, which is good only after the turns as they are sent.
        """
        if not self._deferred.ids:
            return
        blocks = [block_of(output) for output in reply.outputs if type(output) is Reasoning]
        gone = self._deferred.unanswered({answered_in(block) for block in blocks if block})
        if gone and not (reply.calls and self._bound.follows(reply.outputs)):
            self._deferred.take_back(gone)

    def finish(self, marks: Marks | None) -> dict[str, Any]:
        """The payload."""
        self._deferred.close()
        self._turns.close()
        if self._turns.awaits_user():
            self._turns.go_on("the user speaks last here")
        turns = self._fitted(self.sheet.messages)
        payload: dict[str, Any] = {"system": self._system.copy()} if self._system else {}
        payload["messages"] = self._turns.spread(turns)
        if container := self._deferred.container:
            payload[CONTAINER] = container
        if self._tools:
            payload["tools"] = self._tools.copy()
        elif self._known:
            # The API has refused calls in a history without tools. None of these is to be called now.
            self.sheet.note(None, "tools_added", "a history with calls wants their tools defined")
            payload["tools"] = stand_ins([*self._known.values()])
            payload["tool_choice"] = {"type": "none"}
        if marks:
            minimum = self._abilities.cache_minimum
            mark(payload, self._settled_end(turns), self._settled_system, marks.plan, minimum)
        if self._mark and marks:
            self.sheet.note(None, "fields_left_out", "the plan for the cache says where its marks are")
        elif self._mark:
            self._mark_tools(payload, self._mark)
        return payload

    def _mark_tools(self, payload: dict[str, Any], control: Json) -> None:
        tools = payload["tools"]
        payload["tools"] = marked(tools, control)
        if payload["tools"] is tools:
            self.sheet.note(None, "fields_left_out", "tools that are loaded later carry no mark of a cache")

    def _fitted(self, turns: list[Json]) -> list[Json]:
        """The turns without what a request cannot hold; stand-ins for tools change what stands before all."""
        start = 0 if self._known and not self._tools else len(turns)
        beside = [self._system, self._tools]
        return fitted(turns, start, self._blocks, self._abilities, beside, self.sheet)

    def _settled_end(self, turns: list[Json]) -> End | None:
        """The last block that comes before all that is volatile."""
        settled = self.sheet.settled
        if not settled:
            return None
        whole = len(settled) if settled[-1] is self.sheet.messages[len(settled) - 1] else len(settled) - 1
        before = self._turns.spread(turns[:whole])
        if whole < len(settled) and settled[-1]["content"]:
            length = min(len(settled[-1]["content"]), len(turns[whole]["content"]))
            return End(len(before), length - 1)
        return End(len(before) - 1, len(before[-1]["content"]) - 1) if before else None

    def _call(self, call: ToolCall) -> Json:
        if call.name not in self._known:
            self._known[call.name] = self.sheet.tool_name(call, call.name)
        given, mended = input_of(call.arguments)
        if mended:
            self.sheet.note(call, "arguments_mended", "its arguments are no JSON object")
        elif call.name in self.sheet.parameters:
            given = renamed(given, self.sheet.parameters[call.name])
        call_id = self.sheet.call_id(call, call.call_id)
        return {"type": "tool_use", "id": call_id, "name": self._known[call.name], "input": given}

    def _said(self, item: Message) -> tuple[list[Json], list[Json]]:
        """The words of a message of the model, and its media, which only the user's turn can carry."""
        words: list[Json] = []
        media = split(item.parts)[1]
        for part in item.parts:
            block = text_block(split((part,))[0])
            words += [] if block is None else [block]
        if len(words) < max(len(item.parts) - len(media), 0 if media else 1):
            self.sheet.left_out(item)
        if not media:
            return words, []
        self.sheet.note(item, "media_moved", "only turns of the user carry media here")
        return words, self._blocks.of(item, ("[from the assistant]", *media))

    def _seed(self) -> None:
        """Begin the digest anew with what stands before all messages; none was written yet."""
        before: Json = {"system": self._system}
        if self._abilities.bound:
            before["tools"] = self._tools
        self.sheet.prefix = Prefix(before)


def begin(model: str | None, tools: Sequence[Tool]) -> MessagesWriter:
    """A writer with nothing written."""
    sheet = Sheet(NAME, model, _IDS, _TOOL_NAMES)
    return MessagesWriter(sheet, abilities_of(model), definitions(tools, sheet))
