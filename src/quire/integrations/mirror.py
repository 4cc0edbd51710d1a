"""A session that follows the messages of another framework, and shows it a view of them.

A framework hands its whole list of messages to a hook before each request. `Mirror.fit` records in the
session what it has not seen yet, fits a template, and returns the messages to send: the framework's own
wherever nothing was changed. The framework's list is never touched.

Each recorded item says which message it is of, by the number of the message and by a digest of all messages
up to it. So a conversation that is opened again is recognised by its last item, and a list that was cut or
rewritten is recognised where it departs. What is no longer in the list is hidden, and stays in the log.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from hashlib import blake2b
from itertools import groupby, takewhile
from operator import is_
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, Unpack

import msgspec
from msgspec.structs import replace

from quire.compactors import READ_BACK, Offload, read_back
from quire.context import DEFAULT_MODEL, Context, Template
from quire.errors import Conflict, InvalidValue
from quire.items import Item, Message, Note, ToolCall, ToolResult, Unknown
from quire.providers import NO_RESULT, Finish, Pairing, Parsed
from quire.sections import History, Instructions
from quire.session import Session
from quire.session.session import Options
from quire.state import Fate, View, is_output, is_user_message
from quire.stores import Place, Store, place_at
from quire.tokens import Budget, Definition, Usage, counter_for

M = TypeVar("M")

Scope = str | Callable[[Any], str]
"""A scope, or a function that returns it, such as the id of the user, of what the framework knows."""

MARK = "native"
"""Where an item says which message of the framework it is of."""

_PAUSED = "paused"
"""The transcript of calls whose tools wait for something."""

_TOKENS_BACK = 2_000
"""The size of a piece of a result that is read back, if the window is not small."""

_MOST_SESSIONS = 1_000
_encode = msgspec.json.Encoder(order="sorted").encode


class Codec(Protocol[M]):
    """Reads and writes the messages of one framework."""

    def read(self, message: M) -> Sequence[Item]:
        """Return the items of a message. A message without items is neither kept nor sent."""
        ...

    def write(self, items: Sequence[Item], origin: M | None) -> M:
        """Return a message that shows some items.

        With an origin, they are some of its items, perhaps with other content: the result is a copy of it
        with these. Without one, they are a summary, a quote, or the result of a call that has none.
        """
        ...

    def identity(self, message: M) -> Any:
        """Return what makes a message the same, as plain JSON: no ids or times that are added later."""
        ...


class Shown(NamedTuple, Generic[M]):
    """The messages of one request, and the context that explains them."""

    messages: list[M]
    context: Context


class _Mark(NamedTuple):
    """Which part of which message an item is, and the digest of the messages up to that one."""

    message: int
    part: int
    digest: str


class Mirror(Generic[M]):
    """A session that follows the messages of one conversation of a framework.

    It follows one list: of two runs of a conversation at the same time, the later one takes back what the
    other said.
    """

    def __init__(
        self,
        session: Session,
        template: Template | None,
        codec: Codec[M],
        provider: str = "openai",
        idempotent: Collection[str] = (),
    ) -> None:
        """`provider` is the format in which a receipt can render the request again.

        `idempotent` names the tools that may run twice. Without a template the mirror only follows.
        """
        if template is not None and not any(isinstance(one, History) for one in template.sections):
            raise InvalidValue("the template does not show the conversation: add a History()")
        self.session = session
        self._template, self._codec, self._provider = template, codec, provider
        self._idempotent = frozenset(idempotent)
        self._following = threading.RLock()
        self._messages: list[M] = []  # of the last call, with the digest up to each
        self._digests: list[str] = []
        self._pairing = Pairing()
        self._whole: dict[int, list[Item]] = {}  # by message: items that show it whole and unchanged
        self._instructed: tuple[Message, Template] | None = (
            None  # the framework's instructions, and with them
        )
        self._sent: Context | None = None  # of the last request, which `record` answers

    def fit(
        self,
        messages: Sequence[M],
        *,
        instructions: str | None = None,
        tools: Sequence[Definition] = (),
        model: str | None = None,
    ) -> Shown[M]:
        """Record what is new, and return what to send in the next request; its receipt is kept.

        The instructions and the tools are those that the framework sends beside the messages. They take their
        room in the budget.
        """
        self.follow(messages)
        template = self._template_with(instructions)
        return self._show(self.session.build(template, tools=tools, model=model))

    async def afit(
        self,
        messages: Sequence[M],
        *,
        instructions: str | None = None,
        tools: Sequence[Definition] = (),
        model: str | None = None,
    ) -> Shown[M]:
        """`fit` to be awaited."""
        await asyncio.to_thread(self.follow, messages)
        template = self._template_with(instructions)
        context = await self.session.aio.build(template, tools=tools, model=model)
        return await asyncio.to_thread(self._show, context)

    def record(self, messages: Sequence[M], usage: Usage | None = None, *, model: str | None = None) -> None:
        """Record the answer to the last request, which may be several messages, and what it used."""
        with self._following:
            number = len(self._messages)
            self._take([*self._messages, *messages])
            items = [item for at in range(number, len(self._messages)) for item in self._items_of(at)]
            finish: Finish = "calls" if any(isinstance(item, ToolCall) for item in items) else "stop"
            self.session.record(Parsed(tuple(items), usage, finish, model), sent=self._sent)

    async def arecord(
        self, messages: Sequence[M], usage: Usage | None = None, *, model: str | None = None
    ) -> None:
        """`record` to be awaited."""
        await asyncio.to_thread(self.record, messages, usage, model=model)

    def follow(self, messages: Sequence[M]) -> None:
        """Record the messages of the list that are new, and hide those that are gone from it."""
        with self._following:
            self._take(messages)
            self.session.refresh()
            known, gone = self._compare()
            self._hide(
                gone
            )  # all but the last message of the user, which can be hidden once there is another
            new = [item for at in range(known, len(messages)) for item in self._items_of(at)]
            try:
                if new:
                    self.session.append(*new, expected=self.session.version)
            except Conflict:  # another process has recorded something: compare again
                return self.follow(messages)
            self._hide(gone)

    def read_back(self, handle: str = "", start: int = 0) -> str:
        """Return a piece of a tool result that was sent as a stub, for the tool `read_back`.

        A mistake of the model in the arguments is answered in words.
        """
        if not isinstance(handle, str) or not isinstance(start, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            return "read_back takes the handle as a text, and where to start as a number."
        template = self._template
        counter = counter_for((template.model if template else None) or DEFAULT_MODEL)
        room = template.budget.available // 4 if template else _TOKENS_BACK
        pool, view = self.session.pool.copy(), self.session.view()
        return read_back(pool, handle, counter, min(room, _TOKENS_BACK), start, view)

    def recorded(self) -> dict[int, list[Item]]:
        """The items of the messages that are recorded and not hidden, by the number of the message."""
        found, view = dict[int, list[Item]](), self.session.view()
        for item in view.recorded():
            mark = _mark_of(item)
            if mark is not None and view.fate(item.id).state != "hidden":
                found.setdefault(mark.message, []).append(item)
        return found

    async def afollow(self, messages: Sequence[M]) -> None:
        """`follow` to be awaited."""
        await asyncio.to_thread(self.follow, messages)

    def begin(self, call_id: str) -> str | None:
        """Record that a call is about to run; if it began before, return the words that answer it instead.

        Such a call may have run: its process was killed, or its tool raised. It runs again if its tool is
        idempotent, or had been paused.
        """
        with self._following:
            self.session.refresh()
            for call, progress in self.session.calls.standing():
                if call.call_id == call_id and call.name not in self._idempotent:
                    has_begun = progress in ("begun", "running")
                    return self._resume(call) if has_begun else self.session.calls.begin(call)
            return None

    def _resume(self, call: ToolCall) -> str | None:
        notes = self.session.view(_PAUSED) if _PAUSED in self.session.transcripts else ()
        paused = [note for note in notes if isinstance(note, Note) and note.key == call.id]
        if paused:
            self.session.hide(*paused, to=_PAUSED)
        return None if paused else NO_RESULT

    def pause(self, call_id: str) -> None:
        """Record that the tool of a call has ended to wait for something, and will be run again."""
        for call in self.session.view().pending():
            if call.call_id == call_id:
                self.session.append(Note(None, key=call.id), to=_PAUSED)

    # Following the list

    def _take(self, messages: Sequence[M]) -> None:
        """Take in a list, and compute the digests of what is new in it.

        A message that is the same object is not looked at again, unless it was sent last: it may have been
        changed in place since.
        """
        pairs = zip(self._messages, messages, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
        sent = (number for number in sorted(self._whole) if number < same)
        same = next((number for number in sent if self._digest(number) != self._digests[number]), same)
        self._messages = list(messages)
        del self._digests[same:]
        for number in range(same, len(messages)):
            self._digests.append(self._digest(number))

    def _digest(self, number: int) -> str:
        """The digest of the messages up to one, from that of those before it."""
        before = self._digests[number - 1] if number else ""
        said = before.encode() + _encode(self._codec.identity(self._messages[number]))
        return blake2b(said, digest_size=12).hexdigest()

    def _compare(self) -> tuple[int, list[Item]]:
        """How many messages of the list are recorded, and the items of those that are gone from it."""
        view, known = self.session.view(), 0
        gone: list[int] = []
        for position, _, mark in _marked(view):
            if self._is_current(mark.message, mark.digest):
                known = mark.message + 1
                break
            gone.append(position)
        if not gone:
            return known, []
        # A group goes whole. What shares a message with it goes too, and is recorded again.
        start = min(map(view.log.head, gone))
        for _, _, mark in takewhile(lambda row: row[0] >= start, _marked(view)):
            known = min(known, mark.message)
        return known, [item for _, item, _ in takewhile(lambda row: row[2].message >= known, _marked(view))]

    def _is_current(self, number: int, digest: str) -> bool:
        """Whether a message of the list has this number and digest."""
        return number < len(self._digests) and digest == self._digests[number]

    def _hide(self, items: Sequence[Item]) -> None:
        """Hide items, and take back the summaries that tell of them.

        What may not be hidden, a pinned item for one, is left out when the messages are written.
        """
        if not items:
            return
        closing = closing_results(self.session.view(), items)
        if closing:
            self.session.append(*closing)
        fates = self._fates(items)
        while summaries := {fate.by for fate in fates.values() if fate.state == "summarised"}:
            for summary in summaries:
                self.session.undo(summary)
            fates = self._fates(items)  # a summary that another had folded in is in force again
        last = next(filter(is_user_message, reversed(self.session.view())), None)
        stays = {last.id} if last else set[str]()
        free = [one for one, fate in fates.items() if fate.state not in ("pinned", "hidden")]
        if hidden := [one for one in free if one not in stays]:
            self.session.hide(*hidden)

    def _fates(self, items: Sequence[Item]) -> dict[str, Fate]:
        view = self.session.view()
        return {item.id: view.fate(item.id) for item in items}

    def _items_of(self, number: int) -> list[Item]:
        """The items of a message of the list, with their marks."""
        items, digest = self._codec.read(self._messages[number]), self._digests[number]
        return [
            replace(item, extras={**item.extras, MARK: [number, part, digest]})
            for part, item in enumerate(items)
            if not isinstance(item, Unknown)
        ]

    # Showing a view of it

    def _template_with(self, instructions: str | None) -> Template:
        """The template with the instructions of the framework, which are counted and not sent again."""
        template = self._template
        if template is None:
            raise InvalidValue("this mirror has no template: it follows, and fits nothing")
        if not instructions:
            return template
        if self._instructed is None or self._instructed[0].content != instructions:
            message = Message("system", instructions)
            first = Instructions([message], name="framework")
            sections = (first, *template.sections)
            self._instructed = message, Template(*sections, budget=template.budget, model=template.model)
        return self._instructed[1]

    def _show(self, context: Context) -> Shown[M]:
        """Keep the receipt, and write the messages."""
        context.render(self._provider)
        context.sent()
        self._sent = context
        counted = self._instructed[0].id if self._instructed else None
        items = self._pairing.pair(context.items)
        messages: list[M] = []
        whole, self._whole = self._whole, {}
        for mark, run in groupby(items, _message_of):
            if mark is None:
                messages += [self._codec.write([item], None) for item in run if item.id != counted]
            elif self._is_current(*mark):  # what the framework took back is not sent
                messages.append(self._written(mark[0], list(run), whole))
        return Shown(messages, context)

    def _written(self, number: int, items: list[Item], whole: dict[int, list[Item]]) -> M:
        """The message of the framework itself if the items are all that it says, else a copy with these."""
        origin, known = self._messages[number], whole.get(number)
        if known is None or len(known) != len(items) or not all(map(is_, known, items)):
            said = self._codec.read(origin)
            if len(said) != len(items) or not all(map(says_same, said, items)):
                return self._codec.write(items, origin)
        self._whole[number] = items
        return origin


def _marked(view: View) -> Iterator[tuple[int, Item, _Mark]]:
    """The items of messages that are not hidden, with their positions, newest first."""
    for position in range(view.end - 1, -1, -1):
        item = view.log.item(position)
        mark = _mark_of(item)
        if mark is not None and view.fate(item.id).state != "hidden":
            yield position, item, mark


def _mark_of(item: Item) -> _Mark | None:
    mark = None if isinstance(item, Unknown) else item.extras.get(MARK)
    return None if mark is None else _Mark(*mark)


def _message_of(item: Item) -> tuple[int, str] | None:
    """The number and the digest of the message that an item is of, if it is of one."""
    mark = None if isinstance(item, Unknown) else item.extras.get(MARK)
    return None if mark is None else (mark[0], mark[2])


def closing_results(view: View, gone: Sequence[Item]) -> list[ToolResult]:
    """Results for calls that are gone and still wait: nobody will answer them."""
    waiting = {call.id for call in view.pending()}
    calls = [item for item in reversed(gone) if isinstance(item, ToolCall) and item.id in waiting]
    return [ToolResult(call.call_id, call.name, NO_RESULT, is_error=True) for call in calls]


def says_same(said: Item, item: Item) -> bool:
    """Whether an item of the log says what an item that was read from a message says."""
    if type(said) is not type(item) or isinstance(said, Unknown) or isinstance(item, Unknown):
        return False
    # What is known of an item besides what it says: whose reply it is part of, and when it was recorded.
    known = ("id", "created_at", "extras", *(("reply_id",) if is_output(item) else ()))
    return replace(said, **{name: getattr(item, name) for name in known}) == item


def escaped(name: str) -> str:
    """A name of the framework as a part of the name of a conversation, in which a slash means below."""
    return name.replace("%", "%25").replace("/", "%2F")


class MirrorOptions(Options, total=False):
    """The options of an integration: those of a session, and these.

    Without another `compactor`, a tool result that has no room is sent as a stub (`Offload`), and the model
    can read it with the tool `read_back`.
    """

    scope: Scope
    """Whose a conversation is. Recall quotes what was said in the scope; without one, each conversation is a
    scope of its own."""
    provider: str
    """The format in which receipts render a request again."""
    idempotent: Collection[str]
    """The names of tools that may run twice. A call of another that began and has no result is not run
    again, where the framework would do that."""


class Mirrors(Generic[M]):
    """The mirrors of the conversations of a framework, by their names; the least recently used are let go.

    `template` may be the size of the model's window in tokens: as much of the conversation is shown as fits.
    An integration gives the model the tool `read_back`.
    """

    def __init__(
        self,
        codec: Codec[M],
        template: Template | int | None,
        store: str | Path | Store = "quire.db",
        *,
        scope: Scope = "",
        provider: str = "openai",
        idempotent: Collection[str] = (),
        **options: Unpack[Options],
    ) -> None:
        self.store = store if isinstance(store, Store) else Store.open(store)
        if isinstance(template, int):
            template = Template(History(), budget=Budget(window=template))
        self.template = template
        self._codec, self._scope, self._provider = codec, scope, provider
        self._idempotent = {*idempotent, READ_BACK["name"]}
        self._options: Options = {"compactor": Offload(), **options}
        self._known: OrderedDict[Place, Mirror[M]] = OrderedDict()
        self._opening = threading.Lock()

    def of(self, *names: str, known: Any = None, scope: str | None = None) -> Mirror[M]:
        """The mirror of a conversation, or of one below it, of which the framework knows something.

        A name may have slashes in it: it never leads to another conversation.
        """
        given = self._scope if scope is None else scope
        if callable(given) and known is None:
            raise InvalidValue("the scope is a function of a run: outside of one, name the scope")
        within = given(known) if callable(given) else given
        place = place_at(scope=within, conversation="/".join(map(escaped, names)))
        with self._opening:
            mirror = self._known.pop(place, None)
            if mirror is None:
                session = Session.open(str(place), store=self.store, **self._options)
                mirror = Mirror(session, self.template, self._codec, self._provider, self._idempotent)
            self._known[place] = mirror
            while len(self._known) > _MOST_SESSIONS:
                self._known.popitem(last=False)
            return mirror

    def refit(self, template: Template) -> None:
        """Fit the next requests to another template."""
        with self._opening:
            self.template = template
            self._known.clear()
