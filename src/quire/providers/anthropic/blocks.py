"""Anthropic Messages: what a turn of the user or a tool's output may hold."""

from typing import Any

from quire.errors import Damaged
from quire.items import Audio, File, Image, Item, Part, ToolResult
from quire.providers import wording
from quire.providers.anthropic.abilities import NAME, Abilities
from quire.providers.anthropic.native import PICTURE, sendable, stands_for, with_settings, words_of
from quire.providers.anthropic.sources import inlined, is_place, placed, seems_pdf, side, uploaded
from quire.providers.anthropic.weighing import inner_weight, kept_weight, weight_of
from quire.providers.beginnings import PDF, PICTURES, begun
from quire.providers.block_parts import part_of
from quire.providers.json_values import entries_in, fields_in
from quire.providers.media import as_text, base64_of, file_text
from quire.providers.native import BESIDE, fields_beside, file_id, native_block
from quire.providers.sheet import Json, Sheet
from quire.providers.unsound import in_words, sound_type

_CITED = ("document", "search_result")
_IN_WORDS = "a block that no item stands for is put in words"


class Blocks:
    """Writes parts as content blocks; what cannot be carried is put in words, and noted."""

    __slots__ = ("_abilities", "_cites", "_sheet", "_tools", "images", "large", "owners", "weight")

    def __init__(self, sheet: Sheet, abilities: Abilities, tools: frozenset[str]) -> None:
        self._sheet = sheet
        self._abilities = abilities
        self._tools = tools  # the names of those that are sent, which alone may be referred to
        self.images = 0  # how many were written
        self.large: dict[int, Json] = {}  # by identity, those that are too large among many
        self.owners: dict[int, tuple[Json, Item]] = {}  # by identity, what may have to go, and whose it is
        self.weight = 0  # bytes of all media that are in the request itself
        self._cites: dict[str, bool] = {}  # whether documents, and search results, are to be cited

    def branch(self, sheet: Sheet) -> "Blocks":
        """The same, to go on in another way."""
        twin = Blocks(sheet, self._abilities, self._tools)
        twin.images, twin.large, twin.weight = self.images, self.large.copy(), self.weight
        twin.owners, twin._cites = self.owners.copy(), self._cites.copy()
        return twin

    def of(self, item: Item, parts: tuple[Part, ...]) -> list[Json]:
        """The parts, without texts that have nothing to see, which the API refuses."""
        blocks = [self._block(item, part) for part in parts]
        if BESIDE in item.extras:
            held = fields_beside(item, NAME)
            with_settings(blocks, held)
            self._put_back(item, blocks, entries_in(held.get("content")))
        written = [self._settled(item, block) for block in blocks if block is not None]
        if len(written) < len(parts):
            self._sheet.note(item, "empty_left_out", "it has texts without content")
        return written

    def own(self, item: Item) -> Json | None:
        """The block of this wire that a note holds, if it may be sent."""
        held = native_block(item, NAME) or {}
        block = self._own(item, held, in_result=False)
        if block is None and inner_weight(held):
            self._sheet.note(item, "media_as_text", _IN_WORDS)
            return text_block(words_of(held))
        return None if block is None else self._settled(item, block)

    def weigh(self, item: Item, block: Json) -> None:
        """Count the bytes of what a tool of the provider left, which is written as it came."""
        weight = kept_weight(block)
        if weight:
            self.weight += weight
            self.owners[id(block)] = block, item

    def _own(self, item: Item, held: Json, *, in_result: bool) -> Json | None:
        """A block as it was kept, counted and weighed, if it may be sent."""
        images, weight = self.images, self.weight
        readable = self._abilities.reads or held.get("type") != "document"
        block = None
        if readable:
            block = sendable(held, lambda inner: self._inside(item, inner), in_result=in_result)
        if block is not None and "file_id" in block and not self._abilities.fetches:
            block = None
        if block is None:
            self.images, self.weight = images, weight
        else:
            self.weight = weight + weight_of(block)
        return block

    def _inside(self, item: Item, block: Any) -> Json | None:
        """An image within a document, by the rules for all images; words for one that may not be sent."""
        held = fields_in(block)
        try:
            part = part_of(held, "$")
        except Damaged:
            part = None
        if isinstance(part, Image):
            return self._image(part) or self._in_words(item, part)
        if held.get("type") != "image":
            return None
        self._sheet.note(item, "media_as_text", "an image in a document cannot be read")
        return {"type": "text", "text": PICTURE}

    def _put_back(self, item: Item, blocks: list[Json | None], content: list[Any]) -> None:
        """Put in place of words the blocks of a result that these stand for."""
        for place, (block, held) in enumerate(zip(blocks, content, strict=False)):
            if block is None or not stands_for(block.get("text"), held):
                continue
            own = self._reference(item, held) or self._own(item, fields_in(held), in_result=True)
            if own is None:
                self._sheet.note(item, "media_as_text", _IN_WORDS)
                own = text_block(words_of(held)) if inner_weight(held) else block
            blocks[place] = own

    def _reference(self, item: Item, held: Any) -> Json | None:
        """What a search for tools of the caller's found, as the API takes it in a result that is no error."""
        match held:
            case {"type": "tool_reference", "tool_name": str(name)} if name in self._tools:
                failed = isinstance(item, ToolResult) and item.is_error
                return None if failed else {"type": "tool_reference", "tool_name": name}
            case _:
                return None

    def _settled(self, item: Item, block: Json) -> Json:
        """A block with citations on or off as on the first of its kind: the API wants all or none.

        The first decides, so that what was sent before stays as it is.
        """
        kind = block["type"]
        if kind not in _CITED:
            return self._owned(item, block)
        cited = fields_in(block.get("citations")).get("enabled") is True
        first = self._cites.setdefault(kind, cited)
        if cited == first:
            return self._owned(item, block)
        reason = f"its citations are {'on' if first else 'off'}, as those of the first {kind}"
        self._sheet.note(item, "fields_left_out", f"{reason}: all have them or none")
        return self._owned(item, {**block, "citations": {"enabled": first}})

    def _owned(self, item: Item, block: Json) -> Json:
        if block["type"] in ("image", "document"):
            self.owners[id(block)] = block, item
        return block

    def _block(self, item: Item, part: Part) -> Json | None:
        if isinstance(part, str):
            return text_block(wording.mended(part))
        part = inlined(part)
        if isinstance(part, Image):
            written = self._image(part)
        elif isinstance(part, File):
            text = file_text(part)
            if text is not None and is_blank(text):
                return None
            written = self._document(part) if text is None else self._text_file(part, text)
        else:
            written = None
        return written or self._in_words(item, part)

    def _in_words(self, item: Item, part: Image | Audio | File) -> Json:
        is_lost = self._abilities.fetches or part.data is not None
        why = "cannot be carried" if is_lost else "is not at hand, and nothing is fetched here"
        text, reason = in_words(part, why)
        self._sheet.note(item, "media_as_text", reason)
        return {"type": "text", "text": f"[{type(part).__name__.lower()}]" if is_blank(text) else text}

    def _image(self, part: Image) -> Json | None:
        if not (self._abilities.sees and self._may_go(part)):
            return None
        known = file_id(part, NAME)
        if known is not None:
            return self._counted({"type": "image", "source": uploaded(known)}, part, b"")
        data = part.data
        seen = begun(data) if data else None
        kind = seen if seen in PICTURES else sound_type(part)
        if data is None:
            if not is_place(part) or kind not in (*PICTURES, None):
                return None
            return self._counted({"type": "image", "source": placed(part)}, part, b"")
        most = self._abilities.images.bytes
        if kind not in PICTURES or (most and len(data) * 4 // 3 > most) or self._is_above(part, data):
            return None
        source = {"type": "base64", "media_type": kind, "data": base64_of(data)}
        self.weight += len(source["data"])
        return self._counted({"type": "image", "source": source}, part, data)

    def _may_go(self, part: Image | File) -> bool:
        """Whether a part is at hand, or the service would fetch it."""
        return part.data is not None or self._abilities.fetches

    def _fits(self, data: bytes) -> bool:
        return len(data) * 4 // 3 < self._abilities.largest

    def _is_above(self, part: Image, data: bytes) -> bool:
        most = self._abilities.images.side
        return bool(most) and side(part, data) > (most or 0)

    def _counted(self, block: Json, part: Image, data: bytes) -> Json:
        self.images += 1
        if side(part, data) > (self._abilities.images.many_side or 10**9):
            self.large[id(block)] = block
        return block

    def _document(self, part: File) -> Json | None:
        if not (self._abilities.reads and self._may_go(part)):
            return None
        known = file_id(part, NAME)
        if known is not None:
            source = uploaded(known)
        elif part.data is not None and sound_type(part) == PDF and self._fits(part.data):
            source = {"type": "base64", "media_type": PDF, "data": base64_of(part.data)}
            self.weight += len(source["data"])
        elif part.data is None and is_place(part) and seems_pdf(part):
            source = placed(part)
        else:
            return None
        return _titled({"type": "document", "source": source}, part)

    def _text_file(self, part: File, text: str) -> Json:
        if not self._abilities.reads:
            return {"type": "text", "text": as_text(part)}
        self.weight += len(text)
        return _titled(
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}}, part
        )


def text_block(text: str) -> Json | None:
    """A text as a block, unless there is nothing to see in it."""
    return None if is_blank(text) else {"type": "text", "text": text}


def is_blank(text: str) -> bool:
    """Whether a text is empty or of whitespace only."""
    return not text or text.isspace()


def _titled(block: Json, part: File) -> Json:
    name = wording.mended(part.name or "")
    return block if is_blank(name) else {**block, "title": name}
