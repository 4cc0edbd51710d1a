"""A session that mirrors the message list of another framework, and fits it to the model's window.

A framework hands its whole list of messages to a hook before each request. `Mirror.fit` records the new
messages in the session, fits a template, and returns the messages to send. Messages that need no change are
the framework's own objects. The framework's list itself is never changed.

Each recorded item carries a mark: the number of its message, and a digest of all messages up to that one. The
newest mark tells whether a list continues what is recorded, also in a new process. If the framework cut or
rewrote its list, the marks tell from which message on. Items of removed messages are hidden and stay in the
log.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from hashlib import blake2b
from itertools import groupby, takewhile
from operator import is_
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, Unpack, cast

import msgspec
from msgspec.structs import replace

from quire.compactors import READ_BACK, Offload, read_back
from quire.context import DEFAULT_MODEL, Context, Template
from quire.errors import Conflict, InvalidValue
from quire.items import (
    Audio,
    File,
    Image,
    Item,
    Message,
    Note,
    Part,
    Summary,
    ToolCall,
    ToolResult,
    Unknown,
    parts_of,
)
from quire.providers import NO_RESULT, Finish, Pairing, Parsed, base64_of, content_for_model, media_type
from quire.sections import History, Instructions
from quire.session import Session, checked_type
from quire.session.session import Options
from quire.state import Fate, View, is_output, is_user_message
from quire.stores import Place, Store, place_at
from quire.tokens import Budget, Definition, Usage, counter_for

M = TypeVar("M")

Scope = str | Callable[[Any], str]
"""A scope, or a function that computes it from what the framework knows of a run, such as the user's id."""

MARK = "native"
"""The key of `extras` that holds an item's mark: number of the message, part of it, digest."""

_PAUSED = "paused"
"""The transcript with a note for each paused call: its tool waits, for example for an approval."""

_MAX_PIECE = 2_000
"""The most tokens that `read_back` returns at once; in a small window it returns fewer."""

_MAX_MIRRORS = 1_000
_encode = msgspec.json.Encoder(order="sorted").encode


class Codec(Protocol[M]):
    """Reads and writes the messages of one framework."""

    def read(self, message: M) -> Sequence[Item]:
        """Return the items of a message. A message without items is neither recorded nor sent."""
        ...

    def write(self, items: Sequence[Item], origin: M | None) -> M:
        """Return a message that shows some items.

        With an origin, the items are some of the origin's, perhaps with other content: return a copy of the
        origin with these items. Without one, the items are new to the framework: a summary, a quote, or the
        result that closes an unanswered call.
        """
        ...

    def identity(self, message: M) -> Any:
        """Return a JSON value that is equal for equal messages: leave out ids and times added later."""
        ...


class Shown(NamedTuple, Generic[M]):
    """The messages of one request, and the context that explains them."""

    messages: list[M]
    context: Context


class _Mark(NamedTuple):
    """The number of an item's message, the item's place in it, and the digest of all messages up to it."""

    message: int
    part: int
    digest: str


