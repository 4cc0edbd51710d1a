"""One call of a tool as a model asks for it: what it gives is taken in as it comes."""

from collections.abc import Iterator
from contextlib import aclosing

from quire.agent.tools.gathering import Gathering, NotTold
from quire.agent.tools.outputs import Piece, pieces_of
from quire.agent.tools.signature import Bound
from quire.agent.tools.strand import Strand
from quire.agent.tools.tool import Tool
from quire.agent.tools.values import Raised, turn_of, values_of


class Call:
    """One call of a tool, and what became of it so far."""

    def __init__(self, tool: Tool, bound: Bound, gathering: Gathering) -> None:
        self._tool = tool
        self._bound = bound
        self._gathering = gathering
        self.fault: BaseException | None = None
        self.has_begun = False

    async def run(self) -> None:
        """Wait for the tool's turn, call it, and take in all that it gives; what it raises is its `fault`."""
        async with turn_of(self._tool) as strand:
            self.has_begun = True
            try:
                await self._taken(strand)
            except Raised as raised:
                self.fault = raised.fault
            except (Exception, SystemExit) as fault:  # a tool may not end the program either
                self.fault = fault

    async def _taken(self, strand: Strand) -> None:
        async with aclosing(values_of(self._tool, self._bound, strand, _pieces)) as values:
            async for value, is_whole in values:
                pieces = value if is_whole else _told(value)
                await self._gathering.take(pieces, at_once=not is_whole)


def _pieces(value: object) -> tuple[Piece, ...]:
    return tuple(_told(value))


def _told(value: object) -> Iterator[Piece]:
    try:
        yield from pieces_of(value)
    except Exception as fault:  # a value says what it is by code of its own
        raise NotTold("It ran, but what it gave cannot be told") from fault
