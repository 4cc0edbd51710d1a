"""Anthropic Messages: turns made to fit into one request, each loss with a note."""

from collections.abc import Iterator

from quire.providers.anthropic import limits
from quire.providers.anthropic.abilities import Abilities
from quire.providers.anthropic.blocks import Blocks
from quire.providers.anthropic.weighing import HEAVY
from quire.providers.sheet import Json, Sheet


def fitted(
    turns: list[Json],
    changed: int,
    blocks: Blocks,
    abilities: Abilities,
    beside: list[list[Json]],
    sheet: Sheet,
) -> list[Json]:
    """The turns without what a request cannot hold, nor thinking that is bound to what had to go.

    `changed` is the first turn before which something is not as it was; `beside` is what else is sent.
    """
    for places, reason in _excess(turns, blocks, abilities, beside):
        if places:
            _note_gone(turns, places, reason, blocks, sheet)
            turns = limits.without_media(turns, places)
            changed = min(changed, *(place.message for place in places))
    if abilities.bound and changed < len(turns):
        turns, count = limits.without_thinking(turns, changed)
        if count:
            sheet.note(None, "state_stale", f"{count} blocks of thinking: what came before changed")
    return turns


def _note_gone(
    turns: list[Json], places: list[limits.Place], reason: str, blocks: Blocks, sheet: Sheet
) -> None:
    """Name each item that something was taken from."""
    owners = (blocks.owners.get(id(limits.at_place(turns, place))) for place in places)
    for item in {owner[1].id: owner[1] for owner in owners if owner}.values():
        sheet.note(item, "media_as_text", f"{reason} than one request takes")


def _excess(
    turns: list[Json], blocks: Blocks, abilities: Abilities, beside: list[list[Json]]
) -> Iterator[tuple[list[limits.Place], str]]:
    """Media that have to go, first by their number and size, then by the bytes of what is left."""
    places = limits.images_to_drop(turns, blocks, abilities.images)
    yield places, "there are more images, or larger ones,"
    if blocks.weight > HEAVY:
        left = limits.without_media(turns, places)
        yield limits.heavy_to_drop(left, beside, abilities.largest), "the media have more bytes"
