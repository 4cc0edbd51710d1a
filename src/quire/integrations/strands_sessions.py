"""Sessions of Strands Agents in Quire's stores."""

# pyright: basic, reportMissingImports=false

from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Unpack, cast

from quire.errors import Conflict, MissingExtra
from quire.integrations.mirror import escaped
from quire.items import Note
from quire.session import Session as QuireSession
from quire.session.session import Options
from quire.stores import Store

try:
    from strands.multiagent import MultiAgentBase
    from strands.session import RepositorySessionManager, SessionRepository
    from strands.types.exceptions import SessionException
    from strands.types.session import Session, SessionAgent, SessionMessage
except ImportError:
    raise MissingExtra("Strands Agents", "strands") from None

_RECORDS = "strands"
"""The transcript with the state of a session and its agents, as records: the last note of a name is valid."""

_MESSAGES = "strands/"
"""The prefix of transcripts with the messages of an agent, such as `strands/writer`."""

_MAX_OPEN = 100
"""How many sessions stay open."""


class QuireSessionManager(RepositorySessionManager):  # type: ignore[misc]
    """Stores the session of an agent in a store of Quire; see `QuireSessionRepository`."""

    def __init__(
        self,
        session_id: str,
        store: str | Path | Store = "quire.db",
        *,
        scope: str = "",
        **options: Unpack[Options],
    ) -> None:
        repository = QuireSessionRepository(store, scope=scope, **options)
        super().__init__(session_id=session_id, session_repository=repository)


class QuireSessionRepository(SessionRepository):  # type: ignore[misc]
    """Stores each session in the conversation named by its id.

    Nothing is overwritten: an update is recorded as a new note. A message whose number another process has
    used meanwhile raises `SessionException`.
    """

    def __init__(
        self, store: str | Path | Store = "quire.db", *, scope: str = "", **options: Unpack[Options]
    ) -> None:
        """The options are those of `Session.open`."""
        self._store, self._scope, self._options = Store.open(store), scope, options
        self._log = lru_cache(_MAX_OPEN)(self._open)

    def create_session(self, session: Session, **kwargs: Any) -> Session:
        """Begin a session."""
        self._record(session.session_id, "session", session.to_dict(), is_new=True)
        return session

    def read_session(self, session_id: str, **kwargs: Any) -> Session | None:
        """Return a session; None if there is none."""
        fields = self._find(session_id, "session")
        return fields and Session.from_dict(fields)

    def create_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Add an agent to a session."""
        self._require(session_id, "session")
        self._record(session_id, f"agent {session_agent.agent_id}", session_agent.to_dict(), is_new=True)

    def read_agent(self, session_id: str, agent_id: str, **kwargs: Any) -> SessionAgent | None:
        """Return an agent of a session; None if there is none."""
        fields = self._find(session_id, f"agent {agent_id}")
        return fields and SessionAgent.from_dict(fields)

    def update_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Record the new state of an agent."""
        name = f"agent {session_agent.agent_id}"
        created = self._require(session_id, name)["created_at"]
        self._record(session_id, name, {**session_agent.to_dict(), "created_at": created})

    def create_message(
        self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any
    ) -> None:
        """Add a message of an agent."""
        self._require(session_id, f"agent {agent_id}")
        log, number = self._log(session_id), session_message.message_id
        while log.find(_MESSAGES + agent_id, number) is None:
            with suppress(Conflict):  # another process has written, perhaps this message: compare again
                note = Note(content=session_message.to_dict())
                log.session.append(note, to=_MESSAGES + agent_id, expected=log.session.version)
                return
        raise SessionException(
            f"message {number} of agent {agent_id} is stored already: the session has changed"
        )

    def read_message(
        self, session_id: str, agent_id: str, message_id: int, **kwargs: Any
    ) -> SessionMessage | None:
        """Return a message of an agent; None if there is none."""
        fields = self._log(session_id).find(_MESSAGES + agent_id, message_id)
        return fields and SessionMessage.from_dict(fields)

    def update_message(
        self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any
    ) -> None:
        """Record the redacted form of a message."""
        before = self.read_message(session_id, agent_id, session_message.message_id)
        if before is None:
            raise SessionException(f"agent {agent_id} has no message {session_message.message_id}")
        body = {**session_message.to_dict(), "created_at": before.created_at}
        self._log(session_id).session.append(Note(content=body), to=_MESSAGES + agent_id)

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **kwargs: Any
    ) -> list[SessionMessage]:
        """Return the messages of an agent in order: at most `limit`, from number `offset` on."""
        rows = self._log(session_id).all(_MESSAGES + agent_id)[offset:]
        return [SessionMessage.from_dict(fields) for fields in rows[:limit]]

    def create_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **kwargs: Any) -> None:
        """Record the state of a group of agents."""
        self._require(session_id, "session")
        self._record(session_id, f"agents {multi_agent.id}", multi_agent.serialize_state())

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **kwargs: Any) -> dict[str, Any] | None:
        """Return the state of a group of agents; None if there is none."""
        return cast("dict[str, Any] | None", self._find(session_id, f"agents {multi_agent_id}"))

    def update_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **kwargs: Any) -> None:
        """Record the new state of a group of agents."""
        self._require(session_id, f"agents {multi_agent.id}")
        self._record(session_id, f"agents {multi_agent.id}", multi_agent.serialize_state())

    def _open(self, session_id: str) -> "_Log":
        name, options = escaped(session_id), self._options
        return _Log(QuireSession.open(scope=self._scope, conversation=name, store=self._store, **options))

    def _record(self, session_id: str, name: str, body: dict[str, Any], *, is_new: bool = False) -> None:
        if is_new and self._find(session_id, name) is not None:
            raise SessionException(f"session {session_id} has the record {name!r} already")
        self._log(session_id).session.append(Note(content=body, description=name), to=_RECORDS)

    def _find(self, session_id: str, name: str) -> Any:
        return self._log(session_id).find(_RECORDS, name)

    def _require(self, session_id: str, name: str) -> Any:
        fields = self._find(session_id, name)
        if fields is None:
            raise SessionException(f"session {session_id} has no record {name!r}")
        return fields


