"""Ids that say what they are for: the same content has the same one from turn to turn and run to run."""

from hashlib import blake2b

from quire.items import Content, parts_of


class Names:
    """The ids of what one section gives in one turn; what comes again is numbered."""

    __slots__ = ("_given", "_section")

    def __init__(self, section_name: str) -> None:
        self._section = section_name
        self._given: dict[str, int] = {}

    def of(self, *what: str | Content) -> str:
        """The id of what is told by a few texts and contents."""
        digest = blake2b(digest_size=12)
        for content in what:
            parts = parts_of(content)
            digest.update(b"%d:" % len(parts))
            for part in parts:
                # A text may hold half of a surrogate pair, and the bytes of media are part of what is shown.
                told = part if isinstance(part, str) else repr(part)
                encoded = told.encode("utf-8", "surrogatepass")
                digest.update(b"%d:" % len(encoded))
                digest.update(encoded)
        own_id = f"{self._section}/{digest.hexdigest()}"
        number = self._given[own_id] = self._given.get(own_id, 0) + 1
        return own_id if number == 1 else f"{own_id}#{number}"