class Mirror(Generic[M]):
    """A session that follows the messages of one conversation of a framework.

    It follows a single list. If a framework runs a conversation twice at the same time, the later request
    hides the messages of the other run.
    """

    def __init__(
        self,
        session: Session,
        template: Template | None,
        codec: Codec[M],
        provider: str = "openai",
        idempotent: Collection[str] = (),
    ) -> None:
        """Open a mirror on a session.

        `provider` is the wire format in which a receipt can render its request again. `idempotent` names the
        tools that may run twice. A mirror without a template records messages and cannot fit requests.
        """
        if template is not None and not any(isinstance(section, History) for section in template.sections):
            raise InvalidValue("the template does not show the conversation: add a History()")
        self.session = session
        self._template, self._codec, self._provider = template, codec, provider
        self._idempotent = frozenset(idempotent)
        self._lock = threading.RLock()
        self._messages: list[M] = []  # the framework's list as it was last
        self._digests: list[str] = []  # for each message, the digest of all messages up to it
        self._pairing = Pairing()
        self._unchanged: dict[int, list[Item]] = {}  # messages that were sent as they are, with their items
        self._instructed: tuple[Message, Template] | None = None  # instructions, and the template with them
        self._sent: Context | None = None  # of the last request; `record` records its answer

    def fit(
        self,
        messages: Sequence[M],
        *,
        instructions: str | None = None,
        tools: Sequence[Definition] = (),
        model: str | None = None,
    ) -> Shown[M]:
        """Record new messages, and return the messages to send. The receipt of the request is recorded too.

        `instructions` and `tools` are sent by the framework beside the messages. They are counted in the
        budget, and are not among the messages that are returned.
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
        """Record the answer to the last request: its messages and its token usage."""
        with self._lock:
            start = len(self._messages)
            self._set_messages([*self._messages, *messages])
            items = self._items_from(start)
            finish: Finish = "calls" if any(isinstance(item, ToolCall) for item in items) else "stop"
            self.session.record(Parsed(tuple(items), usage, finish, model), sent=self._sent)

    async def arecord(
        self, messages: Sequence[M], usage: Usage | None = None, *, model: str | None = None
    ) -> None:
        """`record` to be awaited."""
        await asyncio.to_thread(self.record, messages, usage, model=model)

    def follow(self, messages: Sequence[M]) -> None:
        """Record the new messages of a list, and hide the recorded ones that are no longer in it."""
        with self._lock:
            self._set_messages(messages)
            self.session.refresh()
            known_count, removed = self._compare()
            self._hide(removed)  # except the user's last message, which must stay until there is another
            new = self._items_from(known_count)
            try:
                if new:
                    self.session.append(*new, expected=self.session.version)
            except Conflict:  # another process has recorded something: compare again
                return self.follow(messages)
            self._hide(removed)

    def read_back(self, handle: str = "", start: int = 0) -> str:
        """Return a piece of a tool result that was sent as a stub: the work of the tool `read_back`.

        If the model gave wrong arguments, the answer is a sentence that says so.
        """
        if not isinstance(handle, str) or not isinstance(start, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            return "read_back takes the handle as a text, and where to start as a number."
        template = self._template
        counter = counter_for((template.model if template else None) or DEFAULT_MODEL)
        room = template.budget.available // 4 if template else _MAX_PIECE
        pool, view = self.session.pool.copy(), self.session.view()
        return read_back(pool, handle, counter, min(room, _MAX_PIECE), start, view)

    def recorded(self) -> dict[int, list[Item]]:
        """The items of the messages that are recorded and not hidden, by the number of the message."""
        items_by_number, view = dict[int, list[Item]](), self.session.view()
        for item in view.recorded():
            mark = _mark_of(item)
            if mark is not None and view.fate(item.id).state != "hidden":
                items_by_number.setdefault(mark.message, []).append(item)
        return items_by_number

    async def afollow(self, messages: Sequence[M]) -> None:
        """`follow` to be awaited."""
        await asyncio.to_thread(self.follow, messages)

    def begin(self, call_id: str) -> str | None:
        """Record that a call is about to run, and return None. If it must not run, return its answer.

        A call must not run if it began before and has no result: its process was killed or its tool raised,
        and it may have had its effect. It may run again if its tool is idempotent or was paused.
        """
        with self._lock:
            self.session.refresh()
            for call, progress in self.session.calls.list_open():
                if call.call_id == call_id and call.name not in self._idempotent:
                    has_begun = progress in ("begun", "running")
                    return self._resume(call) if has_begun else self.session.calls.begin(call)
            return None

    def _resume(self, call: ToolCall) -> str | None:
        """Return the answer to a call that began before; if it was paused, end the pause and return None."""
        notes = self.session.view(_PAUSED) if _PAUSED in self.session.transcripts else ()
        pauses = [note for note in notes if isinstance(note, Note) and note.key == call.id]
        if not pauses:
            return NO_RESULT
        self.session.hide(*pauses, to=_PAUSED)
        return None

    def pause(self, call_id: str) -> None:
        """Record that the tool of a call stopped to wait for something, so that the call may run again."""
        for call in self.session.view().pending():
            if call.call_id == call_id:
                self.session.append(Note(None, key=call.id), to=_PAUSED)

    # Following the list

    def _set_messages(self, messages: Sequence[M]) -> None:
        """Replace the list by a newer one, and compute the digests that changed.

        A message that is the same object as before keeps its digest. A message that the last request sent is
        digested again: the framework may have changed it in place since.
        """
        pairs = zip(self._messages, messages, strict=False)
        same_count = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
        sent = (number for number in sorted(self._unchanged) if number < same_count)
        changed = (number for number in sent if self._digest(number) != self._digests[number])
        same_count = next(changed, same_count)
        self._messages = list(messages)
        del self._digests[same_count:]
        for number in range(same_count, len(messages)):
            self._digests.append(self._digest(number))

    def _digest(self, number: int) -> str:
        """The digest of all messages up to one, computed from the digest before it and that message."""
        before = self._digests[number - 1] if number else ""
        data = before.encode() + _encode(self._codec.identity(self._messages[number]))
        return blake2b(data, digest_size=12).hexdigest()

    def _compare(self) -> tuple[int, list[Item]]:
        """How many messages of the list are recorded, and the recorded items that are not in the list."""
        view, known_count = self.session.view(), 0
        removed_positions: list[int] = []
        for position, item, mark in _marked(view):
            if self._is_current(mark.message, mark.digest) and not (
                is_user_message(item) and self._is_after_hidden(view, position, mark.message)
            ):
                known_count = mark.message + 1
                break
            removed_positions.append(position)
        if not removed_positions:
            return known_count, []
        # A group can only be hidden whole. Messages with other items of such a group are recorded again.
        start = min(map(view.log.head, removed_positions))
        for _, _, mark in takewhile(lambda row: row[0] >= start, _marked(view)):
            known_count = min(known_count, mark.message)
        rows = takewhile(lambda row: row[2].message >= known_count, _marked(view))
        return known_count, [item for _, item, _ in rows]

    def _is_current(self, number: int, digest: str) -> bool:
        """Whether a message of the list has this number and digest."""
        return number < len(self._digests) and digest == self._digests[number]

    def _is_after_hidden(self, view: View, position: int, number: int) -> bool:
        """Whether the message before a user message is hidden.

        Then the user message was removed with it, and is only shown because the user's last message cannot
        be hidden.
        """
        for earlier in range(position - 1, -1, -1):
            item = view.log.item(earlier)
            mark = _mark_of(item)
            if mark is not None and mark.message < number and self._is_current(mark.message, mark.digest):
                return view.fate(item.id).state == "hidden"
        return False

    def _hide(self, items: Sequence[Item]) -> None:
        """Hide items, and undo the summaries that cover them.

        Pinned items and the user's last message cannot be hidden: `_show` leaves them out.
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
            fates = self._fates(items)  # an older summary may be in force again: undo it as well
        last = next(filter(is_user_message, reversed(self.session.view())), None)
        last_id = last.id if last else None
        shown = [id for id, fate in fates.items() if fate.state not in ("pinned", "hidden")]
        if ids := [id for id in shown if id != last_id]:
            self.session.hide(*ids)

    def _fates(self, items: Sequence[Item]) -> dict[str, Fate]:
        view = self.session.view()
        return {item.id: view.fate(item.id) for item in items}

    def _items_from(self, start: int) -> list[Item]:
        """The items of the list from a message on, with their marks."""
        return [
            replace(item, extras={**item.extras, MARK: [number, part, self._digests[number]]})
            for number in range(start, len(self._messages))
            for part, item in enumerate(self._codec.read(self._messages[number]))
            if not isinstance(item, Unknown)
        ]

    # Showing what fits

    def _template_with(self, instructions: str | None) -> Template:
        """The template with the framework's instructions, so that they are counted; `_show` omits them."""
        template = self._template
        if template is None:
            raise InvalidValue("this mirror has no template: it records messages, and cannot fit requests")
        if not instructions:
            return template
        if self._instructed is None or self._instructed[0].content != instructions:
            message = Message("system", instructions)
            first = Instructions([message], name="framework")
            sections = (first, *template.sections)
            self._instructed = message, Template(*sections, budget=template.budget, model=template.model)
        return self._instructed[1]

    def _show(self, context: Context) -> Shown[M]:
        """Record the receipt, and write the messages."""
        context.render(self._provider)
        context.sent()
        self._sent = context
        instructions = self._instructed[0].id if self._instructed else None
        messages: list[M] = []
        before, self._unchanged = self._unchanged, {}
        for key, run in groupby(self._pairing.pair(context.items), _message_key):
            if key is None:
                messages += [self._codec.write([item], None) for item in run if item.id != instructions]
            elif self._is_current(*key):  # else it is no longer in the framework's list
                number, items = key[0], list(run)
                messages.append(self._message(number, items, before.get(number, ())))
        return Shown(messages, context)

    def _message(self, number: int, items: list[Item], items_before: Sequence[Item]) -> M:
        """The framework's own message if it says just these items, else a copy of it with these items.

        `items_before` are the items with which the last request showed it unchanged: the same objects need no
        comparison.
        """
        origin = self._messages[number]
        if len(items_before) != len(items) or not all(map(is_, items_before, items)):
            parsed = self._codec.read(origin)
            if len(parsed) != len(items) or not all(map(says_same, parsed, items)):
                return self._codec.write(items, origin)
        self._unchanged[number] = items
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


