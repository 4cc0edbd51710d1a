"""Sessions of Google ADK in Quire's stores: each event is kept as it is."""

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
from quire.session import Session as Kept
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
"""The transcript that holds a session: what it begins with, then its events. Or changes of shared state."""

_PREFIXES = (State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX)

_STALE = "the session was written to since it was read: get it again"

_MOST_KNOWN = 1_000
"""Sessions that are kept open."""


class QuireSessionService(BaseSessionService):  # type: ignore[misc]
    """Keeps sessions: each is a conversation of the scope `scope/APP/USER`.

    An event that is appended to a session that another has written to meanwhile raises `StaleSessionError`,
    also between processes. State of the app and of the user is kept beside, under `scope/APP`.
    """

    def __init__(
        self, store: str | Path | Store = "quire.db", *, scope: str = "adk", **options: Unpack[Options]
    ) -> None:
        """The options are those of `Session.open`."""
        self._store = Store.open(store)
        self._scope, self._options = scope, options
        self._log = lru_cache(_MOST_KNOWN)(self._open)

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
        given = to_jsonable_python(state or {}, fallback=str)
        return await asyncio.to_thread(self._create, app_name, user_id, name, given)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return a session with all its events, or with those that are asked for."""
        found = await asyncio.to_thread(self._read, app_name, user_id, session_id.strip())
        if found is None or config is None:
            return found
        if config.after_timestamp is not None:
            found.events = [one for one in found.events if one.timestamp >= config.after_timestamp]
        if config.num_recent_events is not None:
            found.events = found.events[max(len(found.events) - config.num_recent_events, 0) :]
        return found

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Return the sessions of a user, or of all users, without events, the one that was used last last."""
        return ListSessionsResponse(sessions=await asyncio.to_thread(self._list, app_name, user_id))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Erase a session, with what the plugin has recorded of it."""
        await asyncio.to_thread(self._delete, _place_of(self._scope, app_name, user_id, session_id.strip()))

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return the state of a user, by keys without their prefix."""
        log = self._log(self._shared(app_name, user_id)[State.USER_PREFIX])
        state = _joined(note.content for note in await asyncio.to_thread(log.read))
        return {key.removeprefix(State.USER_PREFIX): value for key, value in state.items()}

    async def append_event(self, session: Session, event: Event) -> Event:
        """Keep an event, and then add it to the session."""
        if not event.partial:
            await asyncio.to_thread(self._append, session, event)
        return await super().append_event(session, event)

    def _create(self, app: str, user: str, name: str, state: dict[str, Any]) -> Session:
        log = self._log(_place_of(self._scope, app, user, name))
        begun = {"id": new_id(), "timestamp": now(), "actions": {"state_delta": state}}
        try:
            log.session.append(Note(content=begun), to=_EVENTS, expected=0)
        except Conflict:
            raise AlreadyExistsError(f"there is a session {name} already") from None
        return cast(Session, self._read(app, user, name))

    def _read(self, app: str, user: str, name: str, *, with_events: bool = True) -> Session | None:
        notes = self._log(_place_of(self._scope, app, user, name)).read()
        if not notes:
            return None
        bodies = [note.content for note in notes]
        shared = {prefix: self._log(place).read() for prefix, place in self._shared(app, user).items()}
        if lost := _not_shared(bodies, shared):  # of a new session, or a process was killed before
            self._share(app, user, lost)
            return self._read(app, user, name, with_events=with_events)
        found = Session(
            id=name,
            app_name=app,
            user_id=user,
            state=_joined(_of(_delta(body), "") for body in bodies)
            | _joined(note.content for one in shared.values() for note in one),
            events=[Event.model_validate_json(msgspec.json.encode(body)) for body in bodies[1:]]
            if with_events
            else [],
            last_update_time=bodies[-1]["timestamp"],
        )
        found._storage_update_marker = notes[-1].id
        return found

    def _append(self, session: Session, event: Event) -> None:
        body = event.model_dump(mode="json", exclude_none=True)
        kept = {key: one for key, one in _delta(body).items() if _prefix_of(key) != State.TEMP_PREFIX}
        body.setdefault("actions", {})["state_delta"] = kept
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
        """Keep what an event changes in the state of the app and of the user."""
        for prefix, place in self._shared(app, user).items():
            if changed := _of(_delta(body), prefix):
                self._log(place).session.append(Note(content=changed, description=body["id"]), to=_EVENTS)

    def _list(self, app: str, user_id: str | None) -> list[Session]:
        prefix = f"{self._scope}/{escaped(app)}/"
        scopes = [one for one in self._store.scopes() if one.startswith(prefix)]
        users = [unquote(one.removeprefix(prefix)) for one in scopes] if user_id is None else [user_id]
        found: list[Session] = []
        for user in users:
            names = self._store.conversations(prefix + escaped(user))
            every = (
                self._read(app, user, unquote(one), with_events=False) for one in names if "/" not in one
            )
            found += [one for one in every if one]
        return sorted(found, key=lambda one: one.last_update_time)

    def _delete(self, place: Place) -> None:
        for name in self._store.conversations(place.scope):
            if name == place.conversation or name.startswith(f"{place.conversation}/"):
                self._store.remove(Place(place.scope, name))
        self._log.cache_clear()
        self._store.scrub(wait=False)

    def _shared(self, app: str, user: str) -> dict[str, Place]:
        """Where the state of the app and of the user is kept, by the prefix of its keys."""
        scope = f"{self._scope}/{escaped(app)}"
        names = {State.APP_PREFIX: "app", State.USER_PREFIX: f"user/{escaped(user)}"}
        return {prefix: Place(scope, name) for prefix, name in names.items()}

    def _open(self, place: Place) -> "_Log":
        return _Log(Kept.open(str(place), store=self._store, **self._options))


class _Log:
    """The notes of one session, or of the state of an app or a user."""

    def __init__(self, session: Kept) -> None:
        self.session, self.lock = session, Lock()

    def read(self, start: int = 0) -> list[Any]:
        """Read what others have written, and return the notes from one on."""
        self.session.refresh()
        known = _EVENTS in self.session.transcripts
        return list(self.session.view(_EVENTS)[start:]) if known else []


def scope_of(scope: str, app: str, user: str) -> str:
    """The scope of the sessions of a user."""
    return f"{scope}/{escaped(app)}/{escaped(user)}"


def _place_of(scope: str, app: str, user: str, name: str) -> Place:
    """The place of a session."""
    return place_at(scope=scope_of(scope, app, user), conversation=escaped(name))


def _prefix_of(key: str) -> str:
    return next((one for one in _PREFIXES if key.startswith(one)), "")


def _of(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {key: value for key, value in state.items() if _prefix_of(key) == prefix}


def _joined(changes: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {key: value for one in changes for key, value in one.items()}


def _delta(body: dict[str, Any]) -> dict[str, Any]:
    return cast("dict[str, Any]", body.get("actions", {}).get("state_delta", {}))


def _not_shared(bodies: list[Any], shared: dict[str, list[Any]]) -> dict[str, Any] | None:
    """The last event that changes shared state, if that change is not kept there."""
    for body in reversed(bodies):
        if changed := [prefix for prefix in shared if _of(_delta(body), prefix)]:
            known = all(any(note.description == body["id"] for note in shared[one]) for one in changed)
            return None if known else body
    return None
