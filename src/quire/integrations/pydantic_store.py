"""A durable `ConversationStore` for Pydantic AI: each message is stored once, in any store of Quire."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import NamedTuple, ParamSpec, TypeVar

from msgspec.structs import replace

from quire.errors import Conflict, MissingExtra, UnknownId, cut
from quire.items import JSON, NOTHING, Note, new_id
from quire.session import open_store
from quire.stores import Entry, Place, Store, Stored, items_in, named_scope
from quire.stores.threads import STORE

try:
    from pydantic import TypeAdapter
    from pydantic_ai.conversation_store import (
        ConversationConflict,
        ConversationEntry,
        ConversationRecord,
        ConversationStore,
    )
    from pydantic_ai.messages import ModelMessagesTypeAdapter
except ImportError as missing:
    raise MissingExtra("pydantic-ai", "pydantic-ai") from missing

P = ParamSpec("P")
T = TypeVar("T")
MESSAGES, RECORD = "messages", "record"
"""The streams of a conversation. Every append ends with a record."""

_MAX_CACHED = 10_000

_records = TypeAdapter(ConversationRecord)


class QuireConversationStore(ConversationStore):
    """Keeps conversations in a store of Quire: a SQLite file, PostgreSQL, or memory.

    A save is one append, all or nothing. It fails with `ConversationConflict` if another process or task
    saved first. A fork shares the entries of its past. `delete` erases the messages of a conversation; those
    that forks share are erased when the last fork is deleted.

    `scope` is the scope of the store in which the conversations are. It has nothing to do with the `scope` of
    a record: no two conversations here have the same id, even if their records have different scopes.
    """

    def __init__(self, store: str | Path | Store = "quire.db", *, scope: str = "pydantic-ai") -> None:
        self._conversations = _Conversations(open_store(store), named_scope(scope))

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """The record of a conversation, or `None` if there is none."""
        return (await self._do(self._conversations.state, conversation_id)).record

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        """The records, or those of a scope; the most recently saved comes first."""
        return await self._do(self._conversations.records, scope, limit)

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Save a record and its new entries, all or none, if the last record has the expected revision."""
        await self._do(self._conversations.write, record, new_entries, expected_revision)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Delete a conversation, and erase its messages unless a fork shares them."""
        await self._do(self._conversations.delete, conversation_id, expected_revision)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """One entry. If this process has not read it before, all conversations are searched for it."""
        return (await self._do(self._conversations.history, entry_id, 1))[0]

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """The entries up to `head_id`, or the last `limit` of them; usually one read per conversation."""
        return [] if head_id is None else await self._do(self._conversations.history, head_id, limit)

    async def _do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        is_quick = self._conversations.store.is_quick
        return work(*args, **kwargs) if is_quick else await STORE.do(work, *args, **kwargs)


class _Position(NamedTuple):
    """The position of an entry in the store."""

    conversation: str
    version: int


class _State(NamedTuple):
    """The state of a conversation. Its last stored entry holds it.

    A fork shares entries of another conversation. For that, both hold the same token. The entries of a
    conversation are not erased as long as it holds tokens of forks.
    """

    version: int = 0
    record: ConversationRecord | None = None
    tips: Mapping[str, _Position] = NOTHING
    """The positions of the head and of the last entries of branches, by their ids."""

    uses: Mapping[str, str] = NOTHING
    """The token for each conversation whose entries this one shares."""

    users: tuple[str, ...] = ()
    """The tokens of conversations that share entries of this one."""

    is_erased: bool = True
    """Whether the conversation has no content: nothing was written, or everything is erased."""

    @property
    def revision(self) -> str | None:
        return None if self.record is None else self.record.revision

    @property
    def is_deleted(self) -> bool:
        """Whether the conversation has no record, and its entries are not shared: they may be erased."""
        return self.record is None and not self.users


class _Conversations:
    """The conversations of a scope of a store."""

    def __init__(self, store: Store, scope: str) -> None:
        self.store = store
        self._scope = scope
        self._cache: dict[str, _Position] = {}  # positions of entries, by their ids
        self._cache_lock = Lock()

    # Records

    def state(self, conversation: str) -> _State:
        """The state of a conversation. If a killed process left a deletion unfinished, it is finished now."""
        state = self._stored_state(conversation)
        if state.is_deleted and not state.is_erased:
            self._erase(conversation, state)
        return _State(state.version) if state.is_deleted else state

    def records(self, scope: str | None, limit: int | None) -> list[ConversationRecord]:
        """The records; the most recently saved comes first."""
        records = [self.state(conversation).record for conversation in self.store.conversations(self._scope)]
        wanted = [record for record in records if record is not None and scope in (None, record.scope)]
        return sorted(wanted, key=lambda record: record.updated_at, reverse=True)[:limit]

    def write(
        self, record: ConversationRecord, entries: Sequence[ConversationEntry], expected: str | None
    ) -> None:
        """Append entries and a record, if the last record has the expected revision."""
        conversation, tokens = record.conversation_id, dict[str, str]()
        tip_ids = [entry_id for entry_id in (record.head_id, *record.branches) if entry_id is not None]
        parents = [entry.parent_id for entry in entries if entry.parent_id is not None]
        while True:
            state = self.state(conversation)
            if state.revision != expected:
                raise ConversationConflict(conversation)
            numbered = enumerate(entries, state.version + 1)
            new = {entry.id: _Position(conversation, version) for version, entry in numbered}
            positions = {**state.tips, **new}
            try:
                positions.update((id, self._find(id)) for id in [*tip_ids, *parents] if id not in positions)
            except UnknownId:
                raise ConversationConflict(conversation) from None
            others = {end.conversation for end in positions.values()} - {conversation, *state.uses, *tokens}
            if others:  # first protect the shared entries from deletion, then find them again
                tokens.update((other, self._share(other, conversation)) for other in others)
                continue
            tips = {entry_id: positions[entry_id] for entry_id in tip_ids}
            new_state = state._replace(record=record, tips=tips, uses={**state.uses, **tokens})
            notes = [_note_of(entry, positions.get(entry.parent_id or "")) for entry in entries]
            if self._append(conversation, new_state, notes):
                self._remember(new)
                return

    def _stored_state(self, conversation: str) -> _State:
        """The state in the last stored entry."""
        place = self._place(conversation)
        version = self.store.version(place)
        content = _notes(place, self.store.read_at(place, [version]))[version].content if version else None
        if content is None:
            return _State(version)
        record = None if content["record"] is None else _records.validate_json(content["record"])
        tips = {entry_id: _Position(*fields) for entry_id, fields in content["tips"].items()}
        self._remember(tips)
        return _State(version, record, tips, content["uses"], tuple(content["users"]), is_erased=False)

    def _append(self, conversation: str, state: _State, notes: Sequence[Note] = ()) -> bool:
        """Append notes and a changed state; False if another process has written meanwhile."""
        record = None if state.record is None else _records.dump_json(state.record).decode()
        tips = {entry_id: list(position) for entry_id, position in state.tips.items()}
        last = Note({"record": record, "tips": tips, "uses": dict(state.uses), "users": list(state.users)})
        rows = [Entry(MESSAGES, JSON.encode_item(note)) for note in notes]
        rows.append(Entry(RECORD, JSON.encode_item(last)))
        try:
            self.store.append(self._place(conversation), rows, expected=state.version)
        except Conflict:
            return False
        return True

    # Sharing and deleting

    def _share(self, conversation: str, by: str) -> str:
        """Protect the entries of a conversation from deletion, and return the token for that."""
        token = new_id()
        while not (state := self.state(conversation)).is_deleted:
            if self._append(conversation, state._replace(users=(*state.users, token))):
                return token
        raise ConversationConflict(by)

    def delete(self, conversation: str, expected: str) -> None:
        """Delete a conversation, if its record has the expected revision."""
        while (state := self.state(conversation)).revision == expected:
            if self._append(conversation, state._replace(record=None, tips=NOTHING)):
                self.state(conversation)
                return
        raise ConversationConflict(conversation)

    def _erase(self, conversation: str, state: _State) -> None:
        """Erase the entries of a deleted conversation, and release those of others that it shared."""
        for other, token in state.uses.items():
            while token in (last := self._stored_state(other)).users:
                self._append(other, last._replace(users=tuple(user for user in last.users if user != token)))
            self.state(other)
        place = self._place(conversation)
        notes = _notes(place, self.store.read(place)).items()
        empty = {version: JSON.encode_item(replace(note, content=None)) for version, note in notes}
        # The place is not removed: another process may have begun a conversation there meanwhile.
        self.store.replace(place, {version: empty[version] for version in empty if version <= state.version})

    # Entries

    def history(self, head_id: str, limit: int | None) -> list[ConversationEntry]:
        """The entries up to one, the oldest first."""
        history, limit = list[Note](), sys.maxsize if limit is None else limit
        notes: dict[_Position, Note] = {}
        position: _Position | None = self._find(head_id)
        while position is not None and (missing_count := limit - len(history)) > 0:
            if position not in notes:
                # Usually there is at most one record between two entries of a history.
                notes = self._entries(position.conversation, after=position.version - 2 * missing_count)
                self._remember({note.id: place for place, note in notes.items()})
            if position not in notes:
                raise UnknownId(f"an entry of the history of {cut(head_id)!r} is no longer in the store")
            history.append(notes[position])
            above = notes[position].content["above"]
            position = None if above is None else _Position(*above)
        history.reverse()
        texts = [note.content["message"] for note in history]
        messages = ModelMessagesTypeAdapter.validate_json(f"[{','.join(texts)}]")
        return [
            ConversationEntry(id=note.id, parent_id=note.content["parent"], message=message)
            for note, message in zip(history, messages, strict=True)
        ]

    def _find(self, entry_id: str) -> _Position:
        """The position of an entry. If it is not at its cached position, all conversations are searched."""
        cached = self._cache.get(entry_id)
        if cached is not None:
            place = self._place(cached.conversation)
            note = _notes(place, self.store.read_at(place, [cached.version]))[cached.version]
            if note.id == entry_id and note.content is not None:
                return cached
        for conversation in self.store.conversations(self._scope):
            for position, note in self._entries(conversation).items():
                if note.id == entry_id:
                    return position
        raise UnknownId(f"no entry {cut(entry_id)!r} is in the store")

    def _entries(self, conversation: str, after: int = 0) -> dict[_Position, Note]:
        """The messages that a conversation has stored after a version, without erased ones."""
        place = self._place(conversation)
        stored = [entry for entry in self.store.read(place, after=max(after, 0)) if entry.stream == MESSAGES]
        notes = _notes(place, stored).items()
        return {_Position(conversation, version): note for version, note in notes if note.content is not None}

    def _remember(self, positions: Mapping[str, _Position]) -> None:
        """Cache the positions of entries, by their ids; the oldest are dropped."""
        with self._cache_lock:
            self._cache |= positions
            while len(self._cache) > _MAX_CACHED:
                del self._cache[next(iter(self._cache))]

    def _place(self, conversation: str) -> Place:
        return Place(self._scope, conversation)


def _note_of(entry: ConversationEntry, above: _Position | None) -> Note:
    message = ModelMessagesTypeAdapter.dump_json([entry.message]).decode()[1:-1]
    return Note({"message": message, "parent": entry.parent_id, "above": above and list(above)}, id=entry.id)


def _notes(place: Place, stored: Sequence[Stored]) -> dict[int, Note]:
    """The notes of entries by their versions."""
    items = zip(stored, items_in(place, stored), strict=True)
    return {entry.version: item for entry, item in items if isinstance(item, Note)}
