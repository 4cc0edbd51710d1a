"""Receipts: what the model saw, kept so that it can be rendered again exactly.

What is in the log is not kept twice: a view is named by its transcript and revision, an item by its id. What
sections made, and the definitions of tools, are kept once, and named by their version.
"""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import compress
from operator import is_not
from typing import Any, NamedTuple

import msgspec
from msgspec.json import encode
from msgspec.structs import replace

from quire.context import Context
from quire.errors import Forgotten, StoreDamaged
from quire.items import Item, Note, Unknown
from quire.providers import CachePlan, Rendered, provider_for
from quire.session.log import Entries, Log
from quire.session.state import State, Written, mark_of
from quire.state import Scroll, View
from quire.stores.store import is_tombstone
from quire.stores.streams import ALL, OF, RECEIPTS

_RECEIPT = "receipt"


class Kept:
    """One request as it was sent: when, to whom, how large, and a digest of its bytes."""

    def __init__(self, version: int, note: Note, state: State, made: Mapping[int, Item]) -> None:
        content = note.content
        self.version = version
        self.created_at = note.created_at
        self.provider: str = content["provider"]
        self.model: str | None = content["model"]
        self.tokens: int = content["tokens"]
        self.sections: Mapping[str, int] = content["sections"]
        self.digest: str = content["digest"]
        self._content: Mapping[str, Any] = content
        self._state = state
        self._made = made

    def __repr__(self) -> str:
        return f"<Kept request of version {self.version}, {self.tokens:,} tokens to {self.provider}>"

    @property
    def items(self) -> Scroll:
        """The items that the model saw, in order."""
        content, view = self._content, None
        if content.get("transcript") is not None:
            view = self._state.transcripts[content["transcript"]].at(content["revision"])
        before, after = (tuple(map(self._found, content[part])) for part in ("before", "after"))
        return Scroll(before, view, content["start"], after)

    def payload(self) -> Rendered:
        """The request as it was sent.

        `Forgotten` if some of it was forgotten, `StoreDamaged` if its bytes are not what they were.
        """
        if self._content.get("is_bare"):
            raise Forgotten(f"what the request of version {self.version} showed went with its draft")
        plan = msgspec.convert(self._content["plan"], CachePlan)
        items, tools = self.items, self._tools()
        rendered = provider_for(self.provider).render(items, model=self.model, tools=tools, plan=plan)
        if hashlib.sha256(encode(rendered.payload)).hexdigest() != self.digest:
            if any(map(is_tombstone, items)):
                raise Forgotten(f"some of what the request of version {self.version} showed was forgotten")
            raise StoreDamaged(f"the request of version {self.version} cannot be rendered as it was")
        return rendered

    def _tools(self) -> list[dict[str, Any]]:
        version = self._content.get("tools")
        kept = self._made.get(version) if version is not None else None
        if kept is not None and is_tombstone(kept):
            raise Forgotten(f"the tools that the request of version {self.version} offered were forgotten")
        return [dict(tool) for tool in kept.content] if isinstance(kept, Note) else []

    def _found(self, name: str | int) -> Item:
        if isinstance(name, int):
            return self._made[name]
        for transcript in self._state.transcripts.values():
            if name in transcript:
                return transcript.get(name)
        raise StoreDamaged("an item that a receipt names is not here")


def receipts_of(log: Log) -> list[Kept]:
    """The requests that were sent in a conversation, oldest first."""
    with log.lock:
        state = log.state
        versions = state.versions(RECEIPTS)
        made = dict(zip(versions, log.read_at(versions), strict=True))
    return [
        Kept(version, item, state, made)
        for version, item in made.items()
        if isinstance(item, Note) and is_receipt(item)
    ]


def is_receipt(item: Item) -> bool:
    """Whether an item of the stream of receipts is one, and not something that one names."""
    return isinstance(item, Note) and item.description == _RECEIPT


