"""What of a request is instructions: a reader that takes for a tag whatever may look like one to a model.

It is written apart from the writers. It reads the roles and the parts that the wires name, folds look-alikes
and unseen characters, and returns what stands outside of all frames.
"""

import re
from collections.abc import Iterator
from typing import Any
from unicodedata import category, normalize

Json = Any

FRAMES = {
    *("summary", "note", "notes", "ledger", "recalled", "file", "image", "audio", "media", "message"),
    *("lateresult", "conversation", "usersaid", "values", "printed", "calls", "work"),
    *("user", "assistant", "call", "result", "earliersummary", "tools", "knowledge", "fault"),
}
INSTRUCTIONS = "lateinstructions"

_FOLDED = str.maketrans("\u2039\u276e\u02c2\u1438\u16b2\u203a\u276f\u02c3\u2215\u2044", "<<<<<>>>//")
_TAG = re.compile(r"<[^\w<>/]*(/?)[^\w<>]*([a-z][\w\s-]*?)((?:\s+\w+=\"[^\"<>]*\")*)\s*(/?)[^\w<>]*>")


def folded(text: str) -> str:
    """A text as a careless reader sees it."""
    plain = normalize("NFKC", text).translate(_FOLDED)
    return "".join(one for one in plain if category(one) != "Cf").casefold()


def outside(text: str) -> str:
    """What of a text is in no frame, and what passes for instructions of the system."""
    text, found, frames, at = folded(text), list[str](), list[str](), 0
    for tag in _TAG.finditer(text):
        name = re.sub(r"[\W_]", "", tag[2])
        if name not in FRAMES and name != INSTRUCTIONS:
            continue
        found += [] if frames else [text[at : tag.start()]]
        at = tag.end()
        if name == INSTRUCTIONS:
            frames.clear()
        elif tag[1]:
            while name in frames and frames.pop() != name:
                pass
        elif not tag[4]:
            frames.append(name)
    return "".join([*found, *([] if frames else [text[at:]])])


def instructions_in(payload: Json, wire: str) -> str:
    """All that a payload says in the role of the system or the user outside of frames."""
    return "\n".join(outside("\n".join(texts)) for texts in _messages(payload, wire))


def _messages(payload: Json, wire: str) -> Iterator[list[str]]:
    """The texts of each message of the system or the user."""
    if wire == "gemini":
        yield [
            part["text"] for part in payload.get("config", {}).get("system_instruction", {}).get("parts", ())
        ]
        for content in payload["contents"]:
            if content["role"] == "user":
                yield [part["text"] for part in content["parts"] if "text" in part]
        return
    yield [block["text"] for block in payload.get("system", ())]
    for message in payload["input" if wire == "openai-responses" else "messages"]:
        if message.get("role") in ("system", "developer", "user"):
            content = message["content"]
            blocks = [{"text": content}] if isinstance(content, str) else content
            yield [block["text"] for block in blocks if "text" in block]
