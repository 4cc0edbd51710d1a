"""One of several types."""

from typing import Any, NamedTuple

from quire.agent.tools.shapes.definitions import Definitions
from quire.agent.tools.shapes.shape import Json, Misfit, Shape, wanted


class Union(NamedTuple):
    """One of several types: the first that fits exactly, or else the first that can be made to fit."""

    members: tuple[Shape, ...]

    @property
    def words(self) -> str:
        """Any of them."""
        return " or ".join(dict.fromkeys(member.words for member in self.members))

    def schema(self, definitions: Definitions) -> Json:
        """Any of their schemas."""
        written = [member.schema(definitions) for member in self.members]
        different = [one for index, one in enumerate(written) if one not in written[:index]]
        return different[0] if len(different) == 1 else {"anyOf": different}

    def read(self, value: Any, lenient: bool) -> Any:
        """What the first member makes of it that can."""
        faults: list[Misfit] = []
        for how in (False, True)[: 1 + lenient]:
            faults.clear()
            for member in self.members:
                try:
                    return member.read(value, how)
                except Misfit as fault:
                    faults.append(fault)
        # Where one of them went further than to look at the type, what it found there is the fault to tell.
        inner = [fault for fault in faults if fault.where or not fault.why.startswith("expected ")]
        raise inner[0] if len(inner) == 1 else wanted(self.words, value)


def union_of(members: list[Shape]) -> Shape:
    """One of several, or the only one."""
    return members[0] if len(members) == 1 else Union(tuple(members))
