"""Plain text: paragraphs between empty lines."""

import re

from quire.memory.documents.document import Draft

_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n)+")


def read_plain(text: str) -> Draft:
    """The paragraphs of a text."""
    draft = Draft()
    for paragraph in _EMPTY_LINES.split(text):
        draft.add("paragraph", paragraph)
    return draft
