"""What OpenAI's two wires share: roles, instructions, what the user says, tools, and the marks of a cache."""

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, ClassVar, NamedTuple

from quire.items import ConfigChange, Item, Message, Note, Summary, ToolCall, parts_of
from quire.providers import wording
from quire.providers.definitions import Tool, refuse_same_names
from quire.providers.names import Alphabet, alphabet
from quire.providers.native import said
from quire.providers.openai_chat.parts import Parts
from quire.providers.rendering import Marks
from quire.providers.sheet import Json, Sheet
from quire.tokens.facts import UNKNOWN, facts_for
from quire.tokens.families import bare_name

Table = Mapping[str, str]
WritesTool = Callable[[Tool, Sheet], Json | None]
"""What writes a tool on a wire; none where it is one of another service."""

WritesPlain = Callable[[Sequence[Item], int, int, Sheet, Table, Table], int]

_TOOL_NAMES = alphabet(64)
_LENGTH_OF_KEY = 32  # digits of a digest: enough for no two to be the same, and half of what is taken
_BREAKPOINT = {"mode": "explicit"}
_VERSION = re.compile(r"gpt-(\d)(?:\.(\d{1,2}))?(?![\d.a-z])")


class Manners(NamedTuple):
    """What a model takes."""

    instructions: str
    """The role of instructions; `user` where the model takes none."""
    media: frozenset[str]
    breakpoints: bool
    keyed: bool
    """Whether the model has a prompt cache with keys: many who speak this wire refuse a field of OpenAI's."""


def manners_of(model: str | None) -> Manners:
    """What a model takes; one that is not known is trusted with all that most take.

    One that is not named is given all: who sends a recording to it knows whom it goes to.
    """
    facts = facts_for(model) if model else UNKNOWN
    features = frozenset[str](facts.features)
    media = features if facts.provider is not None else features | {"image_input", "pdf_input"}
    if model is None:
        media |= {"audio_input"}
    instructions = "user" if "no_instructions" in features else "system"
    if "developer_role" in features:
        instructions = "developer"
    marked = "cache_breakpoints" in features or _is_marked(model)
    caches = facts.provider == "openai" and facts.cache_minimum is not None
    return Manners(instructions, media, marked, marked or caches)


def _is_marked(model: str | None) -> bool:
    """Whether a model takes breakpoints: all from GPT-5.6 on do, those too that came after the table."""
    found = _VERSION.match(bare_name(model)) if model else None
    return found is not None and (int(found[1]), int(found[2] or 0)) >= (5, 6)


def sheet_for(wire: str, model: str | None, ids: Alphabet) -> Sheet:
    """A sheet with nothing on it."""
    return Sheet(wire, model, ids, _TOOL_NAMES)


def written_tools(tools: Sequence[Tool], sheet: Sheet, write: WritesTool) -> list[Json]:
    """The tools of a request, their names given out; which of them is of another service is noted."""
    written = [(tool, write(tool, sheet)) for tool in tools]
    for tool, found in written:
        if found is None:
            sheet.note(None, "tools_left_out", f"{tool.name!r} is a tool of another service")
    refuse_same_names(tool for tool, found in written if found is not None)
    return [found for _, found in written if found is not None]


class FamilyWriter:
    """Writes what is the same on both wires. Nearly everything is text, which goes straight into the list."""

    __slots__ = ("_known", "_manners", "_parts", "_roles", "_tools", "sheet")

    history: ClassVar[str]
    """The field of the payload that has the conversation."""

    def __init__(self, sheet: Sheet, manners: Manners, parts: Parts, tools: list[Json]) -> None:
        self.sheet = sheet
        self._manners = manners
        self._tools = tools
        self._parts = parts
        order = manners.instructions
        self._roles = {"user": "user", "assistant": "assistant", "system": order, "developer": order}
        self._known: dict[str, str] = {}  # tool names met so far, as they are here

    def bound(self) -> bool:
        """Nothing documented binds reasoning to the volatile part."""
        return False

    def user(self, item: Message | Note | Summary) -> None:
        """Something said to the model."""
        content = item.content if type(item) is Message else said(item, self.sheet)
        if type(content) is str and content:
            text = content if content.isascii() else wording.mended(content)
            self.sheet.messages.append({"role": "user", "content": text})
            return
        parts = self._parts.of(item, parts_of(content))
        if parts:
            alone = len(parts) == 1 and parts[0]["type"] == self._parts.text_type
            self.sheet.messages.append({"role": "user", "content": parts[0]["text"] if alone else parts})
        else:
            self.sheet.left_out(item)

    def instruct(self, item: Message | ConfigChange) -> None:
        """Instructions, where they stand."""
        text = self.sheet.words(item)
        if not text:
            self.sheet.left_out(item)
        elif self._manners.instructions == "user":
            self.sheet.note(item, "instructions_as_text", "the model takes no instructions of their own")
            self.sheet.messages.append({"role": "user", "content": wording.instructed(text)})
        else:
            self.sheet.messages.append({"role": self._manners.instructions, "content": text})

    def finish(self, marks: Marks | None) -> dict[str, Any]:
        """The payload."""
        messages = self.sheet.messages
        if not messages:
            self.sheet.note(None, "turn_added", "there was nothing to answer")
            messages.append({"role": "user", "content": wording.CONTINUE})
        if marks and self._manners.breakpoints:
            self._mark({min(marks.static, len(messages)), min(marks.slow, len(messages))})
        payload: dict[str, Any] = {self.history: messages}
        if self._tools:
            payload["tools"] = self._tools.copy()
        if marks and marks.plan.key and self._manners.keyed:
            payload["prompt_cache_key"] = cache_key(marks.plan.key)
        return payload

    def _plain(self, write: WritesPlain, items: Sequence[Item], start: int, stop: int) -> int:
        # A branch has ids of its own and those given out before it; plain turns know only of their own.
        if self.sheet.ids.is_branch or self._manners.instructions == "user":
            return start
        return write(items, start, stop, self.sheet, self._known, self._roles)

    def _name(self, call: ToolCall) -> str:
        if call.name not in self._known:
            self._known[call.name] = self.sheet.tool_name(call, call.name)
        return self._known[call.name]

    def _blocks_of(self, message: Json) -> str | None:
        """The field of a message that holds blocks of input, which alone can be marked."""
        raise NotImplementedError

    def _mark(self, ends: set[int]) -> None:
        """Put breakpoints at the ends of the static and of the slow part."""
        messages, unmarked = self.sheet.messages, self.sheet.unmarked
        for end in ends:
            place = end - 1
            while place >= 0 and self._blocks_of(messages[place]) is None:
                place -= 1
            if place >= 0 and place not in unmarked and (field := self._blocks_of(messages[place])):
                unmarked[place] = messages[place]
                messages[place] = self._with_breakpoint(messages[place], field)

    def _with_breakpoint(self, message: Json, field: str) -> Json:
        content = message[field]
        blocks = [self._parts.text(content)] if isinstance(content, str) else list(content)
        blocks[-1] = {**blocks[-1], "prompt_cache_breakpoint": _BREAKPOINT}
        return {**message, field: blocks}


def cache_key(key: str) -> str:
    """A key as OpenAI is sent it: a digest, since it may be an address, and so have somebody's name in it."""
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_LENGTH_OF_KEY]
