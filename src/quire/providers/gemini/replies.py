"""Gemini: the parts of what a model said, thought and called, each with its signature."""

from typing import NamedTuple

from quire.items import Item, Message, Opaque, Part, Reasoning, ToolCall
from quire.providers import wording
from quire.providers.binding import unusable
from quire.providers.dialogue import Output
from quire.providers.gemini.arguments import read_arguments
from quire.providers.gemini.parts import Media, in_reply
from quire.providers.gemini.signing import (
    NAME,
    PLACEHOLDER,
    Signatures,
    is_of_thought,
    part_in,
    signed_parts,
    unsealed,
    wants_calls_signed,
    wants_words_signed,
)
from quire.providers.media import as_text
from quire.providers.sheet import Json, Sheet


class Moved(NamedTuple):
    """Media that go to a content of the user, with the item they are from and words to stand before them."""

    item: Item
    heading: str
    media: list[Media]


class Replies:
    """Writes parts of the model, before the content that they go into is begun."""

    __slots__ = ("_sheet", "known")

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self.known: dict[str, str] = {}  # tool names met so far, as they are here

    @property
    def signs(self) -> bool:
        """Whether calls must be signed.

        They are too where nobody can tell who reads them: older models take what stands for a signature.
        """
        name = self._sheet.asked.name
        return name is None or wants_calls_signed(name)

    @property
    def signs_words(self) -> bool:
        """Whether what was said and drawn must be signed too.

        Only where a model is named: what was sent before anybody answered must not change once one did.
        """
        name = self._sheet.asked.model
        return name is not None and wants_words_signed(name)

    def parts(self, outputs: list[Output]) -> tuple[list[Json], list[Moved]]:
        """The parts of a reply, in order, and media that it cannot carry."""
        parts: list[Json] = []
        moved: list[Moved] = []
        called = False
        for output in outputs:
            if isinstance(output, ToolCall):
                parts.append(self._call(output, not called))
                called = True
            elif isinstance(output, Reasoning):
                parts += self._thought(output)
            else:
                said, media = self._said(output)
                parts += said
                if media:
                    moved.append(Moved(output, "[from the assistant]", media))
        if all("thought" in part for part in parts):
            self._without_thoughts(outputs, len(parts))
            return [], moved
        return parts, moved

    def _without_thoughts(self, outputs: list[Output], count: int) -> None:
        for output in outputs if count else ():
            if isinstance(output, Reasoning):
                self._sheet.note(output, "reasoning_left_out", "nothing that was said goes with it")

    def _said(self, item: Message) -> tuple[list[Json], list[Media]]:
        parts: list[Json] = []
        media: list[Media] = []
        lost = False
        for part, signature in self._signed_parts(item, item.parts):
            written = _spoken(part, signature)
            if written is None and not isinstance(part, str) and as_text(part) is None:
                media.append(part)
            lost = lost or (signature is not None and (written is None or not _may_sign(part)))
            if written:
                parts.append(_signed(written, signature if _may_sign(part) else None))
        if lost:
            self._sheet.note(item, "state_stale", "what it signed cannot be sent as it was")
        if self.signs_words:
            self._excuse(item, parts)
        if not parts and not media:
            self._sheet.note(item, "empty_left_out", "it has no content")
        return parts, media

    def _thought(self, item: Reasoning) -> list[Json]:
        part = part_in(item.state) if item.state else None
        if part is not None:
            return [part] if self._is_usable(item) else []
        pieces = self._signed_parts(item, (item.text,))
        if any(signature for _, signature in pieces):
            # On no words there may be a signature that is of no thought.
            marked: Json = {"thought": True} if item.text or is_of_thought(item.state) else {}
            texts = [(wording.mended(str(part)), sign) for part, sign in pieces if part or sign]
            return [_signed({"text": text, **marked}, sign) for text, sign in texts]
        self._sheet.unsent(item, "thoughts go back only in words that are signed")
        return []

    def _signed_parts(
        self, item: Message | Reasoning, parts: tuple[Part, ...]
    ) -> list[tuple[Part, str | None]]:
        """The parts that an item came in, with the signatures that may be sent; what is lost is noted."""
        if item.state is None or not self._signatures(item):
            return [(part, None) for part in parts]
        found, lost = signed_parts(item.state, parts)
        if lost:
            self._sheet.note(item, "state_stale", "it has a signature for another part than there is")
        return found

    def _call(self, item: ToolCall, first: bool) -> Json:
        signature = next(iter(self._signatures(item)), None)
        name = self.name(item.name)
        if name != item.name:
            self._sheet.note(item, "name_renamed", f"the tool's name is {name!r} here")
        arguments = read_arguments(item.arguments)
        if arguments is None:
            self._sheet.note(item, "arguments_mended", "the arguments are no JSON object")
            arguments = {"arguments": wording.mended(item.arguments)}
        call_id = self._sheet.call_id(item, item.call_id)
        part = _signed({"functionCall": {"id": call_id, "name": name, "args": arguments}}, signature)
        return self.excused(item, part) if first and self.signs and signature is None else part

    def _excuse(self, item: Message, parts: list[Json]) -> None:
        """Sign the first part of what was said, and each image in it, where the model did not."""
        wanted = [part for place, part in enumerate(parts) if place == 0 or "inlineData" in part]
        unsigned = [part for part in wanted if "thoughtSignature" not in part]
        for part in unsigned[1:]:
            _signed(part, PLACEHOLDER)
        if unsigned:
            self.excused(item, unsigned[0])

    def excused(self, item: Item, part: Json) -> Json:
        """A part that has no signature of the model's, with what stands for one.

        Of calls, only those since the user last spoke are checked for it. It is written on all: taking it
        away once the turn is over would change what was sent before, and with it the prefix.
        """
        if self._sheet.asked.name:  # else no signature is known to be missing
            self._sheet.note(item, "state_foreign", "a placeholder stands for this model's signature")
        return _signed(part, PLACEHOLDER)

    def name(self, name: str) -> str:
        """The wire's name for a tool."""
        given = self.known.get(name)
        if given is None:
            given = self.known[name] = self._sheet.names.give(name)
        return given

    def _signatures(self, item: Output) -> Signatures:
        if item.state is None or not self._is_usable(item):
            return ()
        signatures = unsealed(item.state)
        if not signatures:
            self._sheet.note(item, "state_foreign", "it holds no signature")
        return signatures

    def _is_usable(self, item: Output) -> bool:
        """Whether the state of an item may be sent; why not is noted."""
        state, sheet = item.state, self._sheet
        if state is None or not state.data:
            return False
        fault = unusable(state, NAME, sheet.asked, lambda: self._standing(state), sheet.doubt(state))
        if fault:
            sheet.note(item, *fault)
        return fault is None

    def _standing(self, state: Opaque) -> str:
        """The digest of what comes before an item, or before the content that it goes on with.

        An answer to all up to a content of the model was made after a turn that was made up, so that the user
        speaks last. That turn is not there any more, and so the answer goes with nothing that is.
        """
        messages, prefix = self._sheet.messages, self._sheet.prefix
        if not messages or messages[-1]["role"] != "model":
            return prefix.of(messages)
        before = prefix.branch().of(messages[:-1])
        return before if before == state.prefix else ""


def _spoken(part: Part, signature: str | None) -> Json | None:
    """A part as the model may have said it; a text without words only where it is signed."""
    text = as_text(part)
    if text is not None:
        return {"text": text} if text or signature else None
    return None if isinstance(part, str) else in_reply(part)


def _may_sign(part: Part) -> bool:
    """Whether a part is written as what it is: a file of text is not."""
    return isinstance(part, str) or as_text(part) is None


def _signed(part: Json, signature: str | None) -> Json:
    if signature:
        part["thoughtSignature"] = signature
    return part
