"""The streams of a conversation: transcripts by name, and the session's own, which begin with a dot.

All that a session keeps is items, also what is not said: a note that leaves the pool is a `Hide` of it.
"""

from collections.abc import Collection, Iterable, Iterator
from string import ascii_lowercase

from quire.errors import InvalidValue
from quire.stores.store import checked_stream

MAIN = "main"
CREW = "crew"
"""The transcript of those who work for an agent: no model sees it."""

POOL = ".pool"
ORIGIN = ".origin"
USAGE = ".usage"
RECEIPTS = ".receipts"
PLANS = ".plans"
FORGOTTEN = ".forgotten"
WIPED = ".wiped"
STEPS = ".steps"
MERGED = ".merged"
RECALLED = ".recalled"
NAMED = ".named"
"""The names that were given to transcripts, which have an item only later."""


def checked_name(name: object) -> str:
    """The name of a transcript, if it can be one."""
    stream = checked_stream(name)
    if is_own(stream):
        raise InvalidValue("the name of a transcript does not begin with a dot")
    return stream


def is_own(stream: str) -> bool:
    """Whether a stream is one of the session's own."""
    return stream.startswith(".")


def free_name(label: str, taken: Collection[str]) -> str:
    """The first name of a label that is not taken: `label_a` to `label_z`, then `label_aa`."""
    return next(name for name in _names(label) if name not in taken)


def labelled(names: Iterable[str], labels: str | Iterable[str] | None) -> list[str]:
    """The names that belong to a label, or to any of several: the label itself, or with an ending."""
    wanted = [labels] if isinstance(labels, str) else None if labels is None else list(labels)
    if wanted is None:
        return list(names)
    return [name for name in names if any(name == one or name.startswith(f"{one}_") for one in wanted)]


def _names(label: str) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"{label}_{_ending(number)}"


def _ending(number: int) -> str:
    """A number in letters: a is 1, z is 26, aa is 27."""
    ending = ""
    while number:
        number, letter = divmod(number - 1, 26)
        ending = ascii_lowercase[letter] + ending
    return ending
