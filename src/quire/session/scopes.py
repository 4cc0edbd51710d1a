"""Erasing a scope: all that is kept of a person or a tenant, in the files of the store too, and the name."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from quire.errors import InvalidValue, UnknownId, cut
from quire.memory import KNOWLEDGE, Knowledge, Memory, is_reserved
from quire.session.jobs import open_jobs
from quire.stores import Place, Store, named_scope

_ROUNDS = 3
"""How often a scope is emptied: others may begin conversations meanwhile."""


class ScopeContents(msgspec.Struct, frozen=True):
    """What a store keeps of a scope: users' conversations, all entries, documents, and jobs that are open."""

    scope: str
    conversations: int
    entries: int
    documents: int
    jobs: int


def survey_scopes(store: Store, scope: str) -> list[ScopeContents]:
    """Return what there is of a scope and of those nested in it: `shop/ana` is nested in `shop`."""
    name, scopes = named_scope(scope), store.scopes()
    found = [one for one in scopes if one == name or one.startswith(f"{name}/")]
    if not found:
        alike = [one for one in scopes if one.endswith(f"/{name}")] or scopes
        more = f"; there is {', '.join(repr(cut(one)) for one in alike[:10])}" if alike else ""
        raise UnknownId(f"there is no scope {cut(name)!r} in this store{more}")
    return [_contents(store, one) for one in found]


def _contents(store: Store, scope: str) -> ScopeContents:
    names = store.conversations(scope)
    documents = jobs = 0
    with suppress(InvalidValue):  # sealed with a key that is lost: it can be erased all the same
        jobs = len(open_jobs(store, scope))
        documents = len(Knowledge(store, scope).sources()) if KNOWLEDGE in names else 0
    return ScopeContents(
        scope,
        sum(not is_reserved(name) for name in names),
        sum(standing.version for standing in names.values()),
        documents,
        jobs,
    )


def erase_scopes(store: Store, scopes: Sequence[str]) -> Iterator[Place]:
    """Erase scopes: conversations, forks, documents, indexes, receipts and jobs; yields each place.

    What others begin meanwhile is erased too. The files of the store are scrubbed at the end. Nothing outside
    of a scope names it; keys of a service, its logs and backups are the affair of the operator.
    """
    try:
        for scope in scopes:
            for _ in range(_ROUNDS):
                for name in sorted(store.conversations(scope), reverse=True):  # a fork before its parent
                    place = Place(scope, name)
                    store.remove(place)
                    yield place
            with suppress(InvalidValue):  # within a sealed store
                Memory.remove_forgotten(store, scope)
    finally:
        store.scrub()
