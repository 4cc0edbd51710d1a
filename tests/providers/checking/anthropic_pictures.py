"""Pictures that Anthropic refuses for what their bytes say."""

import struct
from base64 import b64encode
from typing import Any

from tests.providers.checking.anthropic_bad import ASK, OPUS, Json, assistant, call, image, result, text, user


def png(side: int) -> Json:
    """The head of a picture that is so wide."""
    head = struct.pack(">IIBBBBB", side, 10, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", len(head)) + b"IHDR" + head + b"\0" * 8
    return image(data=b64encode(data).decode())


PDF: Json = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
}
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
    "a picture for a model of words alone": (
        [user(text("See."), png(10))],
        "deepseek-v4-pro",
        [("messages[0].content[1]", "media_for_model")],
    ),
    "a picture and a document in what a tool gave to one": (
        [ASK, assistant(call("a")), user(result("a", [png(10), PDF]), PDF)],
        "zai-org/GLM-4.6",
        [
            ("messages[2].content[0].content[0]", "media_for_model"),
            ("messages[2].content[0].content[1]", "media_for_model"),
            ("messages[2].content[1]", "media_for_model"),
        ],
    ),
    "a document for a model of others that sees": (
        [user(png(10), PDF)],
        "kimi-k2.5",
        [("messages[0].content[1]", "media_for_model")],
    ),
    "a picture for the first Claudes": (
        [user(png(10), text("See."))],
        "claude-2.1",
        [("messages[0].content[0]", "media_for_model")],
    ),
    "a picture that is of another type": (
        [user(image("image/jpeg", png(10)["source"]["data"]))],
        None,
        [("messages[0].content[0].source.media_type", "media_type")],
    ),
}
TAKEN: dict[str, tuple[Any, str | None]] = {
    "a picture as wide as may be": ([user(png(8000))], OPUS),
    "a picture and a document for a name that is not known": ([user(png(10), PDF)], "my-proxy"),
    "few large pictures": ([user(*[png(3000)] * 20)], OPUS),
    "many small pictures": ([user(*[png(2000)] * 21)], OPUS),
    "the assistant first, on the API itself": ([assistant("How can I help?"), ASK], OPUS),
}
