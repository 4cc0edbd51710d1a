"""Anthropic Messages: what calls gave, all in the turn of the user right after them."""

from quire.items import ToolCall, ToolResult
from quire.providers import wording
from quire.providers.anthropic.blocks import Blocks, is_blank
from quire.providers.sheet import Json, Sheet


class Results:
    """Writes results; what may not stand inside one comes after all of them."""

    __slots__ = ("_blocks", "_sheet")

    def __init__(self, sheet: Sheet, blocks: Blocks) -> None:
        self._sheet = sheet
        self._blocks = blocks

    def of(self, calls: list[ToolCall], results: list[ToolResult | None], ids: list[str]) -> list[Json]:
        """A block for each call, in their order, then the media that had to be moved."""
        written: list[Json] = []
        moved: list[Json] = []
        for call, result, call_id in zip(calls, results, ids, strict=True):
            block: Json = {"type": "tool_result", "tool_use_id": call_id}
            if result is None:
                self._sheet.note(call, "answer_added", "the call has no result")
                block |= {"content": wording.NO_RESULT, "is_error": True}
            else:
                block["content"], media = self._content(result)
                if result.is_error:
                    block["is_error"] = True
                if media:
                    self._sheet.note(result, "media_moved", "a failed call gives text only here")
                    moved += [{"type": "text", "text": wording.mended(wording.from_call(call))}, *media]
            written.append(block)
        return written + moved

    def _content(self, result: ToolResult) -> tuple[str | list[Json], list[Json]]:
        """What a result holds, and what it may not hold."""
        if isinstance(result.content, str):
            return self._text(result, result.content), []
        if not result.parts:
            return self._text(result, ""), []
        blocks = self._blocks.of(result, result.parts)
        # The API takes nothing but text in a result that is an error.
        media = [block for block in blocks if result.is_error and block["type"] != "text"]
        inside = [block for block in blocks if not result.is_error or block["type"] == "text"]
        if len(inside) == 1 and inside[0]["type"] == "text":
            return inside[0]["text"], media
        return inside or wording.NO_OUTPUT, media

    def _text(self, result: ToolResult, text: str) -> str:
        if is_blank(text):
            self._sheet.note(result, "empty_left_out", "it has no content, or nothing to see")
            return wording.NO_OUTPUT
        return wording.mended(text)
