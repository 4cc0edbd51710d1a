"""Keeping an index up with the documents of a scope, some of them at a time."""

from collections.abc import Mapping

from quire.memory.filing import Filing
from quire.memory.index import Gone
from quire.memory.knowledge import KNOWLEDGE, Knowledge
from quire.memory.marking import Mark, told_at
from quire.memory.moving import Moving
from quire.memory.portions import portions_of_documents
from quire.stores import Place, Store
from quire.stores.store import Standing

_UNLIKE = b""
"""What is marked of a document that is not as it should be: no content is known by it."""


class FollowingDocuments:
    """The documents of one scope, and what an index has of them."""

    def __init__(self, store: Store, scope: str, moving: Moving, knowledge: Knowledge) -> None:
        self._store, self._place, self._moving = store, Place(scope, KNOWLEDGE), moving
        self._filing = Filing(knowledge)
        self._filed: bytes | None = None

    def follow(self, standing: Standing, mark: Mark | None) -> bool:
        """Put what is new in the documents that changed, and what stands elsewhere in them than before."""
        if self._moving.said(KNOWLEDGE) != self._filed:
            self._filing.let_go()
        known: Mapping[str, bytes] = {} if mark is None else mark.documents
        documents, gone, leaves = self._filing.changed(known)
        now = Mark(
            standing.version, told_at(self._store, self._place, standing.version), standing.log, documents
        )
        first, *others = portions_of_documents(leaves) or [[]]
        while others:
            coming = {leaf.transcript for some in others for leaf in some}
            if not self._moving.move(KNOWLEDGE, _on_the_way(now, known, coming), gone, first):
                return False
            gone, (first, *others) = [], others
        if not self._moving.move(KNOWLEDGE, now, gone, first):
            return False
        self._filing.was_put()
        self._filed = self._moving.said(KNOWLEDGE)
        return True

    def are_overtaken(self, mark: Mark, *, is_last_look: bool) -> bool:
        """Whether documents that were put changed; what came beside them is for the next who asks.

        The next look puts them anew. But nobody waits for who goes on changing them: in the end those that
        changed go, and nothing is put that could be overtaken again.
        """
        if self._store.version(self._place) == mark.version:
            return False
        changed = self._filing.unlike(mark.documents)
        if not changed or not is_last_look:
            return bool(changed)
        left = {name: told for name, told in mark.documents.items() if name not in changed}
        gone = [Gone(source=KNOWLEDGE, transcript=name) for name in sorted(changed)]
        return not self._moving.move(KNOWLEDGE, Mark(mark.version, mark.last, mark.log, left), gone, ())


def _on_the_way(now: Mark, known: Mapping[str, bytes], coming: set[str]) -> Mark:
    """The mark of an index that has all but some documents, of which it had perhaps others with their names.

    No log is of that version: so nobody takes it for read.
    """
    there = {name: said for name, said in now.documents.items() if name not in coming}
    return Mark(0, b"", now.log, {**there, **dict.fromkeys(coming & known.keys(), _UNLIKE)})