class Sending(NamedTuple):
    """A request that is about to be sent.

    `sources` are names of transcripts by the identity of their logs, `quoted` the names of what items quote.
    """

    context: Context
    provider: str
    model: str | None
    digest: str
    sources: Mapping[int, str]
    quoted: Mapping[str, Sequence[str]]

    def entries(self, state: State) -> Entries:
        """The receipt, after what it names that was not kept before."""
        scroll, context = self.context.items, self.context
        source = None if scroll.view is None else self.sources.get(id(scroll.view.log))
        if scroll.view is not None and source is None:  # it is in no log of ours
            scroll = Scroll(tuple(scroll[: scroll.stable_length]), after=scroll.after)
        new: dict[bytes, Item] = {}

        def keep(item: Item) -> int:
            """The version under which an item is kept, from now on if it was not."""
            mark = mark_of(item)
            if mark not in state.made:
                new.setdefault(mark, item)
            return state.made.get(mark) or state.version + 1 + list(new).index(mark)

        def name(item: Item, is_static: bool = False) -> str | int:
            """The id of an item that is in the log as it is, else the version under which it is kept."""
            view = next((one.view for one in state.transcripts.values() if item.id in one), None)
            if is_in(view, item):
                return item.id
            made = self._with_sources(item, is_static)
            return keep(made if view is None else _as_copy(made))

        content: dict[str, Any] = {
            "provider": self.provider,
            "model": self.model,
            "tokens": context.receipt.tokens,
            "sections": dict(context.tokens),
            "digest": self.digest,
            "plan": msgspec.to_builtins(context.plan),
            "before": [name(item, n < context.plan.static) for n, item in enumerate(scroll.before)],
            "after": [name(item) for item in scroll.after],
            "start": scroll.start,
        }
        if context.tools:  # the same definitions are the same note
            tools = msgspec.json.decode(encode(context.tools))
            content["tools"] = keep(Note(content=tools, id="tools", created_at=0.0))
        if scroll.view is not None and source is not None:
            content |= {"transcript": source, "revision": scroll.view.revision}
        receipt = Note(content=content, description=_RECEIPT)
        return [Written(RECEIPTS, item) for item in (*new.values(), receipt)]

    def _with_sources(self, item: Item, is_static: bool) -> Item:
        """An item that names its sources.

        What a section made without naming them may be made of all that was there, unless it is static.
        """
        if isinstance(item, Unknown | Note):
            return item
        sources = self.quoted.get(item.id, item.extras.get(OF, () if is_static else (ALL,)))
        return replace(item, extras={**item.extras, OF: list(sources)}) if sources else item


def _as_copy(item: Item) -> Item:
    """A changed copy of an item of the log, under an id of its own: it may be forgotten, and the item not."""
    if isinstance(item, Unknown):
        return item
    return replace(
        item, id=f"{item.id}/copy", extras={**item.extras, OF: [*item.extras.get(OF, ()), item.id]}
    )


def is_in(view: View | None, item: Item) -> bool:
    """Whether an item is in the log of a view as it is."""
    position = None if view is None else view.log.find(item.id, view.end)
    return view is not None and position is not None and view.log.item(position) == item


def renumbered(item: Item, versions: Mapping[int, int]) -> Item:
    """A receipt of a draft that names other versions; any other item as it is."""
    if not isinstance(item, Note) or not is_receipt(item):
        return item
    content = dict(item.content)
    for part in ("before", "after"):
        content[part] = [versions[name] if isinstance(name, int) else name for name in content[part]]
    if content.get("tools") is not None:
        content["tools"] = versions[content["tools"]]
    return replace(item, content=content)


def bare(receipt: Note) -> Note:
    """A receipt that says that something was sent, to whom and how much, but not what."""
    nothing: dict[str, Any] = {"before": [], "after": [], "start": 0, "is_bare": True}
    return replace(receipt, content={**receipt.content, **nothing, "transcript": None, "tools": None})


_STEP, _MOST_MARKS = 8, 16
"""After how many messages a digest is kept, and how many: the last messages are often rendered anew."""


class Digests:
    """SHA-256 of the JSON of payloads, each continued from the one before it on the same wire.

    So the work per turn grows with what changed, and not with the length of the conversation.
    """

    def __init__(self) -> None:
        self._known: dict[str, _Digested] = {}

    def of(self, payload: Mapping[str, Any], wire: str) -> str:
        """The digest of a payload."""
        name = max(payload, key=lambda key: len(payload[key]) if isinstance(payload[key], list) else -1)
        if not isinstance(payload[name], list):
            return hashlib.sha256(encode(payload)).hexdigest()
        shared: list[Any] = payload[name]
        messages = list[Any].copy(shared)  # the messages that payloads share, and no copies of them
        keys = list(payload)
        place = keys.index(name)
        fields = [encode(key) + b":" + encode(payload[key]) for key in keys if key != name]
        head = b"{" + b",".join([*fields[:place], encode(name) + b":["])
        known = self._known.get(wire)
        same = 0 if known is None or known.head != head else _count_same(known.messages, messages)
        marks = [mark for mark in known.marks if mark[0] <= same] if known is not None else []
        done, digest = marks[-1] if marks else (0, hashlib.sha256(head))
        digest = digest.copy()
        while done < len(messages):
            digest.update((b"," if done else b"") + encode(messages[done : done + _STEP])[1:-1])
            done = min(done + _STEP, len(messages))
            if done % _STEP == 0:
                marks.append((done, digest.copy()))
        self._known[wire] = _Digested(head, messages, marks[-_MOST_MARKS:])
        digest.update(b"]" + b"".join(b"," + field for field in fields[place:]) + b"}")
        return str(digest.hexdigest())


class _Digested(NamedTuple):
    """The beginning of a payload, its messages, and the digest up to some of them."""

    head: bytes
    messages: Sequence[Any]
    marks: Sequence[tuple[int, Any]]


def _count_same(known: Sequence[Any], messages: Sequence[Any]) -> int:
    """How many messages are the same; nearly all are the same objects, some are rendered anew."""
    same = min(len(known), len(messages))
    changed = compress(range(same), map(is_not, known, messages))
    return next((index for index in changed if encode(known[index]) != encode(messages[index])), same)
