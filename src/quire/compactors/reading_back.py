"""Bringing back a piece of what was moved to the pool."""

from bisect import bisect_left
from collections.abc import Callable

from quire.errors import InvalidLimit, WrongType, cut
from quire.items import ToolResult
from quire.state import Pool
from quire.tokens import Counter, Definition, note_text, whole

READ_BACK: Definition = {
    "name": "read_back",
    "description": (
        "Read a long output that was moved out of the conversation. What took its place names its handle. "
        "Of an output that is too long a piece is given, with the place where to go on."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "handle": {"type": "string", "description": "The handle, such as output-0123456789."},
            "start": {
                "type": "integer",
                "minimum": 0,
                "description": "The character from which to read; 0, the beginning, if left out.",
            },
        },
        "required": ["handle"],
    },
}
"""The tool that a model needs to bring back what `Offload` moved; `read_back` does it."""

_FIRST_PIECE = 512  # characters that are tried first


def read_back(pool: Pool, handle: str, counter: Counter, tokens: int, start: int = 0) -> str:
    """A piece of a note, as long as a tool's result of so many tokens may be, and where to go on.

    What a model may get wrong, the handle and the start, is answered in words.
    """
    if not isinstance(pool, Pool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"what was moved is in a Pool, not in {type(pool).__name__}")
    whole(tokens, "tokens", least=1)
    if not isinstance(handle, str) or handle not in pool:  # pyright: ignore[reportUnnecessaryIsInstance]
        named = repr(cut(handle) if isinstance(handle, str) else handle)  # pyright: ignore
        return f"Nothing is kept under the handle {cut(named)}, or no longer."
    if not _is_place(start):
        return f"start is the number of a character, 0 or more, and not {cut(repr(start))}."
    text = note_text(pool.get(handle).content)
    if start >= len(text):
        return f"There are {len(text)} characters: none from {start} on."
    return _piece(text, start, lambda piece: counter.count(ToolResult("c", "read_back", piece)) <= tokens)


def _is_place(start: object) -> bool:
    return isinstance(start, int) and not isinstance(start, bool) and start >= 0


def _piece(text: str, start: int, fits: Callable[[str], bool]) -> str:
    def beginning(length: int) -> str:
        stop = start + length
        if stop == len(text):
            return text[start:]
        return f"{text[start:stop]}\n[characters {start} to {stop} of {len(text)}; go on with start={stop}]"

    rest = len(text) - start
    reach = min(_FIRST_PIECE, rest)
    while reach < rest and fits(beginning(reach)):
        reach = min(2 * reach, rest)
    if fits(beginning(reach)):
        return beginning(reach)
    # Tokens nearly always grow with the text; the length found did fit, whether or not a longer one would.
    length = bisect_left(range(reach), True, key=lambda length: not fits(beginning(length))) - 1
    if length < 1:
        raise InvalidLimit("there are too few tokens to read anything")
    return beginning(length)
