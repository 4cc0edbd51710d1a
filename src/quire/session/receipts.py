"""What the model saw, kept so that it can be shown again exactly.

What is in the log already is not kept twice: a view is named by its transcript and revision, an item by its
id. What sections made, and the definitions of tools, are kept once, and then named by their version. A digest
of the bytes tells whether anything has changed since.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from quire.context import Context
from quire.errors import Forgotten, StoreDamaged
from quire.items import Item, Note
from quire.providers import CachePlan, Rendered, provider_for
from quire.session.streams import RECEIPTS
from quire.session.tombstones import is_tombstone
from quire.session.workspace import Workspace, Written, mark_of
from quire.state import View
from quire.state.scroll import Scroll

KIND = "receipt"


class Kept:
    """One request as it was sent: when, to whom, how large, and the digest of its bytes."""

    def __init__(self, version: int, note: Note, workspace: Workspace, made: Mapping[int, Item]) -> None:
        content = note.content
        self.version = version
        self.created_at = note.created_at
        self.provider: str = content["provider"]
        self.model: str | None = content["model"]
        self.tokens: int = content["tokens"]
        self.sections: Mapping[str, int] = content["sections"]
        self.digest: str = content["digest"]
        self._content: Mapping[str, Any] = content
        self._workspace = workspace
        self._made = made

    def __repr__(self) -> str:
        return f"<Kept request of version {self.version}, {self.tokens:,} tokens to {self.provider}>"

    @property
    def items(self) -> Scroll:
        """The items that the model saw, in order."""
        content, view = self._content, None
        if content.get("transcript") is not None:
            view = self._workspace.transcripts[content["transcript"]].at(content["revision"])
        before = tuple(map(self._found, content["before"]))
        return Scroll(before, view, content["start"], tuple(map(self._found, content["after"])))

    def payload(self) -> Rendered:
        """The request as it was sent.

        `Forgotten` where some of it was forgotten, `StoreDamaged` where its bytes are others than they were.
        """
        if self._content.get("is_bare"):
            raise Forgotten(f"what the request of version {self.version} showed went with its draft")
        plan = msgspec.convert(self._content["plan"], CachePlan)
        items, tools = self.items, self._tools()
        rendered = provider_for(self.provider).render(items, model=self.model, tools=tools, plan=plan)
        if digest_of(rendered.payload) != self.digest:
            if any(map(is_tombstone, items)):
                raise Forgotten(f"some of what the request of version {self.version} showed was forgotten")
            raise StoreDamaged(f"the request of version {self.version} cannot be shown as it was")
        return rendered

    def _tools(self) -> list[dict[str, Any]]:
        version = self._content.get("tools")
        kept = self._made.get(version) if version is not None else None
        return [dict(tool) for tool in kept.content] if isinstance(kept, Note) else []

    def _found(self, name: str | int) -> Item:
        if isinstance(name, int):
            return self._made[name]
        for transcript in self._workspace.transcripts.values():
            if name in transcript:
                return transcript.get(name)
        raise StoreDamaged("an item that a receipt names is not here")


def is_receipt(item: Item) -> bool:
    """Whether an item of the stream of receipts is one, and not something that one names."""
    return isinstance(item, Note) and item.description == KIND


def lasting(recorded: Sequence[Written]) -> set[int]:
    """The versions of what receipts name and no turn made: definitions of tools, and what is always told."""
    found: set[int] = set()
    for stream, item in recorded:
        if stream == RECEIPTS and isinstance(item, Note) and is_receipt(item):
            static = item.content["before"][: item.content["plan"]["static"]]
            found.update(name for name in (*static, item.content.get("tools")) if isinstance(name, int))
    return found


def receipts_in(stored: Mapping[int, Item], workspace: Workspace) -> list[Kept]:
    """The receipts among what the stream of receipts holds, by version."""
    return [
        Kept(version, item, workspace, stored)
        for version, item in stored.items()
        if isinstance(item, Note) and is_receipt(item)
    ]


class Sending:
    """A request that is about to be sent, and what has to be kept of it."""

    def __init__(
        self, context: Context, provider: str, model: str | None, digest: str, names: Mapping[int, str]
    ) -> None:
        self._context = context
        self._names = names  # of the transcripts, by which log is theirs
        self._content: dict[str, Any] = {
            "provider": provider,
            "model": model,
            "tokens": context.receipt.tokens,
            "sections": dict(context.tokens),
            "digest": digest,
            "plan": msgspec.to_builtins(context.plan),
        }

    def written(self, workspace: Workspace) -> list[Written]:
        """The receipt, after what it names that was not kept before."""
        scroll = self._context.items
        if scroll.view is not None and id(scroll.view.log) not in self._names:
            scroll = Scroll(tuple(scroll[: scroll.settled]), after=scroll.after)  # it is in no log of ours
        view, new = scroll.view, dict[bytes, Item]()
        content = {
            **self._content,
            "before": [_named(item, view, workspace, new) for item in scroll.before],
            "after": [_named(item, view, workspace, new) for item in scroll.after],
            "start": scroll.start,
        }
        if self._context.tools:
            content["tools"] = _named(_as_note(self._context.tools), None, workspace, new)
        if view is not None:
            content |= {"transcript": self._names[id(view.log)], "revision": view.revision}
        made = [Written(RECEIPTS, item) for item in new.values()]
        return [*made, Written(RECEIPTS, Note(content=content, description=KIND))]


def shifted(item: Item, by: int) -> Item:
    """A receipt of a log that now stands in another, after so many entries."""
    if not isinstance(item, Note) or not is_receipt(item):
        return item
    content = dict(item.content)
    for part in ("before", "after"):
        content[part] = [name + by if isinstance(name, int) else name for name in content[part]]
    if content.get("tools") is not None:
        content["tools"] += by
    return replace(item, content=content)


def bare(receipt: Note) -> Note:
    """A receipt that says that something was sent, to whom and how much, but not what."""
    nothing: dict[str, Any] = {"before": [], "after": [], "start": 0, "is_bare": True}
    content = {**receipt.content, **nothing, "transcript": None, "tools": None}
    return replace(receipt, content=content)


def digest_of(payload: Mapping[str, Any]) -> str:
    """The digest of a payload's bytes."""
    return hashlib.sha256(msgspec.json.encode(payload)).hexdigest()


def _named(item: Item, view: View | None, workspace: Workspace, new: dict[bytes, Item]) -> str | int:
    """An item by its id where the log has it as it is, else by the version under which it is kept."""
    if view is not None:
        position = view.log.find(item.id, view.end)
        if position is not None and view.log.item(position) == item:
            return item.id
    mark = mark_of(item)
    if mark in workspace.made:
        return workspace.made[mark]
    new.setdefault(mark, item)
    return workspace.version + 1 + list(new).index(mark)


def _as_note(tools: Any) -> Note:
    """The definitions of tools as JSON values; the same ones are the same note."""
    return Note(content=msgspec.json.decode(msgspec.json.encode(tools)), id="tools", created_at=0.0)
