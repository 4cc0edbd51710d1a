"""Calls that were made for one answer: a later program that makes one again is given what it gave.

A run that fails leaves behind what its calls did. So a call is made once in an answer, however many programs
are run for it, unless its tool is declared idempotent or has said itself that it did nothing.
"""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quire.agent import Tool
from quire.items import Item, ToolCall, ToolResult
from quire.programs.faults import ProgramFault
from quire.programs.sandbox import Bounds
from quire.programs.values import size_of

REPLAYED = "quire.replayed"
"""The key of `extras` that marks a result as that of an earlier call, by the `call_id` of that."""


class Made(NamedTuple):
    """A call that was made in an attempt, what is recorded of it, and the value or the error that it gave.

    Calls of one `key` are the same call. One that `lasts` is not made again: whoever makes it is given this.
    What was done `within` it is on the record of whoever is.
    """

    attempt: str
    call: ToolCall
    result: ToolResult
    key: str
    value: Any = None
    fault: Exception | None = None
    lasts: bool = False
    within: tuple[Item, ...] = ()

    def given(self) -> Any:
        """What a program is given of it; where it failed, that is raised."""
        if self.fault is not None:
            raise self.fault
        return self.value

    @property
    def size(self) -> int:
        """What it handed over, both ways."""
        return len(self.call.arguments) + size_of(self.value)

    def result_for(self, call: ToolCall) -> ToolResult:
        """The same result for another call, marked as this one's."""
        of, extras = self.result, {**self.result.extras, REPLAYED: self.call.call_id}
        return ToolResult(call.call_id, call.name, of.content, is_error=of.is_error, extras=extras)


class MadeCalls:
    """All calls that were made for one answer, in order, by whichever program.

    `handed` is how much they, replays and questions to models have handed over both ways, in characters.
    Beyond `most` no further program is run.
    """

    def __init__(self, most: int = Bounds().handed) -> None:
        self._made: list[Made] = []
        self._most = most
        self.handed = 0

    def __len__(self) -> int:
        return len(self._made)

    def since(self, count: int) -> Sequence[Made]:
        """Those that were made after so many."""
        return self._made[count:]

    def counted(self, attempt: str) -> Mapping[str, int]:
        """How often each tool was called in an attempt, by name."""
        return Counter(made.call.name for made in self._made if made.attempt == attempt)

    def add(self, tool: Tool, made: Made, *, may_be_repeated: bool) -> None:
        """Add a call; one that may not be repeated is replayed from now on."""
        self.handed += made.size
        if may_be_repeated or tool.is_idempotent:
            made = made._replace(value=None, key="", within=())  # nobody is given it again
        else:
            made = made._replace(lasts=True)
        self._made.append(made)

    def for_a_run(self) -> "Replays":
        """What one more run is given of them; a `ProgramFault` where there is to be no other."""
        if self.handed > self._most:
            text = f"the calls made for this answer have handed over more than {self._most} characters"
            raise ProgramFault("limit", text)
        left: dict[str, deque[Made]] = {}
        for made in self._made:
            if made.lasts:
                left.setdefault(made.key, deque()).append(made)
        return Replays(left)


class Replays:
    """Earlier calls as one run makes them again, each once: who calls more often than before calls anew."""

    def __init__(self, left: Mapping[str, deque[Made]]) -> None:
        self._left = left

    def next(self, key: str) -> Made | None:
        """The earlier call that is the same, if one is left."""
        left = self._left.get(key)
        return left.popleft() if left else None
