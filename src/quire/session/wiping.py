"""Wiping the index and the files of a store of what was forgotten: what comes last, and no turn waits for it.

By then nobody can read it through the store any more. That it is due is noted in each conversation, with one
mark for all that was forgotten together, so that whoever can do it first has done it for the others.
"""

import logging
from collections.abc import Collection, Sequence

from quire.errors import QuireError
from quire.items import Note
from quire.session.families import relatives
from quire.session.ledger import Ledger
from quire.session.workspace import Workspace, Written
from quire.stores import Store
from quire.stores.streams import WIPED

logger = logging.getLogger("quire.session")


def wipe(forgotten_in: Sequence[Ledger]) -> None:
    """Wipe what was forgotten in conversations, and say so there; `StoreFailed` where it is not done."""
    marks = set[str]().union(*(one.workspace.unwiped for one in forgotten_in))
    _wipe(forgotten_in[0], waits=True)
    for one in forgotten_in:
        _say_wiped(one, marks)


def try_to_wipe(ledger: Ledger) -> None:
    """Wipe what was forgotten in a conversation, if it is due and others do not keep the files in use."""
    marks = set(ledger.workspace.unwiped)  # what is forgotten from now on is another's to wipe
    if not marks:
        return
    try:
        _wipe(ledger, waits=False)
        for one in relatives([ledger]):
            _say_wiped(one, marks)
    except QuireError as fault:
        logger.warning("what was forgotten in %s is not wiped yet: %s", ledger.place, fault)


def let_go(store: Store, scope: str) -> None:
    """See to it that what was forgotten cannot be found any more either."""
    from quire.memory import Memory  # most conversations need none

    Memory.let_go(store, scope)


def _wipe(ledger: Ledger, *, waits: bool) -> None:
    """The index comes first: however long others keep the files in use, nobody finds it there."""
    let_go(ledger.store, ledger.place.scope)
    ledger.store.scrub(wait=waits)


def _say_wiped(ledger: Ledger, marks: Collection[str]) -> None:
    def change(workspace: Workspace) -> list[Written]:
        wiped = sorted(workspace.unwiped.intersection(marks))
        return [Written(WIPED, Note(content={"of": wiped}, description="wiped"))] if wiped else []

    ledger.commit(change)
