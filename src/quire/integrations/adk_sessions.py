"""Sessions of Google ADK in Quire's stores: each event is stored unchanged."""

# pyright: basic, reportMissingImports=false

import asyncio
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Unpack, cast
from urllib.parse import unquote

import msgspec

from quire.errors import Conflict, MissingExtra
from quire.integrations.mirror import escaped
from quire.items import Note, new_id, now
from quire.session import Session as QuireSession
from quire.session.session import Options
from quire.stores import Place, Store, place_at

try:
    from google.adk.errors import StaleSessionError
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.errors.session_not_found_error import SessionNotFoundError
    from google.adk.events import Event
    from google.adk.sessions import BaseSessionService, Session, State
    from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse
    from pydantic_core import to_jsonable_python
except ImportError:
    raise MissingExtra("Google ADK", "google-adk") from None

_EVENTS = "adk"
"""The transcript with the notes of a conversation.

In the conversation of a session, the first note has the initial state, and each later note is an event. In
the conversation of an app's or a user's state, each note is a change of that state.
"""

_PREFIXES = (State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX)

_STALE = "the session was written to since it was read: get it again"

_MAX_OPEN = 1_000
"""How many conversations stay open."""


class QuireSessionService(BaseSessionService):  # type: ignore[misc]
    """Stores sessions: each is a conversation of the scope `scope/APP/USER`.

    If another caller or process has written to a session since it was read, appending an event to it raises
    `StaleSessionError`. State that is shared by an app or a user is stored in the scope `scope/APP`.
    """

    def __init__(
        self, store: str | Path | Store = "quire.db", *, scope: str = "adk", **options: Unpack[Options]
    ) -> None:
        """The options are those of `Session.open`."""
        self._store = Store.open(store)
        self._scope, self._options = scope, options
        self._log = lru_cache(_MAX_OPEN)(self._open)

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Begin a session; `AlreadyExistsError` if there is one with this id."""
        name = (session_id or "").strip() or new_id()
        initial = to_jsonable_python(state or {}, fallback=str)
        return await asyncio.to_thread(self._create, app_name, user_id, name, initial)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return a session with all its events or those that `config` selects; None if there is none."""
        session = await asyncio.to_thread(self._read, app_name, user_id, session_id.strip())
        if session is None or config is None:
            return session
        if config.after_timestamp is not None:
            session.events = [event for event in session.events if event.timestamp >= config.after_timestamp]
        if config.num_recent_events is not None:
            session.events = session.events[max(len(session.events) - config.num_recent_events, 0) :]
        return session

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Return the sessions of a user, or of all users, without events; the last used session is last."""
        return ListSessionsResponse(sessions=await asyncio.to_thread(self._list, app_name, user_id))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Erase a session, and the conversations that the plugin recorded for it."""
        await asyncio.to_thread(self._delete, _place_of(self._scope, app_name, user_id, session_id.strip()))

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return the state of a user, by keys without their prefix."""
        log = self._log(self._shared_places(app_name, user_id)[State.USER_PREFIX])
        state = _merged(note.content for note in await asyncio.to_thread(log.read))
        return {key.removeprefix(State.USER_PREFIX): value for key, value in state.items()}

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event, and then add it to the session object."""
        if not event.partial:
            await asyncio.to_thread(self._append, session, event)
        return await super().append_event(session, event)

    def _create(self, app: str, user: str, name: str, state: dict[str, Any]) -> Session:
        log = self._log(_place_of(self._scope, app, user, name))
        first = {"id": new_id(), "timestamp": now(), "actions": {"state_delta": state}}
        try:
            log.session.append(Note(content=first), to=_EVENTS, expected=0)
        except Conflict:
            raise AlreadyExistsError(f"there is a session {name} already") from None
        return cast(Session, self._read(app, user, name))

    def _read(self, app: str, user: str, name: str, *, with_events: bool = True) -> Session | None:
        notes = self._log(_place_of(self._scope, app, user, name)).read()
        if not notes:
            return None
        bodies = [note.content for note in notes]
        places = self._shared_places(app, user)
        shared = {prefix: self._log(place).read() for prefix, place in places.items()}
        if event := _unshared_event(bodies, shared):  # the session is new, or a process was killed here
            self._share(app, user, event)
            return self._read(app, user, name, with_events=with_events)
        own_state = _merged(_with_prefix(_delta(body), "") for body in bodies)
        shared_state = _merged(note.content for notes in shared.values() for note in notes)
        events = [msgspec.json.encode(body) for body in bodies[1:]] if with_events else []
        session = Session(
            id=name,
            app_name=app,
            user_id=user,
            state=own_state | shared_state,
            events=[Event.model_validate_json(event) for event in events],
            last_update_time=bodies[-1]["timestamp"],
        )
        session._storage_update_marker = notes[-1].id
        return session

    def _append(self, session: Session, event: Event) -> None:
        body = event.model_dump(mode="json", exclude_none=True)
        delta = {key: value for key, value in _delta(body).items() if _prefix_of(key) != State.TEMP_PREFIX}
        body.setdefault("actions", {})["state_delta"] = delta
        log = self._log(_place_of(self._scope, session.app_name, session.user_id, session.id))
        with log.lock:
            notes = log.read(-1)
            if not notes:
                raise SessionNotFoundError(f"there is no session {session.id}")
            try:
                if notes[0].id != session._storage_update_marker:
                    raise Conflict(_STALE)
                (note,) = log.session.append(Note(content=body), to=_EVENTS, expected=log.session.version)
            except Conflict:
                raise StaleSessionError(_STALE) from None
            session._storage_update_marker, session.last_update_time = note.id, event.timestamp
        self._share(session.app_name, session.user_id, body)

    def _share(self, app: str, user: str, body: dict[str, Any]) -> None:
        """Store the changes of an event to the state of the app and of the user."""
        for prefix, place in self._shared_places(app, user).items():
            if changed := _with_prefix(_delta(body), prefix):
                self._log(place).session.append(Note(content=changed, description=body["id"]), to=_EVENTS)

    def _list(self, app: str, user_id: str | None) -> list[Session]:
        prefix = f"{self._scope}/{escaped(app)}/"
        scopes = [name for name in self._store.scopes() if name.startswith(prefix)]
        users = [unquote(name.removeprefix(prefix)) for name in scopes] if user_id is None else [user_id]
        rows = [(user, name) for user in users for name in self._store.conversations(prefix + escaped(user))]
        names = [(user, unquote(name)) for user, name in rows if "/" not in name]
        sessions = [self._read(app, user, name, with_events=False) for user, name in names]
        return sorted(filter(None, sessions), key=lambda session: session.last_update_time)

    def _delete(self, place: Place) -> None:
        for name in self._store.conversations(place.scope):
            if name == place.conversation or name.startswith(f"{place.conversation}/"):
                self._store.remove(Place(place.scope, name))
        self._log.cache_clear()
        self._store.scrub(wait=False)

    def _shared_places(self, app: str, user: str) -> dict[str, Place]:
        """The conversations with the state of the app and of the user, by the prefix of its keys."""
        scope = f"{self._scope}/{escaped(app)}"
        names = {State.APP_PREFIX: "app", State.USER_PREFIX: f"user/{escaped(user)}"}
        return {prefix: Place(scope, name) for prefix, name in names.items()}

    def _open(self, place: Place) -> "_Log":
        return _Log(QuireSession.open(str(place), store=self._store, **self._options))


