"""What the record takes of what came of calls: one thing that it does not take holds up nothing beside it."""

from collections.abc import Callable, Sequence

from quire.errors import CodecError, Conflict, EditRefused, InvalidValue, QuireError, UnknownId, WrongType
from quire.items import JSON, Item, ToolResult
from quire.session.ledger import Ledger
from quire.session.offering import Instead, Unkept
from quire.session.steps import by_result
from quire.session.workspace import Workspace, Written
from quire.stores.streams import MAIN

Came = Callable[[Workspace], Sequence[Item]]
"""What came of calls, as it may be written to a state."""

Write = Callable[[Workspace, Sequence[Item]], list[Written]]
"""How it is written there."""

_UNFIT = (InvalidValue, CodecError, WrongType, UnknownId, EditRefused)
"""What is wrong with items, and neither with a store nor with what others do."""


def commit_fitting(ledger: Ledger, came: Came, write: Write, instead: Instead) -> list[Written]:
    """Write what came of calls. In place of a result that the record does not take stands another.

    What came with such a result is not written either. Items are tried only where they do not fit together.
    """
    try:
        return ledger.commit(lambda workspace: write(workspace, came(workspace)))
    except QuireError as fault:
        if not _is_unfit(fault):
            raise
        return ledger.commit(
            lambda workspace: write(workspace, _fitting(came(workspace), workspace, instead))
        )


def check_fit(items: Sequence[Item], workspace: Workspace) -> None:
    """An error where the main transcript would not take items."""
    workspace.check([Written(MAIN, item) for item in items])


def _is_unfit(fault: QuireError) -> bool:
    """Whether an error is about what is written; where others wrote too, a conflict came of it."""
    return isinstance(fault.__cause__ if isinstance(fault, Conflict) else fault, _UNFIT)


def _fitting(items: Sequence[Item], workspace: Workspace, instead: Instead) -> list[Item]:
    fit: list[Item] = []
    for came in by_result(items):
        try:
            check_fit([*fit, *came], workspace)
            JSON.encode(came)
            fit += came
        except _UNFIT as fault:
            if not isinstance(came[0], ToolResult):
                raise
            fit.append(_in_place_of(came[0], fault, instead))
    return fit


def _in_place_of(result: ToolResult, fault: QuireError, instead: Instead) -> ToolResult:
    try:
        return instead(result, Unkept(str(fault)))
    except Unkept:  # nothing is to stand there: then it is said what is wrong
        raise fault from None
