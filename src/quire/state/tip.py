"""What a transcript knows beyond its log: a fork takes it over, and after an error it is put back."""

from typing import NamedTuple

from quire.state.groups import Reply
from quire.state.placing import Following
from quire.state.shape import Shape
from quire.state.waiting import Waiting


class Marks(NamedTuple):
    """What is known of the item that was recorded last."""

    latest: float
    aside: float | None
    following: Following | None
    head: int
    far: bool


class Tip(NamedTuple):
    """The end of a log, and all that decides what becomes of the next item."""

    end: int
    shape: Shape
    waiting: Waiting
    reply: Reply
    marks: Marks
