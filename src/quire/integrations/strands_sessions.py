"""Sessions of Strands Agents in Quire's stores."""

# pyright: basic, reportMissingImports=false

from functools import lru_cache
from pathlib import Path
from typing import Any, Unpack, cast

from quire.errors import Conflict, MissingExtra
from quire.items import Note
from quire.session import Session as Kept
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
"""The transcript of what is kept of a session and its agents. The last note of a name says how it is."""

_MESSAGES = "strands/"
"""The transcript of the messages of an agent begins with this."""

_MOST_KNOWN = 100
"""Sessions that are kept open."""


class QuireSessionManager(RepositorySessionManager):  # type: ignore[misc]
    """Keeps the session of an agent in a store of Quire; see `QuireSessionRepository`."""

    def __init__(
        self,
        session_id: str,
        store: str | Path | Store = "quire.db",
        *,
        scope: str = "strands",
        **options: Unpack[Options],
    ) -> None:
        repository = QuireSessionRepository(store, scope=scope, **options)
        super().__init__(session_id=session_id, session_repository=repository)


class QuireSessionRepository(SessionRepository):  # type: ignore[misc]
    """Keeps sessions, each in the conversation of its id.

    Nothing is overwritten: what is updated is recorded again. A message whose number another process has used
    meanwhile is refused with `SessionException`.
    """

    def __init__(
        self, store: str | Path | Store = "quire.db", *, scope: str = "strands", **options: Unpack[Options]
    ) -> None:
        """The options are those of `Session.open`."""
        opened = Store.open(store)
        self._kept = lru_cache(_MOST_KNOWN)(
            lambda name: Kept.open(scope=scope, conversation=name, store=opened, **options)
        )

    def create_session(self, session: Session, **kwargs: Any) -> Session:
        """Begin a session."""
        self._record(session.session_id, "session", session.to_dict(), is_new=True)
        return session

    def read_session(self, session_id: str, **kwargs: Any) -> Session | None:
        """Return a session; None if there is none."""
        found = self._find(session_id, "session")
        return found and Session.from_dict(found)

    def create_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Add an agent to a session."""
        self._require(session_id, "session")
        self._record(session_id, f"agent {session_agent.agent_id}", session_agent.to_dict(), is_new=True)

    def read_agent(self, session_id: str, agent_id: str, **kwargs: Any) -> SessionAgent | None:
        """Return an agent of a session; None if there is none."""
        found = self._find(session_id, f"agent {agent_id}")
        return found and SessionAgent.from_dict(found)

    def update_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Keep the state of an agent."""
        name = f"agent {session_agent.agent_id}"
        created = self._require(session_id, name)["created_at"]
        self._record(session_id, name, {**session_agent.to_dict(), "created_at": created})

    def create_message(
        self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any
    ) -> None:
        """Add a message of an agent."""
        self._require(session_id, f"agent {agent_id}")
        kept, number = self._kept(session_id), session_message.message_id
        while True:
            notes = self._notes(session_id, _MESSAGES + agent_id)
            if any(note.content["message_id"] == number for note in notes):
                raise SessionException(
                    f"message {number} of agent {agent_id} exists: the session has changed"
                )
            try:
                note = Note(content=session_message.to_dict())
                kept.append(note, to=_MESSAGES + agent_id, expected=kept.version)
                return
            except Conflict:  # another process has written: look again
                continue

    def read_message(
        self, session_id: str, agent_id: str, message_id: int, **kwargs: Any
    ) -> SessionMessage | None:
        """Return a message of an agent; None if there is none."""
        return self._messages(session_id, agent_id).get(message_id)

    def update_message(
        self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any
    ) -> None:
        """Keep a message that was redacted."""
        before = self.read_message(session_id, agent_id, session_message.message_id)
        if before is None:
            raise SessionException(f"agent {agent_id} has no message {session_message.message_id}")
        body = {**session_message.to_dict(), "created_at": before.created_at}
        self._kept(session_id).append(Note(content=body), to=_MESSAGES + agent_id)

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **kwargs: Any
    ) -> list[SessionMessage]:
        """Return the messages of an agent in order, or some of them."""
        found = [message for _, message in sorted(self._messages(session_id, agent_id).items())]
        return found[offset:] if limit is None else found[offset : offset + limit]

    def create_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **kwargs: Any) -> None:
        """Keep the state of several agents together."""
        self._require(session_id, "session")
        self._record(session_id, f"agents {multi_agent.id}", multi_agent.serialize_state())

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **kwargs: Any) -> dict[str, Any] | None:
        """Return the state of several agents; None if there is none."""
        return cast("dict[str, Any] | None", self._find(session_id, f"agents {multi_agent_id}"))

    def update_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **kwargs: Any) -> None:
        """Keep the state of several agents, as it is after a step."""
        self._require(session_id, f"agents {multi_agent.id}")
        self._record(session_id, f"agents {multi_agent.id}", multi_agent.serialize_state())

    def _record(self, session_id: str, name: str, body: dict[str, Any], *, is_new: bool = False) -> None:
        if is_new and self._find(session_id, name) is not None:
            raise SessionException(f"there is {name} in session {session_id} already")
        self._kept(session_id).append(Note(content=body, description=name), to=_RECORDS)

    def _find(self, session_id: str, name: str) -> Any:
        notes = reversed(self._notes(session_id, _RECORDS))
        return next((dict(note.content) for note in notes if note.description == name), None)

    def _require(self, session_id: str, name: str) -> Any:
        found = self._find(session_id, name)
        if found is None:
            raise SessionException(f"there is no {name} in session {session_id}")
        return found

    def _messages(self, session_id: str, agent_id: str) -> dict[int, SessionMessage]:
        """The messages of an agent by number, each as it was recorded last."""
        bodies = (note.content for note in self._notes(session_id, _MESSAGES + agent_id))
        return {body["message_id"]: SessionMessage.from_dict(body) for body in bodies}

    def _notes(self, session_id: str, transcript: str) -> list[Any]:
        kept = self._kept(session_id)
        kept.refresh()
        return list(kept.view(transcript)) if transcript in kept.transcripts else []
