"""What A1 and the engine call the same thing: ids of messages, times, and the transcripts of a context.

An id of the engine is 28 hexadecimal digits that sort by time. A UUID has room for all of them, so the two
are the same number in two spellings, and neither has to be kept beside the other.
"""

import re
from collections.abc import Collection, Iterable
from datetime import datetime
from uuid import UUID

from quire.errors import InvalidValue, cut
from quire.items import new_id, now
from quire.stores.store import checked_name

_ENGINE_ID = re.compile(r"[0-9a-f]{28}")
_OURS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{9}[048c]00")
_VERSION_AND_VARIANT = 0x8 << 76 | 0b10 << 62
_LATER = re.compile(r"(.+)~([1-9]\d*)", re.DOTALL)


def new_message_id() -> str:
    """A UUID that no other message has and that sorts by time."""
    return message_id_of(new_id())


def message_id_of(item_id: str) -> str:
    """The id of a message, given that of its first item; an id that came from elsewhere stays as it is."""
    if not _ENGINE_ID.fullmatch(item_id):
        return item_id
    number = int(item_id, 16)
    high, middle, low = number >> 64, number >> 52 & 0xFFF, number & (1 << 52) - 1
    return str(UUID(int=high << 80 | middle << 64 | low << 10 | _VERSION_AND_VARIANT))


def item_id_of(message_id: str) -> str:
    """The id of the first item of a message."""
    if not _OURS.fullmatch(message_id):
        return message_id
    number = UUID(message_id).int
    high, middle, low = number >> 80, number >> 64 & 0xFFF, number >> 10 & (1 << 52) - 1
    return f"{high << 64 | middle << 52 | low:028x}"


def local_time(seconds: float) -> datetime:
    """A time as A1 has it: local, without a zone, so that it compares with `datetime.now()`."""
    return datetime.fromtimestamp(seconds)


def time_now() -> datetime:
    """The time of the engine's clock."""
    return local_time(now())


def checked_context_name(name: str) -> str:
    """The name of a context, if it can be one."""
    if _LATER.fullmatch(checked_name(name)):
        raise InvalidValue(f"the name of a context does not end in ~ and a number, as {cut(name)!r} does")
    return name


def transcript_of(name: str, transcripts: Collection[str], since: str | None = None) -> str:
    """The transcript of a context: the one of its name, or the last of those that it began anew with.

    It is looked for from the one that it was when somebody looked before.
    """
    found = name if since is None else since
    number = int(later[2]) if (later := _LATER.fullmatch(found)) else 1
    while (next_one := f"{name}~{number + 1}") in transcripts:
        number, found = number + 1, next_one
    return found


def next_transcript(name: str, shown: str) -> str:
    """The transcript that a context begins anew with, after the one that it shows."""
    later = _LATER.fullmatch(shown)
    return f"{name}~{int(later[2]) + 1 if later else 2}"


def contexts_among(transcripts: Iterable[str]) -> list[str]:
    """The names of the contexts that transcripts belong to, each once."""
    return list(dict.fromkeys(m[1] if (m := _LATER.fullmatch(name)) else name for name in transcripts))
