"""Frames: tags around quoted text in a prompt, which the text can neither close nor imitate.

A frame is a tag with attributes, content, and the closing tag. In content, `<` and every character that looks
like it are escaped as `&lt;`, so only Quire writes tags. The same content always gives the same frame, which
keeps prompt caches valid.
"""

import re
from unicodedata import normalize

_LOOK_ALIKES = "<\uff1c\ufe64\u2039\u276e\u02c2\u1438\u16b2\U0001d236"
"""`<`, its compatibility forms, and its look-alikes by Unicode's list of confusables."""

_INVISIBLE = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f"
"""Marks that change the direction of text, and tag characters, which are invisible letters."""

_ESCAPED = re.compile(f"[{_LOOK_ALIKES}{_INVISIBLE}]")
_LETTER_L = "lL\u02e1\u1d38\u2112\u2113\u216c\u217c\u24c1\u24db\uff2c\uff4c\U0001d400-\U0001d7ff"
_TAG_START = re.compile(rf"[{_LOOK_ALIKES}](?=[^\w{_LOOK_ALIKES}]{{0,16}}[{_LETTER_L}])")
"""Where a tag like `<late-instructions>` may begin, in any characters that look like it."""
_ASCII_TAG_START = re.compile(r"<(?=[^\w<]{0,16}[lL])")
_NOT_LETTERS = re.compile(r"[\W_]+")

_CLOSERS = dict.fromkeys(map(ord, ">\uff1e\ufe65\u203a\u276f\u02c3\u1433"), "&gt;") | dict.fromkeys(
    map(ord, '"\uff02'), "&quot;"
)
"""Characters that end a tag or an attribute, and their look-alikes."""

_LONGEST_NAME = 200

INSTRUCTIONS = "late-instructions"
"""The tag of system instructions sent in a user turn, where a provider has no other place for them. It is the
only tag whose content is not a quotation."""

_INSTRUCTIONS_LETTERS = INSTRUCTIONS.replace("-", "")


def escape(text: str) -> str:
    """Return a text that can neither end a frame nor begin one."""
    if text.isascii():
        return text.replace("<", "&lt;")
    return _ESCAPED.sub(lambda match: "&lt;" if match[0] in _LOOK_ALIKES else "", text)


def one_line(name: str) -> str:
    """Return a name, a key or an address escaped and on one line, fit for a tag."""
    plain = escape(" ".join(name.split())).translate(_CLOSERS)
    return plain if len(plain) <= _LONGEST_NAME else f"{plain[:_LONGEST_NAME]}…"


def opening(tag: str, **attributes: str | None) -> str:
    """Return the opening tag of a frame, without the attributes that are None or empty."""
    return f"<{' '.join((tag, *_attribute_texts(attributes)))}>"


def closing(tag: str) -> str:
    """Return the closing tag of a frame."""
    return f"</{tag}>"


def frame(tag: str, content: str, **attributes: str | None) -> str:
    """Return a text in a frame."""
    return f"{opening(tag, **attributes)}\n{escape(content)}\n{closing(tag)}"


def element(tag: str, content: str) -> str:
    """Return a frame around content that is made of frames already; it is not escaped again."""
    return f"{opening(tag)}\n{content}\n{closing(tag)}"


def empty_frame(tag: str, **attributes: str | None) -> str:
    """Return a frame that has attributes and no content."""
    return f"<{' '.join((tag, *_attribute_texts(attributes)))}/>"


def _attribute_texts(attributes: dict[str, str | None]) -> list[str]:
    return [f'{name}="{one_line(value)}"' for name, value in attributes.items() if value]


def instructions_in_turn(text: str) -> str:
    """Return system instructions in the frame in which a user turn carries them."""
    return f"<{INSTRUCTIONS}>\n{plain_text(text)}\n</{INSTRUCTIONS}>"


def plain_text(text: str) -> str:
    """Return text of a user or a tool; only what looks like the tag of instructions is escaped."""
    if text.isascii():
        return _ASCII_TAG_START.sub(_escape_instructions, text) if "<" in text else text
    if not any(map(text.__contains__, _LOOK_ALIKES)):
        return text
    return _TAG_START.sub(_escape_instructions, text)


def _escape_instructions(start: re.Match[str]) -> str:
    letters = _NOT_LETTERS.sub("", normalize("NFKC", start.string[start.end() : start.end() + 80]))
    return "&lt;" if letters.casefold().startswith(_INSTRUCTIONS_LETTERS) else start[0]