class _Log:
    """The conversation of a session, with the position of the last note of each record and each message.

    It caches positions and no content, so that content that was forgotten cannot be returned.
    """

    def __init__(self, session: QuireSession) -> None:
        self.session = session
        self._ends: dict[str, int] = {}  # up to which position each transcript was read
        self._positions: dict[str, dict[str | int, int]] = {}  # by transcript, and name or number

    def find(self, transcript: str, name: str | int) -> Any:
        """The content of a record by its name, or of a message by its number; None if there is none."""
        position = self._refreshed(transcript).get(name)
        return None if position is None else self._content(transcript, position)

    def all(self, transcript: str) -> list[Any]:
        """The contents of the messages of an agent, in order."""
        positions = sorted(self._refreshed(transcript).items())
        return [self._content(transcript, position) for _, position in positions]

    def _refreshed(self, transcript: str) -> dict[str | int, int]:
        """The positions in a transcript, with those of notes that other processes have written."""
        self.session.refresh()
        positions = self._positions.setdefault(transcript, {})
        if transcript in self.session.transcripts:
            view = self.session.view(transcript)
            for position in range(self._ends.get(transcript, 0), view.end):
                note = view.log.item(position)
                if isinstance(note, Note) and note.content is not None:
                    name = note.description if transcript == _RECORDS else note.content["message_id"]
                    positions[cast("str | int", name)] = position
            self._ends[transcript] = view.end
        return positions

    def _content(self, transcript: str, position: int) -> Any:
        note = self.session.view(transcript).log.item(position)
        return dict(note.content) if isinstance(note, Note) and note.content is not None else None
