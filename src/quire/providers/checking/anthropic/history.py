"""The messages of a request as far as they can be read: blocks with their places, and turns of one role."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from quire.providers.checking.anthropic.foreign import check_block_fields, check_message_fields
from quire.providers.checking.faults import Findings
from quire.providers.checking.reading import Fields, as_list, as_object, each, opened, short, type_of

ROLES = ("user", "assistant", "system")


class Block(NamedTuple):
    """One block of content, at its place, in the message of that number."""

    place: str
    kind: str
    fields: Fields
    message: int


class Message(NamedTuple):
    """One message with the blocks that could be read; a text stands for one block."""

    place: str
    role: str
    blocks: list[Block]
    directive: bool = False

    @property
    def kinds(self) -> list[str]:
        """The types of its blocks."""
        return [block.kind for block in self.blocks]


class Turn(NamedTuple):
    """Messages of one role in a row: the API joins them."""

    role: str
    messages: list[Message]

    def blocks(self) -> Iterator[Block]:
        """All blocks of the turn."""
        for message in self.messages:
            yield from message.blocks


def read_messages(findings: Findings, value: Any) -> list[Message]:
    """The messages that can be read; what cannot be is a fault."""
    found: list[Message] = []
    for index, (place, item) in enumerate(each(findings, "messages", value)):
        fields = opened(findings, place, item)
        if fields is None:
            continue
        role = fields.get("role")
        if role not in ROLES:
            fields.add("role", "role", f"role {short(role)} is none of {', '.join(ROLES)}")
            role = ""
        else:
            check_message_fields(fields, str(role))
        directive = role == "system" and fields.get("output_config") is not None
        found.append(Message(place, str(role), _blocks(fields, index), directive))
    if as_list(value) == []:
        findings.add("messages", "no_messages", "there are no messages")
    return found


def _blocks(fields: Fields, index: int) -> list[Block]:
    content, place = fields.get("content"), fields.at("content")
    if isinstance(content, str):
        text = Fields(fields.findings, place, {"type": "text", "text": content})
        return [Block(place, "text", text, index)] if content else []
    if as_list(content) is None:
        fields.add("content", "shape", f"must be a string or a list of blocks, is {type_of(content)}")
        return []
    return list(read_blocks(fields.findings, place, content, index))


def read_blocks(findings: Findings, place: str, value: Any, index: int) -> Iterator[Block]:
    """The blocks of a list that can be read."""
    for at, item in each(findings, place, value):
        fields = opened(findings, at, item)
        kind = fields.text("type") if fields else None
        if fields and kind is not None:
            check_block_fields(fields, kind)
            yield Block(at, kind, fields, index)


def within(block: Block) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A block and what it holds, the parts of a result and those of a document, each with its place."""
    values = {key: block.fields.get(key) for key in ("type", "source", "content")}
    yield from _within(block.place, values)


def _within(place: str, value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    block = as_object(value)
    if block is None:
        return
    yield place, block
    source = as_object(block.get("source")) or {}
    for path, inner in ((f"{place}.content", block), (f"{place}.source.content", source)):
        for index, part in enumerate(as_list(inner.get("content")) or ()):
            yield from _within(f"{path}[{index}]", part)


def in_turns(messages: list[Message]) -> list[Turn]:
    """Messages of one role in a row, joined."""
    return [Turn(role, list(group)) for role, group in groupby(messages, key=lambda message: message.role)]
