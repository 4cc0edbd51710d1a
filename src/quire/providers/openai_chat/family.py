"""What OpenAI's two wires share: roles, instructions, what the user says, tools, and the marks of a cache."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, ClassVar

from quire.items import ConfigChange, Item, Message, Note, Summary, ToolCall, parts_of
from quire.providers import wording
from quire.providers.definitions import Tool, refuse_same_names
from quire.providers.json_values import json_text
from quire.providers.names import Alphabet, alphabet
from quire.providers.native import said
from quire.providers.openai_chat.breakpoints import with_breakpoint
from quire.providers.openai_chat.customs import input_of
from quire.providers.openai_chat.manners import Manners, ids_of
from quire.providers.openai_chat.parts import Parts
from quire.providers.openai_chat.plain import Common
from quire.providers.pieces import is_whole
from quire.providers.rendering import Marks
from quire.providers.sheet import Json, Sheet

WritesTool = Callable[[Tool, Sheet], Json | None]
"""What writes a tool on a wire; none where it is one of another service."""

WritesPlain = Callable[[Sequence[Item], int, int, Sheet, Common], int]

_TOOL_NAMES = alphabet(64)
_LENGTH_OF_KEY = 32  # digits of a digest: enough for no two to be the same, and half of what is taken


def sheet_for(wire: str, model: str | None, ids: Alphabet) -> Sheet:
    """A sheet with nothing on it."""
    return Sheet(wire, model, ids_of(model, ids), _TOOL_NAMES)


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
        self._roles = {"user": "user", "assistant": "assistant"}
        if manners.anywhere:
            self._roles |= dict.fromkeys(("system", "developer"), manners.instructions)
        self._known: dict[str, str] = {}  # tool names met so far, as they are here

    def bound(self) -> bool:
        """Nothing documented binds reasoning to the volatile part."""
        return False

    def user(self, item: Message | Note | Summary) -> None:
        """Something said to the model."""
        content = item.content if type(item) is Message else said(item, self.sheet)
        if type(content) is str and content:
            text = content if content.isascii() else wording.mended(content)
            self._say(text)
            return
        parts = self._parts.of(item, parts_of(content))
        if parts:
            alone = len(parts) == 1 and parts[0]["type"] == self._parts.text_type
            self._say(parts[0]["text"] if alone else parts)
        else:
            self.sheet.left_out(item)

    def instruct(self, item: Message | ConfigChange) -> None:
        """Instructions, where they stand; in one message at the start where the model takes no others."""
        text, messages, manners = self.sheet.words(item), self.sheet.messages, self._manners
        if not text:
            self.sheet.left_out(item)
        elif manners.instructions == "user":
            self._tell(item, text, "the model takes no instructions of their own")
        elif manners.anywhere or not messages:
            messages.append({"role": manners.instructions, "content": text})
        elif len(messages) == 1 and messages[0].get("role") == manners.instructions:
            self.sheet.open_message()["content"] += f"\n\n{text}"
        else:
            self._tell(item, text, "the model takes instructions at the start only")

    def _tell(self, item: Item, text: str, reason: str) -> None:
        """Instructions as words of the user."""
        self.sheet.note(item, "instructions_as_text", reason)
        self._say(wording.instructed(text))

    def _say(self, content: str | list[Json]) -> None:
        """A message of the user."""
        self.sheet.messages.append({"role": "user", "content": content})

    def finish(self, marks: Marks | None) -> dict[str, Any]:
        """The payload."""
        messages = self.sheet.messages
        if not messages or self._awaits_user(messages[-1].get("role")):
            self.sheet.note(None, "turn_added", "there was nothing to answer")
            self._say(wording.CONTINUE)
        if marks and self._manners.breakpoints:
            self._mark({min(marks.static, len(messages)), min(marks.slow, len(messages))})
        payload: dict[str, Any] = {self.history: messages}
        if self._tools:
            payload["tools"] = self._tools.copy()
        if marks and marks.plan.key and self._manners.keyed:
            payload["prompt_cache_key"] = cache_key(marks.plan.key)
        return payload

    def _awaits_user(self, last: str | None) -> bool:
        """Whether a model that is strict about it has nothing to answer after a role."""
        manners = self._manners
        return (manners.heard and last == "assistant") or (
            not manners.anywhere and last == manners.instructions
        )

    def _plain(self, write: WritesPlain, items: Sequence[Item], start: int, stop: int) -> int:
        # A branch has ids of its own and those given out before it; plain turns know only of their own.
        if self.sheet.ids.is_branch or self._manners.instructions == "user" or self._manners.heard:
            return start
        sound = None if self._manners.verbatim else is_whole
        return write(items, start, stop, self.sheet, Common(self._known, self._roles, sound))

    def _name(self, call: ToolCall) -> str:
        if call.name not in self._known:
            self._known[call.name] = self.sheet.tool_name(call, call.name)
        return self._known[call.name]

    def _input(self, call: ToolCall) -> str | None:
        """The text that a call is made with; none where it is one of a function, or has to be."""
        text = input_of(call) if call.extras else None
        if text is not None and not self._manners.whole:
            self.sheet.note(call, "fields_left_out", "a call of another kind is one of a function here")
            return None
        return text

    def _arguments(self, call: ToolCall) -> str:
        """The arguments of a call. Many of this wire refuse histories with any that are no object."""
        text, verbatim = wording.mended(call.arguments), self._manners.verbatim
        if not text or (text.isspace() and not verbatim):
            return "{}"
        if verbatim or is_whole(text):
            return text
        self.sheet.note(call, "arguments_mended", "its arguments are no JSON object")
        return json_text({"arguments": text}, "arguments")

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
        return with_breakpoint(message, field, blocks)


def cache_key(key: str) -> str:
    """A key as OpenAI is sent it: a digest, since it may be an address, and so have somebody's name in it."""
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_LENGTH_OF_KEY]