def _message_key(item: Item) -> tuple[int, str] | None:
    """The number and the digest of an item's message; None for an item that has no message."""
    mark = _mark_of(item)
    return None if mark is None else (mark.message, mark.digest)


def closing_results(view: View, removed: Sequence[Item]) -> list[ToolResult]:
    """Results for the pending calls among removed items: nobody will answer these calls."""
    pending = {call.id for call in view.pending()}
    calls = [item for item in reversed(removed) if isinstance(item, ToolCall) and item.id in pending]
    return [ToolResult(call.call_id, call.name, NO_RESULT, is_error=True) for call in calls]


def says_same(parsed: Item, recorded: Item) -> bool:
    """Whether an item just read from a message equals a recorded one, apart from what recording adds."""
    if type(parsed) is not type(recorded) or isinstance(parsed, Unknown) or isinstance(recorded, Unknown):
        return False
    names = ("id", "created_at", "extras", *(("reply_id",) if is_output(recorded) else ()))
    return replace(parsed, **{name: getattr(recorded, name) for name in names}) == recorded


def parts_for_model(item: Item) -> tuple[Part, ...]:
    """The parts of a message, a note or a summary, as a model reads them: quoted or framed where needed."""
    return parts_of(content_for_model(cast("Message | Note | Summary", item)))


