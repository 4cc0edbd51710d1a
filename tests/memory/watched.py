"""An index of which it can be said what was done to it."""

from collections.abc import Sequence

from quire.memory import Leaf
from quire.memory.index import InProcess


class Watched(InProcess):
    """An index that notes what is done to it."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []

    def put(self, leaves: Sequence[Leaf], *, vectors: Sequence[Sequence[float]] | None = None) -> None:
        self.done += [f"put {leaf.order}" for leaf in leaves]
        super().put(leaves, vectors=vectors)

    def drop(self, source: str, transcript: str | None = None) -> None:
        self.done.append("drop")
        super().drop(source, transcript)
