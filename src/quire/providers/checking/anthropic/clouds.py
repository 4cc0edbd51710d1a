"""What Claude does not take by way of a cloud: media that are elsewhere, marks for a whole request, much."""

import re

from quire.providers.checking.anthropic.history import Block, Message, within
from quire.providers.checking.anthropic.media import LONGEST_IMAGE
from quire.providers.checking.anthropic.models import Model
from quire.providers.checking.faults import Findings
from quire.providers.checking.reading import Fields, as_list, as_object, short

LONGEST_ON_CLOUDS = LONGEST_IMAGE // 2
_ELSEWHERE = ("url", "file")
_NOT_STRICT = re.compile(r"claude-(opus-4-[78]|sonnet-5)(?!\d)")
"""Models that refuse the word `strict` of a tool on Bedrock, whatever it says; others there take it."""


def check_clouds(body: Fields, messages: list[Message], model: Model) -> None:
    """Note what only Anthropic's own API takes, where the name of the model says that it goes to a cloud."""
    if model.cloud is None:
        return
    if body.get("cache_control") is not None:
        body.add("cache_control", "cloud_caching", "a mark for the whole request")
    if model.cloud == "bedrock" and _NOT_STRICT.search(model.name):
        for index, tool in enumerate(as_list(body.get("tools")) or ()):
            if "strict" in (as_object(tool) or {}):
                body.findings.add(f"tools[{index}].strict", "cloud_strict", "the model refuses it there")
    for message in messages:
        for block in message.blocks:
            _check_block(body.findings, block)


def _check_block(findings: Findings, block: Block) -> None:
    for at, value in within(block):
        source = as_object(value.get("source")) or {}
        kind, data = source.get("type"), source.get("data")
        if value.get("type") == "container_upload":
            findings.add(at, "cloud_source", "a file that was uploaded")
        elif kind in _ELSEWHERE:
            findings.add(f"{at}.source", "cloud_source", f"a source of type {short(kind)}")
        elif value.get("type") == "image" and isinstance(data, str) and _is_long(data):
            text = f"{len(data)} characters of base64, more than {LONGEST_ON_CLOUDS}"
            findings.add(f"{at}.source.data", "media_size", text)


def _is_long(data: str) -> bool:
    """Whether an image is too long here; one that is too long anywhere is noted elsewhere."""
    return LONGEST_ON_CLOUDS < len(data) <= LONGEST_IMAGE
