"""Sessions of the Claude Agent SDK in Quire's stores.

The SDK writes each session as lines of JSON and hands them to a `SessionStore`. `QuireSessionStore` stores
them unchanged, so that a session can be resumed on another machine. Each session and each of its sub-agents
is one conversation.

    options = ClaudeAgentOptions(session_store=QuireSessionStore("postgresql://…"))
"""

# pyright: basic, reportMissingImports=false

from functools import lru_cache
from pathlib import Path
from typing import Any, Unpack

from quire.errors import Conflict, MissingExtra
from quire.items import Note
from quire.session import Session
from quire.session.session import Options
from quire.stores import Place, Store

try:
    from claude_agent_sdk import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
        fold_session_summary,
    )
except ImportError:
    raise MissingExtra("the Claude Agent SDK", "claude-agent") from None

_LINES = "claude"
"""The transcript that holds the lines of a session."""

_SUMMARY = "summary"
"""The description of the notes that hold the SDK's summary of a session."""

_MAX_OPEN = 100
"""How many sessions are kept open."""


class QuireSessionStore:
    """Stores sessions of the Claude Agent SDK. A line with a `uuid` that is already stored is ignored."""

    def __init__(
        self, store: str | Path | Store = "quire.db", *, scope: str = "claude", **options: Unpack[Options]
    ) -> None:
        """Each project has a scope of its own, `scope/project`; the options are those of `Session.open`."""
        self._store = Store.open(store)
        self._scope, self._options = scope, options
        self._log = lru_cache(_MAX_OPEN)(self._open)

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Store lines, all or none, with the new summary of the session."""
        log = self._log(self._place(key))
        while entries:
            await log.refresh()
            new = [entry for entry in entries if entry.get("uuid") not in log.uuids]
            notes = [Note(content=entry) for entry in new]
            if new and "subpath" not in key:
                folded = fold_session_summary(log.summary(key["session_id"]), key, new)
                notes.append(Note(content=folded["data"], description=_SUMMARY))
            try:
                if notes:
                    session = log.session
                    await session.aio.append(*notes, to=_LINES, expected=session.version)
                return
            except Conflict:  # another process has written: some of the lines may be stored now
                continue

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return the lines of a session or of a sub-agent in order; None if there are none."""
        log = self._log(self._place(key))
        await log.refresh()
        lines: list[Any] = [note.content for note in log.notes() if note.description != _SUMMARY]
        return lines or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the sessions of a project, each with the time of its last write."""
        summaries = await self.list_session_summaries(project_key)
        return [{"session_id": summary["session_id"], "mtime": summary["mtime"]} for summary in summaries]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return the SDK's summaries of the sessions of a project."""
        names = [name for name in self._names(project_key) if "/" not in name]
        logs = [self._open(self._place({"project_key": project_key, "session_id": name})) for name in names]
        summaries = [log.summary(name) for name, log in zip(names, logs, strict=True)]
        return [summary for summary in summaries if summary]

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the paths of the sub-agents of a session."""
        prefix = f"{key['session_id']}/"
        names = self._names(key["project_key"])
        return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]

    async def delete(self, key: SessionKey) -> None:
        """Erase a session with its sub-agents, or one sub-agent; the SDK calls this only on your request."""
        place = self._place(key)
        paths = [] if "subpath" in key else await self.list_subkeys(key)
        for conversation in (place.conversation, *(f"{place.conversation}/{path}" for path in paths)):
            self._store.remove(Place(place.scope, conversation))
        self._log.cache_clear()
        self._store.scrub(wait=False)

    def _place(self, key: SessionKey) -> Place:
        parts = [key["session_id"], *([key["subpath"]] if "subpath" in key else [])]
        return Place(f"{self._scope}/{key['project_key']}", "/".join(parts))

    def _open(self, place: Place) -> "_Log":
        scope, conversation = place
        options = self._options
        return _Log(Session.open(scope=scope, conversation=conversation, store=self._store, **options))

    def _names(self, project_key: str) -> list[str]:
        return list(self._store.conversations(f"{self._scope}/{project_key}"))


class _Log:
    """The conversation of one session of the SDK, and the `uuid` of each of its lines."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.uuids: set[str] = set()
        self._read_notes = 0

    async def refresh(self) -> None:
        """Read the lines that other processes have written."""
        await self.session.aio.refresh()
        for note in self.notes(self._read_notes):
            self._read_notes += 1
            if note.description != _SUMMARY and "uuid" in note.content:
                self.uuids.add(note.content["uuid"])

    def notes(self, start: int = 0) -> list[Note]:
        """The notes from number `start` on."""
        items = self.session.view(_LINES)[start:] if _LINES in self.session.transcripts else []
        return [item for item in items if isinstance(item, Note)]

    def summary(self, session_id: str) -> SessionSummaryEntry | None:
        """The summary of the session: each append writes it after its lines."""
        notes = self.notes(-1)
        if not notes:
            return None
        return {
            "session_id": session_id,
            "mtime": int(notes[0].created_at * 1e3),
            "data": dict(notes[0].content),
        }
