"""Frames: how quoted text stands in a prompt, so that nothing in it can end its frame or begin another.

A frame is a tag with attributes, content, and the closing tag. No content has a `<` in it, nor a character
that looks like one: each is written as `&lt;`. So whatever begins with `<` in a frame was written by Quire.
The same content always gives the same frame, so that a prompt cache holds.
"""

import re
from unicodedata import normalize

_LOOK_ALIKES = "<\uff1c\ufe64\u2039\u276e\u02c2\u1438\u16b2\U0001d236"
"""`<`, its compatibility forms, and the characters that Unicode's list of confusables has for it."""

_UNSEEN = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f"
"""Marks that turn the direction of a text, and tag characters, which spell letters that nobody sees."""

_CHANGED = re.compile(f"[{_LOOK_ALIKES}{_UNSEEN}]")
_L = "lL\u02e1\u1d38\u2112\u2113\u216c\u217c\u24c1\u24db\uff2c\uff4c\U0001d400-\U0001d7ff"
_BEGUN = re.compile(rf"[{_LOOK_ALIKES}](?=[^\w{_LOOK_ALIKES}]{{0,16}}[{_L}])")
_BEGUN_PLAINLY = re.compile(r"<(?=[^\w<]{0,16}[lL])")
_NOT_LETTERS = re.compile(r"[\W_]+")

_ENDS = dict.fromkeys(map(ord, ">\uff1e\ufe65\u203a\u276f\u02c3\u1433"), "&gt;") | dict.fromkeys(
    map(ord, '"\uff02'), "&quot;"
)
"""What ends a tag or a value in one, and what looks like it."""

_LONGEST_NAME = 200

INSTRUCTIONS = "late-instructions"
"""The tag of instructions in a turn of the user, on a wire that has no other place for them: the only text
between tags that is more than a quotation."""

_INSTRUCTIONS_LETTERS = INSTRUCTIONS.replace("-", "")


def escape(text: str) -> str:
    """Return a text that can neither end a frame nor begin one."""
    if text.isascii():
        return text.replace("<", "&lt;")
    return _CHANGED.sub(lambda found: "&lt;" if found[0] in _LOOK_ALIKES else "", text)


def one_line(name: str) -> str:
    """Return a name, a key or an address on one line, so that it can stand in a tag or in a line."""
    plain = escape(" ".join(name.split())).translate(_ENDS)
    return plain if len(plain) <= _LONGEST_NAME else f"{plain[:_LONGEST_NAME]}…"


def opening(tag: str, **attributes: str | None) -> str:
    """Return the tag that opens a frame; attributes that are None or empty are left out."""
    return f"<{' '.join((tag, *_written(attributes)))}>"


def closing(tag: str) -> str:
    """Return the tag that ends a frame."""
    return f"</{tag}>"


def frame(tag: str, content: str, **attributes: str | None) -> str:
    """Return a text in a frame."""
    return f"{opening(tag, **attributes)}\n{escape(content)}\n{closing(tag)}"


def element(tag: str, content: str) -> str:
    """Return content that was made of frames, in a frame of its own."""
    return f"{opening(tag)}\n{content}\n{closing(tag)}"


def empty_frame(tag: str, **attributes: str | None) -> str:
    """Return a frame without content: all that it says is in its attributes."""
    return f"<{' '.join((tag, *_written(attributes)))}/>"


def _written(attributes: dict[str, str | None]) -> list[str]:
    return [f'{name}="{one_line(value)}"' for name, value in attributes.items() if value]


def instructions_in_turn(text: str) -> str:
    """Return instructions of the system as they stand in a turn of the user."""
    return f"<{INSTRUCTIONS}>\n{plain_text(text)}\n</{INSTRUCTIONS}>"


def plain_text(text: str) -> str:
    """Return what a user or a tool says as it is, unless some of it looks like instructions in a turn."""
    if text.isascii():
        return _BEGUN_PLAINLY.sub(_unlike_instructions, text) if "<" in text else text
    if not any(map(text.__contains__, _LOOK_ALIKES)):
        return text
    return _BEGUN.sub(_unlike_instructions, text)


def _unlike_instructions(found: re.Match[str]) -> str:
    letters = _NOT_LETTERS.sub("", normalize("NFKC", found.string[found.end() : found.end() + 80]))
    return "&lt;" if letters.casefold().startswith(_INSTRUCTIONS_LETTERS) else found[0]