class _Log:
    """The notes of one session, or of the state of an app or a user."""

    def __init__(self, session: QuireSession) -> None:
        self.session, self.lock = session, Lock()

    def read(self, start: int = 0) -> list[Any]:
        """Read what other processes have written, and return the notes from number `start` on."""
        self.session.refresh()
        return list(self.session.view(_EVENTS)[start:]) if _EVENTS in self.session.transcripts else []


def scope_of(scope: str, app: str, user: str) -> str:
    """The scope of the sessions of a user."""
    return f"{scope}/{escaped(app)}/{escaped(user)}"


def _place_of(scope: str, app: str, user: str, name: str) -> Place:
    """The place of a session."""
    return place_at(scope=scope_of(scope, app, user), conversation=escaped(name))


def _prefix_of(key: str) -> str:
    return next((prefix for prefix in _PREFIXES if key.startswith(prefix)), "")


def _with_prefix(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {key: value for key, value in state.items() if _prefix_of(key) == prefix}


def _merged(changes: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {key: value for change in changes for key, value in change.items()}


def _delta(body: dict[str, Any]) -> dict[str, Any]:
    """The changes of the state that an event makes."""
    return cast("dict[str, Any]", body.get("actions", {}).get("state_delta", {}))


def _unshared_event(bodies: list[Any], shared: dict[str, list[Any]]) -> dict[str, Any] | None:
    """The last event that changes the state of the app or the user, unless its changes are stored there."""
    for body in reversed(bodies):
        if prefixes := [prefix for prefix in shared if _with_prefix(_delta(body), prefix)]:
            stored = [{note.description for note in shared[prefix]} for prefix in prefixes]
            return None if all(body["id"] in ids for ids in stored) else body
    return None
