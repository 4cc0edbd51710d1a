"""Pictures that Anthropic refuses for what their bytes say."""

import struct
from base64 import b64encode
from typing import Any

from tests.providers.checking.anthropic_bad import ASK, OPUS, Json, assistant, call, image, result, user


def png(side: int) -> Json:
    """The head of a picture that is so wide."""
    head = struct.pack(">IIBBBBB", side, 10, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", len(head)) + b"IHDR" + head + b"\0" * 8
    return image(data=b64encode(data).decode())


PICTURES: dict[str, tuple[Any, str | None, list[tuple[str, str]]]] = {
    "a picture too wide": ([user(png(8001))], None, [("messages[0].content[0]", "image_side")]),
    "a picture too wide in what a tool gave": (
        [ASK, assistant(call("a")), user(result("a", [png(9000)]))],
        OPUS,
        [("messages[2].content[0].content[0]", "image_side")],
    ),
    "a large picture among many": (
        [user(png(3000), *[png(100)] * 20)],
        OPUS,
        [("messages[0].content[0]", "image_side")],
    ),
    "a picture that is of another type": (
        [user(image("image/jpeg", png(10)["source"]["data"]))],
        None,
        [("messages[0].content[0].source.media_type", "media_type")],
    ),
}
TAKEN: dict[str, tuple[Any, str | None]] = {
    "a picture as wide as may be": ([user(png(8000))], OPUS),
    "few large pictures": ([user(*[png(3000)] * 20)], OPUS),
    "many small pictures": ([user(*[png(2000)] * 21)], OPUS),
    "the assistant first, on the API itself": ([assistant("How can I help?"), ASK], OPUS),
}
