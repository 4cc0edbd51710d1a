"""Sessions of the Claude Agent SDK in Quire's stores.

The SDK writes each session as lines of JSON and hands them to a `SessionStore`. `QuireSessionStore` keeps
them as they are, one conversation for each session and one for each of its sub-agents, so that a session can
be resumed on another machine.

    options = ClaudeAgentOptions(session_store=QuireSessionStore("postgresql://…"))
"""

# pyright: basic, reportMissingImports=false

from collections import OrderedDict
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
"""The description of what the SDK wants to know of a session without reading it."""

_MOST_KNOWN = 100
"""Sessions that are kept open."""


class QuireSessionStore:
    """Keeps sessions of the Claude Agent SDK. A line that comes twice is kept once, by its `uuid`."""

    def __init__(
        self, store: str | Path | Store = "quire.db", *, scope: str = "claude", **options: Unpack[Options]
    ) -> None:
        """Each project has a scope of its own, `scope/project`; the options are those of `Session.open`."""
        self._store = Store.open(store)
        self._scope, self._options = scope, options
        self._known: OrderedDict[Place, _Kept] = OrderedDict()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Keep lines, all or none, with the summary of the session."""
        kept = self._kept(key)
        while entries:
            await kept.catch_up()
            new = [entry for entry in entries if entry.get("uuid") not in kept.uuids]
            notes = [Note(content=entry) for entry in new]
            if new and "subpath" not in key:
                folded = fold_session_summary(kept.summary(key["session_id"]), key, new)
                notes.append(Note(content=folded["data"], description=_SUMMARY))
            try:
                if notes:
                    session = kept.session
                    await session.aio.append(*notes, to=_LINES, expected=session.version)
                return
            except Conflict:  # another process has written: look again what is new
                continue

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return the lines of a session or of a sub-agent in order; None if there are none."""
        kept = self._kept(key)
        await kept.catch_up()
        lines: list[Any] = [note.content for note in kept.notes() if note.description != _SUMMARY]
        return lines or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the sessions of a project, and when each was last written."""
        found = await self.list_session_summaries(project_key)
        return [{"session_id": one["session_id"], "mtime": one["mtime"]} for one in found]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return what the SDK keeps of each session of a project."""
        names = [name for name in self._names(project_key) if "/" not in name]
        every = [_Kept(self._open({"project_key": project_key, "session_id": name})) for name in names]
        return [one for name, kept in zip(names, every, strict=True) if (one := kept.summary(name))]

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the paths of the sub-agents of a session."""
        prefix = f"{key['session_id']}/"
        names = self._names(key["project_key"])
        return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]

    async def delete(self, key: SessionKey) -> None:
        """Erase a session with its sub-agents, or one sub-agent; the SDK asks for it only if you do."""
        place = self._place(key)
        paths = [] if "subpath" in key else await self.list_subkeys(key)
        for conversation in (place.conversation, *(f"{place.conversation}/{path}" for path in paths)):
            self._known.pop(Place(place.scope, conversation), None)
            self._store.remove(Place(place.scope, conversation))
        self._store.scrub(wait=False)

    def _place(self, key: SessionKey) -> Place:
        parts = [key["session_id"], *([key["subpath"]] if "subpath" in key else [])]
        return Place(f"{self._scope}/{key['project_key']}", "/".join(parts))

    def _kept(self, key: SessionKey) -> "_Kept":
        place = self._place(key)
        kept = self._known.pop(place, None) or _Kept(self._open(key))
        self._known[place] = kept
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        return kept

    def _open(self, key: SessionKey) -> Session:
        scope, conversation = self._place(key)
        return Session.open(scope=scope, conversation=conversation, store=self._store, **self._options)

    def _names(self, project_key: str) -> list[str]:
        return list(self._store.conversations(f"{self._scope}/{project_key}"))


class _Kept:
    """One session of the SDK, and the lines of it that are known to be kept."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.uuids: set[str] = set()
        self._read = 0  # so many notes

    async def catch_up(self) -> None:
        """Read what others have written."""
        await self.session.aio.refresh()
        for note in self.notes(self._read):
            self._read += 1
            if note.description != _SUMMARY and "uuid" in note.content:
                self.uuids.add(note.content["uuid"])

    def notes(self, start: int = 0) -> list[Note]:
        """The notes from one on."""
        items = self.session.view(_LINES)[start:] if _LINES in self.session.transcripts else []
        return [item for item in items if isinstance(item, Note)]

    def summary(self, session_id: str) -> SessionSummaryEntry | None:
        """The summary, which is written after the lines of each batch."""
        notes = self.notes(-1)
        if not notes:
            return None
        return {
            "session_id": session_id,
            "mtime": int(notes[0].created_at * 1e3),
            "data": dict(notes[0].content),
        }
