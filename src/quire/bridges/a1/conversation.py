"""A1's context: one conversation by name, over a transcript of a session."""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self, overload

from msgspec.structs import replace

from quire.bridges.a1.files import session_at
from quire.bridges.a1.items import recorded
from quire.bridges.a1.messages import Message, checked_messages
from quire.bridges.a1.naming import next_transcript, transcript_of
from quire.bridges.a1.showing import Shown, ShownMessages
from quire.errors import DuplicateId, EditRefused
from quire.items import ConfigChange, Hide, Item, Summary
from quire.session import Session
from quire.state import Transcript, View, spans_over

_MAIN = "main"


class Context:
    """Messages in the order they were appended. What was cleared or left out is kept in the session.

    One that is made by itself lives in memory; `from_file` and a runtime know where it rests.
    """

    def __init__(self, messages: Iterable[Message] | None = None) -> None:
        self._begin(Session.open(store="memory:"), _MAIN)
        self.extend(() if messages is None else messages)

    @classmethod
    def over(cls, session: Session, name: str, grown: Callable[[], None] | None = None) -> Self:
        """The context of a name in a session; `grown` is called after messages that leave no call waiting."""
        context = cls.__new__(cls)
        context._begin(session, name, grown)
        return context

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], keep_updated: bool = False) -> Self:
        """The context in a file, empty where there is none.

        With `keep_updated` each message is in the file when its verb returns; without, the file is only read.
        """
        return cls.over(session_at(path, keep_updated), _MAIN)

    def _begin(self, session: Session, name: str, grown: Callable[[], None] | None = None) -> None:
        self._session = session
        self._name = self._latest = name
        self._grown = grown
        self._shown = Shown()

    def __repr__(self) -> str:
        return f"<Context {self._name!r} of {len(self)} messages>"

    @property
    def session(self) -> Session:
        """The engine's session: all that ever happened, so that what was left out can be brought back."""
        return self._session

    @property
    def transcript(self) -> str:
        """The name of the session's transcript that is shown; it is another after `clear`."""
        self._latest = transcript_of(self._name, self._session.transcripts, self._latest)
        return self._latest

    @property
    def view(self) -> View:
        """What the transcript shows, in the engine's words."""
        name = self.transcript
        return self._session.view(name) if name in self._session.transcripts else Transcript().view

    @property
    def messages(self) -> list[Message]:
        """All messages, oldest first. They may be set anew; what is no longer among them is kept, unseen."""
        return self._messages()

    @messages.setter
    def messages(self, messages: Iterable[Message]) -> None:
        wanted, shown = checked_messages(messages), self._messages()
        if wanted[: len(shown)] == shown:
            self.extend(wanted[len(shown) :])
        elif not self._leave_out_all_but(wanted):
            self._begin_anew(wanted)

    def user(self, content: str) -> Message:
        """Something the user said."""
        return self._said(Message(role="user", content=content))

    def assistant(self, content: str, tool_calls: list[dict[str, Any]] | None = None) -> Message:
        """Something the model said, and the calls it made with it."""
        return self._said(Message(role="assistant", content=content, tool_calls=tool_calls))

    def system(self, content: str) -> Message:
        """An instruction."""
        return self._said(Message(role="system", content=content))

    def tool(self, content: str, name: str | None = None, tool_call_id: str | None = None) -> Message:
        """What a tool gave for a call."""
        return self._said(Message(role="tool", content=content, name=name, tool_call_id=tool_call_id))

    def append(self, message: Message) -> None:
        """Add a message at the end, whatever its time."""
        self.extend([message])

    def extend(self, messages: Iterable[Message]) -> None:
        """Add messages at the end, all or none."""
        added = checked_messages(messages)
        if not added:
            return
        try:
            self._record(added)
        except DuplicateId:
            # What is still in the transcript but left out may come again; what is shown may not.
            self._begin_anew([*self._messages(), *added])
        self.has_grown()

    def has_grown(self) -> None:
        """Tell whom it belongs to that there is more, unless a call still waits."""
        if self._grown is not None and not self.view.pending():
            self._grown()

    def copies(self) -> list[Item]:
        """What is shown, to stand in another transcript: a timeline of both has the same messages once."""
        return [replace(item, spans=()) if isinstance(item, Summary) else item for item in self.view]

    def clear(self) -> None:
        """Show nothing any more. The session keeps what was said, in the transcript of before."""
        if len(self):
            self._begin_anew([])

    def to_dict_list(self) -> list[dict[str, Any]]:
        """The messages as a model is sent them."""
        return [message.to_dict() for message in self._messages()]

    def __len__(self) -> int:
        return self._shown.count(self.view)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages())

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        return self._messages()[index]

    def _messages(self) -> ShownMessages:
        return self._shown.messages(self.view)

    def _record(self, added: list[Message]) -> None:
        view, name = self.view, self.transcript
        latest = view[-1].created_at if len(view) else float("-inf")
        self._session.append(*recorded(added, latest), to=name)
        if self.transcript != name:
            # Another began anew meanwhile. This came after it, so it belongs to what is shown now.
            shown = {message.message_id for message in self._messages()}
            missing = [message for message in added if message.message_id not in shown]
            if missing:
                self._record(missing)

    def _said(self, message: Message) -> Message:
        self.append(message)
        return message

    def _leave_out_all_but(self, wanted: list[Message]) -> bool:
        """Hide the rest, if the engine lets it go: it keeps calls with their results, for one."""
        view = self.view
        rest = self._shown.left_out(view, wanted)
        if rest is None:
            return False
        try:
            self._session.append(Hide(spans_over(view, rest)), to=self.transcript)
        except EditRefused:
            return False
        return True

    def _begin_anew(self, messages: list[Message]) -> None:
        """Go on in another transcript: the engine never hides the last message of the user."""
        # A transcript is there once it has an item; a change of nothing is one that no model sees.
        items = recorded(messages) or [ConfigChange()]
        self._session.append(*items, to=next_transcript(self._name, self.transcript))
