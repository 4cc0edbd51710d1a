"""A document by its sections: what stands under one heading, up to the next of any level."""

from collections.abc import Iterable, Iterator

import msgspec

from quire.memory.documents.document import Block


class Section(msgspec.Struct):
    """The headings it begins with, the texts of all headings it stands under, and what it says.

    It begins with more than one where a heading is followed at once by one that is below it.
    """

    path: tuple[str, ...] = ()
    headings: list[Block] = msgspec.field(default_factory=list[Block])
    body: list[Block] = msgspec.field(default_factory=list[Block])


def sections(blocks: Iterable[Block]) -> Iterator[Section]:
    """The sections of a document, in order; each block is in one of them."""
    in_force: list[Block] = []
    section = Section()
    for block in blocks:
        if block.kind != "heading":
            section.body.append(block)
            continue
        while in_force and in_force[-1].level >= block.level:
            in_force.pop()
        goes_deeper = not section.headings or section.headings[-1].level < block.level
        if section.body or not goes_deeper:
            yield section
            section = Section()
        in_force.append(block)
        section.headings.append(block)
        section.path = tuple([heading.text for heading in in_force])
    if section.body or section.headings:
        yield section
