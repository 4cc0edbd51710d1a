"""Erasing scopes: everything that a store has of a person or a tenant, in its files too."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from quire.errors import InvalidValue, UnknownId, cut
from quire.memory import KNOWLEDGE, Knowledge, Memory, is_reserved
from quire.session.jobs import open_jobs
from quire.session.log import notice_removal
from quire.stores import Place, Store, named_scope

_PASSES = 3
"""How often an erasure goes through a scope, because others may begin conversations meanwhile."""


class ScopeContents(msgspec.Struct, frozen=True):
    """What a store has of a scope, as counts. Quire's own logs count in `entries`, not in `conversations`."""

    scope: str
    conversations: int
    entries: int
    documents: int
    jobs: int


def survey_scopes(store: Store, scope: str) -> list[ScopeContents]:
    """Survey a scope and those nested in it: `shop/ana` is nested in `shop`."""
    name, scopes = named_scope(scope), store.scopes()
    matching = [other for other in scopes if other == name or other.startswith(f"{name}/")]
    if not matching:
        similar = [other for other in scopes if other.endswith(f"/{name}")] or scopes
        hint = f"; there is {', '.join(repr(cut(other)) for other in similar[:10])}" if similar else ""
        raise UnknownId(f"there is no scope {cut(name)!r} in this store{hint}")
    return [_contents(store, match) for match in matching]


def _contents(store: Store, scope: str) -> ScopeContents:
    conversations = store.conversations(scope)
    documents = jobs = 0
    with suppress(InvalidValue):  # encrypted with another key: it can be erased, but not counted
        jobs = len(open_jobs(store, scope))
        documents = len(Knowledge(store, scope).sources()) if KNOWLEDGE in conversations else 0
    return ScopeContents(
        scope,
        sum(not is_reserved(name) for name in conversations),
        sum(standing.version for standing in conversations.values()),
        documents,
        jobs,
    )


def erase_scopes(store: Store, scopes: Sequence[str]) -> Iterator[Place]:
    """Erase scopes: conversations, forks, documents, indexes, receipts and jobs; yields each place.

    Conversations that others begin meanwhile are erased too. The files of the store are scrubbed at the end.
    The operator has to remove keys of a service, logs and backups.
    """
    try:
        for scope in scopes:
            for _ in range(_PASSES):
                for name in sorted(store.conversations(scope), reverse=True):  # a fork before its parent
                    place = Place(scope, name)
                    store.remove(place)
                    notice_removal(store, place)
                    yield place
            with suppress(InvalidValue):  # encrypted with another key
                Memory.remove_forgotten(store, scope)
    finally:
        store.scrub()
