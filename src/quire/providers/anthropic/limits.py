"""Anthropic Messages: what a whole request may not exceed, though each of its messages is right."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from quire.providers.anthropic.blocks import Blocks
from quire.providers.anthropic.thinking import THOUGHTS
from quire.providers.anthropic.weighing import kept_weight, pictures_in, weight_of, whole_weight
from quire.providers.sheet import Json
from quire.tokens import ImageLimits

_STEPS = 5
_MEDIA = ("image", "document")


class Place(NamedTuple):
    """Where media stand: the message, the block in it, and the part of a tool's output."""

    message: int
    block: int
    inner: int | None


def images_to_drop(messages: list[Json], blocks: Blocks, limits: ImageLimits) -> list[Place]:
    """The images that a request cannot hold, the oldest first: of too many, and of many with a large one."""
    many, most = limits.many, limits.count
    if not ((most and blocks.images > most) or (many and blocks.images > many and blocks.large)):
        return []
    found = [(place, held) for place, block in _media(messages) if (held := pictures_in(block))]
    count = sum(len(held) for _, held in found)
    gone = _oldest(found, _stepped(count, most) if most else 0)
    left = count - sum(len(held) for _, held in found[:gone])
    large = [at for at, (_, held) in enumerate(found) if any(id(one) in blocks.large for one in held)]
    if many and left > many and large and large[-1] >= gone:
        # They go until no more than many are left, or until none of those that are left is large.
        until = sum(len(held) for _, held in found[: large[-1] + 1])
        gone = max(gone, _oldest(found, min(_stepped(count, many), until)))
    return [place for place, _ in found[:gone]]


def _oldest(found: list[tuple[Place, list[Any]]], images: int) -> int:
    """How many of the oldest hold so many images."""
    gone = 0
    while gone < len(found) and images > 0:
        images -= len(found[gone][1])
        gone += 1
    return gone


def heavy_to_drop(messages: list[Json], beside: list[list[Json]], largest: int) -> list[Place]:
    """The oldest media that have to go for a request to be within its bytes."""
    wanted = _stepped(whole_weight(messages, beside), largest)
    places: list[Place] = []
    for found, weight in _heavy(messages):
        if wanted <= 0:
            break
        wanted -= weight
        places += found
    return places


def without_media(messages: list[Json], places: list[Place]) -> list[Json]:
    """Copies of the messages, with words for the media at these places."""
    changed = messages.copy()
    for place in places:
        message = changed[place.message]
        content = message["content"].copy()
        if place.inner is None:
            content[place.block] = _in_words(content[place.block])
        else:
            inner = content[place.block]["content"].copy()
            inner[place.inner] = _in_words(inner[place.inner])
            content[place.block] = {**content[place.block], "content": inner}
        changed[place.message] = {**message, "content": content}
    return changed


def without_thinking(messages: list[Json], start: int) -> tuple[list[Json], int]:
    """Copies of the messages without thinking from a place on, and how many blocks that were."""
    changed, count = messages.copy(), 0
    for index in range(start, len(messages)):
        message = messages[index]
        if message["role"] == "assistant":
            content = [block for block in message["content"] if block["type"] not in THOUGHTS]
            count += len(message["content"]) - len(content)
            changed[index] = {**message, "content": content}
    return changed, count


def _stepped(count: int, most: int) -> int:
    """How much of the oldest goes: in steps, so that not every new image changes what came before."""
    step = max(most // _STEPS, 1)
    return min(count, -(-max(count - most, 0) // step) * step)


def at_place(messages: list[Json], place: Place) -> Json:
    """The block at a place."""
    block: Json = messages[place.message]["content"][place.block]
    return block if place.inner is None else block["content"][place.inner]


def _media(messages: list[Json]) -> Iterator[tuple[Place, Json]]:
    for index, message in enumerate(messages):
        for number, block in enumerate(message["content"]):
            if block["type"] in _MEDIA:
                yield Place(index, number, None), block
            elif block["type"] == "tool_result" and isinstance(block["content"], list):
                for inner, part in enumerate(block["content"]):
                    if part["type"] in _MEDIA:
                        yield Place(index, number, inner), part


def _heavy(messages: list[Json]) -> list[tuple[list[Place], int]]:
    """What has many bytes, the oldest first: media, and what tools of the provider gave with its question."""
    found = [([place], weight) for place, block in _media(messages) if (weight := weight_of(block))]
    for index, message in enumerate(messages):
        for number, block in enumerate(message["content"]):
            if weight := kept_weight(block):
                asked = _question(message["content"], number)
                found.append(([Place(index, at, None) for at in (asked, number) if at is not None], weight))
    return sorted(found, key=lambda entry: entry[0][-1][:2])


def _question(content: list[Json], answer: int) -> int | None:
    """The place of what a tool of the provider was asked, by the place of its answer."""
    call_id = content[answer].get("tool_use_id")
    return next((at for at in range(answer - 1, -1, -1) if content[at].get("id") == call_id), None)


def _in_words(block: Json) -> Json:
    if "source" not in block:
        return {"type": "text", "text": f"[{block.get('name') or block['type']}]"}
    kind, url, title = block["type"], block["source"].get("url"), block.get("title")
    name = "image" if kind == "image" else f"file {title}" if title else "file"
    return {"type": "text", "text": f"[{name} at {url}]" if url else f"[{name}]"}