def address_of(part: Image | Audio | File) -> str:
    """The address of a part, or its bytes as a `data:` address."""
    kind = media_type(part) or "application/octet-stream"
    return part.url or f"data:{kind};base64,{base64_of(part.data or b'')}"


def escaped(name: str) -> str:
    """A name given by the framework, escaped: a slash in it does not begin a conversation below."""
    return name.replace("%", "%25").replace("/", "%2F")


class MirrorOptions(Options, total=False):
    """The options of an integration: the options of a session, and these.

    The default `compactor` is `Offload`: a tool result for which there is no room is sent as a stub, and the
    model can read it with the tool `read_back`.
    """

    scope: Scope
    """The owner of a conversation, such as a user's id. Recall quotes from all conversations of the scope.
    Without a scope, it quotes from the conversation alone."""
    provider: str
    """The wire format in which receipts render a request again."""
    idempotent: Collection[str]
    """The names of tools that may run twice. A call of any other tool that began and has no result is
    answered with an error instead of running again."""


class Mirrors(Generic[M]):
    """The mirrors of a framework's conversations, by their names; the most recently used stay open.

    `template` may be the size of the model's window in tokens: then as much of the conversation is shown as
    fits. Each integration must offer the tool `read_back` to the model.
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
        checked_type(template, Template | int | None, "the template must be a Template or a number of tokens")
        if isinstance(template, int):
            template = Template(History(), budget=Budget(window=template))
        self.template = template
        self._codec, self._scope, self._provider = codec, scope, provider
        self._idempotent = {*idempotent, READ_BACK["name"]}
        self._options: Options = {"compactor": Offload(), **options}
        self._open: OrderedDict[Place, Mirror[M]] = OrderedDict()
        self._opening = threading.Lock()

    def of(self, *names: str, run: Any = None, scope: str | None = None) -> Mirror[M]:
        """The mirror of a conversation, named by its path: `of("a")`, or `of("a", "b")` for `b` below `a`.

        A slash in a name is escaped. If the scope of the mirrors is a function, it is called with `run`: what
        the framework knows of a run. If `scope` is set, it is used instead of theirs.
        """
        chosen = self._scope if scope is None else scope
        if callable(chosen):
            if run is None:
                raise InvalidValue("the scope is a function of a run: outside of one, name the scope")
            chosen = chosen(run)
        place = place_at(scope=chosen, conversation="/".join(map(escaped, names)))
        with self._opening:
            mirror = self._open.pop(place, None)
            if mirror is None:
                session = Session.open(str(place), store=self.store, **self._options)
                mirror = Mirror(session, self.template, self._codec, self._provider, self._idempotent)
            self._open[place] = mirror
            while len(self._open) > _MAX_MIRRORS:
                self._open.popitem(last=False)
            return mirror

    def refit(self, template: Template) -> None:
        """Fit the next requests to another template."""
        with self._opening:
            self.template = template
            self._open.clear()
