"""Gemini: turns as contents of the user and of the model."""

import re
from collections.abc import Sequence
from typing import Any

from quire.items import ConfigChange, Item, Message, Note, Summary, ToolCall, ToolResult, parts_of
from quire.providers import wording
from quire.providers.definitions import Tool
from quire.providers.dialogue import Reply
from quire.providers.gemini.parts import Media, Parts, in_result
from quire.providers.gemini.plain import LONGEST_ID, write_plain
from quire.providers.gemini.replies import Moved, Replies
from quire.providers.gemini.responses import response_of
from quire.providers.gemini.signing import NAME
from quire.providers.gemini.tools import Toolbox
from quire.providers.media import split
from quire.providers.names import Alphabet, alphabet
from quire.providers.native import said
from quire.providers.rendering import Marks
from quire.providers.routes import cloud_of
from quire.providers.sheet import Json, Sheet
from quire.tokens import UNKNOWN, facts_for

_IDS = alphabet(LONGEST_ID)
_TOOL_NAMES = Alphabet(re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"), 64)
_AT_START = "system"  # in the sheet only: instructions that `finish` puts where the wire has them


class ContentWriter:
    """Writes contents.

    What the user says is a content for each message: the wire takes several in a row, and refuses one that
    mixes answers to calls with anything else. What the model says is one content until the user speaks: calls
    are refused when they do not come right after the user or after an answer.
    """

    __slots__ = ("_nests", "_parts", "_replies", "_toolbox", "sheet")

    def __init__(self, sheet: Sheet, parts: Parts, toolbox: Toolbox, nests: bool) -> None:
        self.sheet = sheet
        self._parts = parts
        self._replies = Replies(sheet)
        self._toolbox = toolbox
        self._nests = nests  # whether answers to calls may hold media

    def branch(self) -> "ContentWriter":
        """The same writer, to be finished."""
        sheet = self.sheet.branch()
        return ContentWriter(sheet, self._parts.branch(sheet), self._toolbox, self._nests)

    def bound(self) -> bool:
        """No: signatures are not checked against what else was sent."""
        return False

    def plain(self, items: Sequence[Item], start: int, stop: int) -> int:
        """The common case, written at once; a branch has too little left for it to matter."""
        if self.sheet.ids.is_branch:
            return start
        return write_plain(items, start, stop, self.sheet, self._replies)

    def user(self, item: Message | Note | Summary) -> None:
        """Something said to the model."""
        content = item.content if type(item) is Message else said(item, self.sheet)
        if type(content) is str and content:
            parts: list[Json] = [{"text": content if content.isascii() else wording.mended(content)}]
        else:
            parts = self._parts.of(item, parts_of(content), with_videos=True)
        if parts:
            self.sheet.messages.append({"role": "user", "parts": parts})
        else:
            self.sheet.left_out(item)

    def instruct(self, item: Message | ConfigChange) -> None:
        """Instructions: at the start for the whole conversation, later in words of their own."""
        text = self.sheet.words(item)
        messages = self.sheet.messages
        if not text:
            self.sheet.left_out(item)
        elif not messages or messages[-1]["role"] == _AT_START:
            messages.append({"role": _AT_START, "parts": [{"text": text}]})
        else:
            self.sheet.note(item, "instructions_as_text", "this wire has instructions at the start only")
            messages.append({"role": "user", "parts": [{"text": wording.instructed(text)}]})

    def assistant(self, item: Message) -> None:
        """A reply of words alone."""
        self.reply(Reply([item], [], []))

    def reply(self, reply: Reply) -> None:
        """What the model said, thought and called, and what the calls gave."""
        outputs, calls, results = reply
        # Before anything is written: signatures are good for what stands before the whole reply.
        parts, moved = self._replies.parts(outputs)
        if parts:
            self._model(parts)
        if calls:
            made = [part["functionCall"] for part in parts if "functionCall" in part]
            answers: list[Json] = []
            for call, result, given in zip(calls, results, made, strict=True):
                answer, left = self._answer(call, result, given)
                answers.append({"functionResponse": answer})
                if left and result is not None:
                    moved.append(Moved(result, wording.from_call(call), left))
            self.sheet.messages.append({"role": "user", "parts": answers})
        for media in moved:
            self._move(media)

    def finish(self, marks: Marks | None) -> dict[str, Any]:
        """The payload; the plan for the cache is kept by a prefix that stays the same, and needs no marks."""
        messages = self.sheet.messages
        start = 0
        while start < len(messages) and messages[start]["role"] == _AT_START:
            start += 1
        contents = messages[start:]
        if not contents or contents[-1]["role"] == "model":
            self.sheet.note(None, "turn_added", "there was nothing to answer")
            # The answer to nothing comes after what a conversation without a user begins with.
            words = wording.CONTINUE if contents else wording.BEGIN
            contents.append({"role": "user", "parts": [{"text": words}]})
        config: Json = {}
        if start:
            config["system_instruction"] = {
                "parts": [part for at in messages[:start] for part in at["parts"]]
            }
        config |= self._toolbox.config()
        return {"contents": contents, "config": config} if config else {"contents": contents}

    def _answer(self, call: ToolCall, result: ToolResult | None, given: Json) -> tuple[Json, list[Media]]:
        """The answer to a call, and media that it cannot carry."""
        answer: Json = {"id": given["id"], "name": given["name"]}
        if result is None:
            self.sheet.note(call, "answer_added", "the call has no result")
            answer["response"] = {"error": wording.NO_RESULT}
            return answer, []
        text, media = split(result.parts)
        answer["response"] = response_of(result, text)
        nested = [(part, in_result(part) if self._nests else None) for part in media]
        carried = [written for _, written in nested if written]
        if carried:
            answer["parts"] = carried
        return answer, [part for part, written in nested if written is None]

    def _model(self, parts: list[Json]) -> None:
        messages = self.sheet.messages
        if messages and messages[-1]["role"] == "model":
            self.sheet.open_message()["parts"].extend(parts)
            return
        if not messages or messages[-1]["role"] == _AT_START:
            self.sheet.note(None, "turn_added", "a conversation begins with the user")
            messages.append({"role": "user", "parts": [{"text": wording.BEGIN}]})
        messages.append({"role": "model", "parts": parts})

    def _move(self, moved: Moved) -> None:
        """Media that only the user can send, right after where they were."""
        self.sheet.note(moved.item, "media_moved", "only the user sends such media here")
        parts = self._parts.of(moved.item, (moved.heading, *moved.media))
        self.sheet.messages.append({"role": "user", "parts": parts})


def begin(model: str | None, tools: Sequence[Tool]) -> ContentWriter:
    """A writer with nothing written.

    A model that is not in the table, or not named, is taken for one that fetches and mixes: for one that
    does not, the request fails either way.
    """
    facts = facts_for(model) if model else UNKNOWN
    unknown = facts.provider != NAME
    mixes = unknown or "provider_tools_with_functions" in facts.features
    on_vertex = model is not None and cloud_of(model) == "vertex"  # which takes one or the other
    sheet = Sheet(NAME, model, _IDS, _TOOL_NAMES)
    toolbox = Toolbox(tools, sheet, mixes and not on_vertex)
    parts = Parts(sheet, unknown or "web_urls" in facts.features)
    # Models that sign their calls are those that take media in answers; who is not named may take none.
    return ContentWriter(sheet, parts, toolbox, "thought_signatures" in facts.features)
