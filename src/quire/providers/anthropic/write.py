"""Anthropic Messages: turns as messages of content blocks.

What one side says in a row is one message. Instructions at the start are apart from the messages.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import msgspec
from msgspec.structs import replace

from quire.items import (
    ConfigChange,
    File,
    Image,
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
from quire.providers.anthropic.cache import End, mark
from quire.providers.draft import Digest, Draft, content_for_model
from quire.providers.media import (
    PDF,
    PICTURES,
    as_text,
    base64_of,
    begun,
    file_id,
    file_text,
    inline_bytes,
    media_type,
    replaced,
    sound_type,
    split,
)
from quire.providers.profiles import Profile
from quire.providers.rules import (
    ANTHROPIC_FOREIGN_FIELDS,
    BEGIN,
    BLANK_THOUGHT,
    CALL_IDS,
    CONTINUE,
    FROM_ASSISTANT,
    NO_RESULT,
    TOOL_NAMES,
    from_tool,
    tagged_instructions,
)
from quire.providers.state import ANTHROPIC, SERVER_CALLS, is_server_block
from quire.providers.tools import Tool, anthropic_tools
from quire.providers.turns import Marks, Output, PlainTurns, Reply, Writer, plain_turns
from quire.providers.values import Json, fields_in, object_in
from quire.tokens import NO_OUTPUT, size_of

_ROLES = ("user", "assistant")
_THINKING = frozenset(("thinking", "redacted_thinking"))
_STEPS = 5
_HEAVY = 8_000_000
"""Bytes of media from which on a request is weighed: text alone exceeds any window before it gets near."""

_encode = msgspec.json.Encoder().encode


class _Held(NamedTuple):
    """An image or a document that was written, and whose it is; it may have to go."""

    block: Json
    item: Item
    is_large: bool
    weight: int


class MessagesWriter(Writer):
    """Writes messages of content blocks.

    Instructions in the middle apply from the end of the user's turn on. They are kept with that turn, under
    `then`, and become a message of their own in the payload.
    """

    __slots__ = ("_has_orders", "_media", "_orders", "_stable_system", "_system", "_tools")

    def __init__(self, draft: Draft, profile: Profile, tools: list[Json]) -> None:
        super().__init__(draft, profile)
        self._tools = tools
        self._system: list[Json] = []
        self._stable_system = 0  # of a branch: blocks of `system` before the volatile items
        self._orders: tuple[Item, ...] = ()  # instructions that end the turn of the user at hand
        self._has_orders = False  # whether any turn has such instructions
        self._media: list[_Held] = []  # in the order of the messages
        self._seed()

    def branch(self) -> Self:
        """A copy to be finished; both go on by themselves."""
        twin = super().branch()
        twin._system, twin._media = self._system.copy(), self._media.copy()
        twin._stable_system = len(self._system)
        return twin

    def plain(self, items: Sequence[Item], start: int, stop: int) -> int:
        """Write common turns from `start` on."""
        if self.draft.ids.is_branch:
            return start
        for turns in plain_turns(items, start, stop, _ROLES):
            start, said, _, calls, _, end = turns
            for place, item in enumerate(said):
                if not self._append_plainly(item.role, [{"type": "text", "text": item.content}]):
                    return start - len(said) + place
            if not calls or not self._exchange_plainly(turns):
                break
            start = end
        return start

    def _append_plainly(self, role: str, blocks: list[Json]) -> bool:
        """Write blocks of text or calls, if that is a matter of adding them at the end."""
        messages = self.draft.messages
        if self._orders or (blocks[0]["type"] == "text" and blocks[0]["text"].isspace()):
            return False
        if not messages or messages[-1]["role"] != role:
            if not messages and role == "assistant":
                return False
            messages.append({"role": role, "content": blocks})
            return True
        if len(messages) <= self.draft.own:
            return False
        messages[-1]["content"] += blocks
        return True

    def _exchange_plainly(self, turns: PlainTurns) -> bool:
        """Write calls and their results, if nothing is to be repaired."""
        _, _, text, calls, results, _ = turns
        names, given = self.tool_names, [object_in(call.arguments) for call in calls]
        if None in given or self.profile.wants_thoughts != "no" or self.draft.parameters:
            return False
        if any(result.text.isspace() for result in results) or not self.draft.takes_plainly(calls, names):
            return False
        blocks: list[Json] = [] if text is None else [{"type": "text", "text": text}]
        for call, arguments in zip(calls, given, strict=True):
            blocks.append(
                {"type": "tool_use", "id": call.call_id, "name": names[call.name], "input": arguments}
            )
        if not self._append_plainly("assistant", blocks):
            for call in calls:
                del self.draft.ids.taken[call.call_id]
            return False
        answers: list[Json] = []
        for result in results:
            block: Json = {"type": "tool_result", "tool_use_id": result.call_id, "content": result.content}
            answers.append({**block, "is_error": True} if result.is_error else block)
        self.draft.messages.append({"role": "user", "content": answers})
        return True

    def user(self, item: Message | Note | Summary) -> None:
        """Write an item that is addressed to the model."""
        if isinstance(item, Message):
            self.draft.usable_blocks(item)  # no state of the user goes back here
        blocks = self._content_blocks(item, content_for_model(item))
        if blocks:
            self._say(blocks)

    def instruct(self, item: Message | ConfigChange) -> None:
        """Write instructions: apart from the messages at the start, later where they stand."""
        text, messages = self.draft.instructions(item), self.draft.messages
        if _is_blank(text):
            self.draft.note_empty(item)
        elif not messages:
            self._system.append({"type": "text", "text": text})
            self._seed()
        elif not self.profile.mid_instructions:
            self.draft.note(item, "instructions_as_text", "the model takes instructions at the start only")
            self._say([{"type": "text", "text": tagged_instructions(text)}])
        else:
            if self._awaits_user():
                messages.append({"role": "user", "content": []})
            self.draft.open_message().setdefault("then", []).append({"type": "text", "text": text})
            self._orders, self._has_orders = (*self._orders, item), True

    def reply(self, reply: Reply) -> None:
        """Write a turn of the model and the results of its calls."""
        outputs, calls, results = reply
        ids: list[str] = []
        moved: list[Json] = []
        written: list[tuple[Output, Json]] = []
        for output in outputs:
            if isinstance(output, ToolCall):
                block = self._call(output)
                ids.append(block["id"])
                written.append((output, block))
            elif isinstance(output, Reasoning):
                written += [(output, block) for block in self._thoughts(output)]
            else:
                blocks, media = self._text_blocks(output)
                written += [(output, block) for block in blocks]
                moved += media
        blocks = self._ordered(written)
        if calls and self.profile.wants_thoughts != "no" and not any(map(_is_thinking, blocks)):
            blocks = [{"type": "thinking", "thinking": BLANK_THOUGHT, "signature": ""}, *blocks]
        if blocks:
            self._answer(blocks)
        given = self._results(calls, results, ids) + moved
        if given:
            self._say(given)

    def finish(self, marks: Marks | None) -> dict[str, Any]:
        """The payload."""
        self._close_orders()
        if self._awaits_user():
            self.draft.note(None, "turn_added", "the user speaks last here")
            self.draft.messages.append(_user_turn(CONTINUE))
        turns = self._fitted(self.draft.messages)
        payload: dict[str, Any] = {"system": self._system.copy()} if self._system else {}
        payload["messages"] = self._spread(turns)
        if self._tools:
            payload["tools"] = self._tools.copy()
        elif self.tool_names:
            # The API has refused calls in a history without tools. None of these is to be called now.
            self.draft.note(None, "tools_added", "a history with calls wants their tools defined")
            payload["tools"] = _stand_ins(self.tool_names.values())
            payload["tool_choice"] = {"type": "none"}
        if marks:
            end = self._slow_end(turns)
            mark(payload, end, self._stable_system, marks.plan, self.profile.cache_minimum)
        return payload

    # --- turns -------------------------------------------------------------------------------------------

    def _awaits_user(self) -> bool:
        messages = self.draft.messages
        return not messages or messages[-1]["role"] == "assistant"

    def _say(self, blocks: list[Json]) -> None:
        if self._awaits_user():
            self.draft.messages.append({"role": "user", "content": blocks})
            return
        for order in self._orders:
            self.draft.note(order, "instructions_moved", "they apply from the end of the user's turn on")
        self._orders = ()
        self.draft.open_message()["content"].extend(blocks)

    def _answer(self, blocks: list[Json]) -> None:
        messages = self.draft.messages
        if messages and messages[-1]["role"] == "assistant":
            self.draft.open_message()["content"].extend(blocks)
            return
        if not messages:
            self.draft.note(None, "turn_added", "the user speaks first here")
            messages.append(_user_turn(BEGIN))
        self._close_orders()
        messages.append({"role": "assistant", "content": blocks})

    def _close_orders(self) -> None:
        """Note of instructions in a turn where the user says nothing how they are written."""
        for order in self._orders:
            if not self.draft.messages[-1]["content"]:
                reason = "instructions follow a turn of the user here, and there is none"
                self.draft.note(order, "instructions_as_text", reason)
        self._orders = ()

    def _spread(self, turns: list[Json]) -> list[Json]:
        """Turns as messages, in a list of their own: instructions that end a turn of the user stand alone."""
        if not self._has_orders:
            return turns.copy()
        messages: list[Json] = []
        for turn in turns:
            if "then" not in turn:
                messages.append(turn)
            elif turn["content"]:
                messages.append({"role": "user", "content": turn["content"]})
                messages.append({"role": "system", "content": turn["then"]})
            else:
                texts = [tagged_instructions(block["text"]) for block in turn["then"]]
                blocks = [{"type": "text", "text": text} for text in texts]
                messages.append({"role": "user", "content": blocks})
        return messages

    def _slow_end(self, turns: list[Json]) -> End | None:
        """The last block before the volatile items, as a place in the payload."""
        settled = self.draft.settled
        if not settled:
            return None
        last, count = settled[-1], len(settled) - 1
        before = self._spread(turns[:count])
        if last is self.draft.messages[count]:
            before += self._spread([turns[count]])
        elif length := min(len(last["content"]), len(turns[count]["content"])):
            return End(len(before), length - 1)
        return End(len(before) - 1, len(before[-1]["content"]) - 1) if before else None

    def _seed(self) -> None:
        """Begin the digest with what precedes all messages."""
        before: Json = {"system": self._system}
        if self.profile.bound_thinking:
            before["tools"] = self._tools
        self.draft.digest = Digest(before)

    # --- outputs of the model ----------------------------------------------------------------------------

    def _stands(self, prefix: str) -> bool:
        return self.draft.stands(prefix, merges=True)

    def _thoughts(self, item: Reasoning) -> list[Json]:
        """The raw blocks of thinking, or of tools that the service ran, if they may go back."""
        if item.state is None or not item.state.data:
            self.draft.note(item, "reasoning_left_out", "it has no state that can be sent back")
            return []
        blocks = [_sendable(block) for block in self.draft.usable_blocks(item, self._stands)]
        if any(block.get("signature") == "" for block in blocks) and not self.profile.unsigned_thinking:
            self.draft.note(item, "reasoning_left_out", "its thinking is not signed")
            return []
        return blocks

    def _text_blocks(self, item: Message) -> tuple[list[Json], list[Json]]:
        """The text of a message of the model, and its media, which only a turn of the user can carry."""
        blocks = self.draft.usable_blocks(item, self._stands)
        if blocks:
            return [_sendable(block) for block in blocks if not _is_blank(block["text"])], []
        texts = [text for part in item.parts if (text := as_text(part)) is not None]
        written = [{"type": "text", "text": text} for text in texts if not _is_blank(text)]
        media = split(item.parts)[1]
        if len(written) < len(texts) or not (written or media):
            self.draft.note_empty(item)
        if not media:
            return written, []
        self.draft.note(item, "media_moved", "only turns of the user carry media here")
        return written, self.input_parts(item, (FROM_ASSISTANT, *media))

    def _call(self, call: ToolCall) -> Json:
        self.draft.usable_blocks(call, self._stands)  # no fields of it go back here
        given = {} if not call.arguments or call.arguments.isspace() else object_in(call.arguments)
        if given is None:
            self.draft.note(call, "arguments_repaired", "its arguments are no JSON object")
            given = {"arguments": call.arguments}
        elif names := self.draft.parameters.get(call.name):
            given = {names.get(name, name): value for name, value in given.items()}
        name, call_id = self.tool_name(call), self.draft.call_id(call)
        return {"type": "tool_use", "id": call_id, "name": name, "input": given}

    def _ordered(self, written: list[tuple[Output, Json]]) -> list[Json]:
        """The blocks of a turn in their order, with text before the first call.

        With text after a call, the API has missed the results of the call. Thinking stays between calls. Left
        out are halves of server tool pairs, and thinking that nothing follows.
        """
        before: list[tuple[Output, Json]] = []
        since: list[tuple[Output, Json]] = []  # from the first call on
        is_moved = False
        for item, block in self._paired(written):
            if block["type"] == "tool_use" or (since and _is_thinking(block) and not is_moved):
                since.append((item, block))
            elif since and _is_thinking(block):
                self.draft.note(item, "state_stale", "what was said before it had to be moved")
            else:
                before.append((item, block))
                if since and not is_moved:
                    is_moved = True
                    self.draft.note(item, "text_moved", "no text may follow a call here")
        blocks = before + since
        while blocks and _is_thinking(blocks[-1][1]):
            item, _ = blocks.pop()
            self.draft.note(item, "reasoning_left_out", "nothing was said or called after it")
        return [block for _, block in blocks]

    def _paired(self, written: list[tuple[Output, Json]]) -> list[tuple[Output, Json]]:
        """Blocks without those of a server tool whose call or result is missing."""
        whole = _whole_pairs([block for _, block in written if is_server_block(block["type"])])
        kept: list[tuple[Output, Json]] = []
        has_gap = False
        for item, block in written:
            if is_server_block(block["type"]) and id(block) not in whole:
                self.draft.note(item, "reasoning_left_out", "a server tool's call or result is missing")
                has_gap = True
            elif has_gap and _is_thinking(block):
                self.draft.note(item, "state_stale", "what came before it in its reply is left out")
            else:
                kept.append((item, block))
        return kept

    # --- results and parts -------------------------------------------------------------------------------

    def _results(self, calls: list[ToolCall], results: list[ToolResult | None], ids: list[str]) -> list[Json]:
        """A block for each call, in their order, then the media that had to be moved."""
        written: list[Json] = []
        moved: list[Json] = []
        for call, result, call_id in zip(calls, results, ids, strict=True):
            block: Json = {"type": "tool_result", "tool_use_id": call_id}
            if result is None:
                self.draft.note(call, "result_added", "the call has no result")
                written.append({**block, "content": NO_RESULT, "is_error": True})
                continue
            blocks = self._content_blocks(result, result.content)
            # The API takes nothing but text in a result that is an error.
            media = [one for one in blocks if result.is_error and one["type"] != "text"]
            inside = [one for one in blocks if not result.is_error or one["type"] == "text"]
            alone = inside[0]["text"] if len(inside) == 1 and inside[0]["type"] == "text" else None
            block["content"] = alone or inside or NO_OUTPUT
            written.append({**block, "is_error": True} if result.is_error else block)
            if media:
                self.draft.note(result, "media_moved", "a failed call gives text only here")
                moved += [{"type": "text", "text": from_tool(call.name)}, *media]
        return written + moved

    def _content_blocks(self, item: Item, content: str | tuple[Part, ...]) -> list[Json]:
        """A content as blocks, without blank texts, which the API refuses."""
        parts = parts_of(content)
        blocks = self.input_parts(item, parts)
        if len(blocks) < max(len(parts), 1):
            self.draft.note_empty(item)
        return blocks

    def _input_part(self, item: Item, part: Part) -> Json | None:
        text = part if isinstance(part, str) else file_text(part)
        if text is not None and _is_blank(text):
            return None
        if isinstance(part, str):
            return {"type": "text", "text": part}
        data = inline_bytes(part) if part.data is None else None
        if data is not None:  # of a `data:` address
            part = replace(part, url=None, data=data, media_type=media_type(part))
        block = None
        if isinstance(part, Image):
            block = self._image(item, part)
        elif isinstance(part, File):
            block = self._document(item, part, text)
        if block is not None:
            return block
        is_at_hand = self.profile.fetches or part.data is not None
        why = "cannot be carried" if is_at_hand else "is not at hand, and nothing is fetched here"
        words, reason = replaced(part, why)
        self.draft.note(item, "media_as_text", reason)
        return {"type": "text", "text": f"[{type(part).__name__.lower()}]" if _is_blank(words) else words}

    def _image(self, item: Item, part: Image) -> Json | None:
        limits, data, side = self.profile.images, part.data, _longer_side(part)
        source = self._remote_source(part)
        if "image_input" not in self.profile.media:
            return None
        if source is None or (source["type"] == "url" and sound_type(part) not in (*PICTURES, None)):
            seen = begun(data) if data is not None else None
            kind = seen if seen in PICTURES else sound_type(part)
            if data is None or kind not in PICTURES or side > (limits.side or side):
                return None
            if limits.bytes and len(data) * 4 // 3 > limits.bytes:
                return None
            source = {"type": "base64", "media_type": kind, "data": base64_of(data)}
        return self._hold({"type": "image", "source": source}, item, side > (limits.many_side or side))

    def _document(self, item: Item, part: File, text: str | None) -> Json | None:
        source = self._remote_source(part)
        if "pdf_input" not in self.profile.media:
            return None if text is None else {"type": "text", "text": as_text(part)}
        if text is not None:
            source = {"type": "text", "media_type": "text/plain", "data": text}
        elif part.data is not None:
            if sound_type(part) != PDF or len(part.data) * 4 // 3 >= self.profile.largest_request:
                return None
            source = {"type": "base64", "media_type": PDF, "data": base64_of(part.data)}
        elif source is None or (source["type"] == "url" and not _seems_pdf(part)):
            return None
        block: Json = {"type": "document", "source": source}
        return self._hold(block if _is_blank(part.name or "") else {**block, "title": part.name}, item, False)

    def _remote_source(self, part: Image | File) -> Json | None:
        """The source of media that the service fetches, or knows by an id."""
        known, url = file_id(part, ANTHROPIC), part.url or ""
        if part.data is not None or not self.profile.fetches:
            return None
        if known is not None:
            return {"type": "file", "file_id": known}
        return {"type": "url", "url": url} if url.lower().startswith(("https://", "http://")) else None

    def _hold(self, block: Json, item: Item, is_large: bool) -> Json:
        self._media.append(_Held(block, item, is_large, len(block["source"].get("data", ""))))
        return block

    # --- limits of a request -----------------------------------------------------------------------------

    def _fitted(self, turns: list[Json]) -> list[Json]:
        """The turns without media over the limits of a request, nor thinking bound to what changed."""
        changed = 0 if self.tool_names and not self._tools else len(turns)  # stand-ins precede all messages
        if gone := self._excess_images():
            reason = "there are more images, or larger ones, than one request takes"
            turns, changed = self._without_media(turns, gone, reason, changed)
        media = [held for held in self._media if held not in gone]
        if sum(held.weight for held in media) > _HEAVY:
            size = sum(len(_encode(value)) for value in (turns, self._system, self._tools))
            excess, heavy = _stepped(size, self.profile.largest_request), list[_Held]()
            for held in media:
                if excess > 0 and held.weight:
                    excess -= held.weight
                    heavy.append(held)
            reason = "the media have more bytes than one request takes"
            turns, changed = self._without_media(turns, heavy, reason, changed)
        return self._without_thinking(turns, changed) if self.profile.bound_thinking else turns

    def _excess_images(self) -> list[_Held]:
        """The oldest images over the limits: of too many, and of many with a large one among them."""
        limits = self.profile.images
        images = [held for held in self._media if held.block["type"] == "image"]
        gone = _stepped(len(images), limits.count) if limits.count else 0
        large = [place for place, held in enumerate(images) if held.is_large]
        if limits.many and len(images) - gone > limits.many and large and large[-1] >= gone:
            # They go until no more than many are left, or none of those left is large.
            gone = max(gone, min(_stepped(len(images), limits.many), large[-1] + 1))
        return images[:gone]

    def _without_media(
        self, turns: list[Json], gone: list[_Held], reason: str, changed: int
    ) -> tuple[list[Json], int]:
        """Copies of the turns with text for some media, and the first turn that changed."""
        for item in {held.item.id: held.item for held in gone}.values():
            self.draft.note(item, "media_as_text", reason)
        blocks, turns = {id(held.block) for held in gone}, turns.copy()
        for place, turn in enumerate(turns):
            content = [_without_block(block, blocks) for block in turn["content"]]
            if any(one is not other for one, other in zip(content, turn["content"], strict=True)):
                turns[place] = {**turn, "content": content}
                changed = min(changed, place)
        return turns, changed

    def _without_thinking(self, turns: list[Json], start: int) -> list[Json]:
        """The turns without thinking from a place on: what came before it changed."""
        kept, count = turns.copy(), 0
        for place in range(start, len(turns)):
            if turns[place]["role"] == "assistant":
                content = [block for block in turns[place]["content"] if not _is_thinking(block)]
                count += len(turns[place]["content"]) - len(content)
                kept[place] = {**turns[place], "content": content}
        if count:
            self.draft.note(None, "state_stale", f"{count} blocks of thinking: what came before changed")
        return kept


def begin(profile: Profile, tools: Sequence[Tool]) -> MessagesWriter:
    """A writer with nothing written."""
    draft = Draft(ANTHROPIC, profile.model, CALL_IDS[ANTHROPIC], TOOL_NAMES[ANTHROPIC])
    return MessagesWriter(draft, profile, anthropic_tools(tools, draft, profile))


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _is_thinking(block: Json) -> bool:
    return block["type"] in _THINKING


def _sendable(block: Json) -> Json:
    """A raw block without fields of libraries; unsigned thinking without text gets a blank."""
    kept = {name: value for name, value in block.items() if name not in ANTHROPIC_FOREIGN_FIELDS.accepted}
    if kept.get("signature") == "" and not kept.get("thinking"):
        kept["thinking"] = BLANK_THOUGHT
    return kept


def _whole_pairs(blocks: list[Json]) -> set[int]:
    """The identities of the blocks of server tools that have both a call and a result.

    A call that a program of the model made goes with that program's own pair.
    """
    calls: dict[str, Json] = {}
    results: dict[str, Json] = {}
    for block in blocks:
        if block["type"] in SERVER_CALLS:
            calls.setdefault(block["id"], block)
        elif block["tool_use_id"] in calls:
            results.setdefault(block["tool_use_id"], block)
    pairs = [block for key in results for block in (calls[key], results[key])]
    programs = {None, *results}
    return {id(block) for block in pairs if fields_in(block.get("caller")).get("tool_id") in programs}


def _user_turn(text: str) -> Json:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def _stand_ins(names: Iterable[str]) -> list[Json]:
    """Definitions for tools that a history speaks of and that are not offered now."""
    empty: Json = {
        "description": "Not at hand any more.",
        "input_schema": {"type": "object", "properties": {}},
    }
    return [{"name": name, **empty} for name in sorted(names)]


def _stepped(count: int, most: int) -> int:
    """How much of the oldest goes: in steps, so that not every new image changes what came before."""
    step = max(most // _STEPS, 1)
    return min(count, -(-max(count - most, 0) // step) * step)


def _without_block(block: Json, gone: set[int]) -> Json:
    """A block, or text for it if it is among these media."""
    if id(block) in gone:
        kind, url, title = block["type"], block["source"].get("url"), block.get("title")
        name = "image" if kind == "image" else f"file {title}" if title else "file"
        return {"type": "text", "text": f"[{name} at {url}]" if url else f"[{name}]"}
    inner = block.get("content")
    if block["type"] == "tool_result" and isinstance(inner, list) and any(id(part) in gone for part in inner):  # pyright: ignore
        return {**block, "content": [_without_block(part, gone) for part in inner]}  # pyright: ignore
    return block


def _seems_pdf(part: File) -> bool:
    """Whether the file at an address is a PDF, as far as can be told."""
    path = (part.url or "").partition("?")[0].partition("#")[0]
    is_named = part.media_type is None and (part.name or path).lower().endswith(".pdf")
    return media_type(part) == PDF or is_named


def _longer_side(part: Image) -> int:
    """The longer side in pixels; zero where nothing tells."""
    return max((size_of(part.data) if part.data else None) or (part.width or 0, part.height or 0))
