"""What the model saw, kept so that it can be shown again exactly.

What is in the log already is not kept twice: a view is named by its transcript and revision, an item by its
id. What sections made, and the definitions of tools, are kept once, and then named by their version. A digest
of the bytes tells whether anything has changed since.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from quire.context import Context
from quire.errors import Forgotten, StoreDamaged
from quire.items import Item, Note
from quire.providers import CachePlan, Rendered, provider_for
from quire.session.workspace import Workspace, Written, mark_of
from quire.state import Scroll, Transcript, View
from quire.stores.streams import RECEIPTS
from quire.stores.tombstones import is_tombstone

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
            view = self._transcript(content["transcript"]).at(content["revision"])
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

    def _transcript(self, name: str) -> Transcript:
        """A transcript as it was shown: some of what others wrote may have been redacted on the way."""
        transcript = self._workspace.transcripts[name]
        redacted = [self._made[version] for version in self._content.get("redacted", ())]
        if not redacted:
            return transcript
        instead = {item.id: item for item in redacted}
        recorded = transcript.recorded()[: self._content["revision"]]
        return Transcript(instead.get(item.id, item) for item in recorded)

    def _tools(self) -> list[dict[str, Any]]:
        version = self._content.get("tools")
        kept = self._made.get(version) if version is not None else None
        if kept is not None and is_tombstone(kept):
            raise Forgotten(f"the tools that the request of version {self.version} offered were forgotten")
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


class Source(NamedTuple):
    """A transcript that was shown: its name, and what was shown in place of some of its items, by id."""

    name: str
    redacted: Mapping[str, Item]


class Sending:
    """A request that is about to be sent, and what has to be kept of it."""

    def __init__(
        self, context: Context, provider: str, model: str | None, digest: str, sources: Mapping[int, Source]
    ) -> None:
        self._context = context
        self._sources = sources  # by which log is theirs
        self._content: dict[str, Any] = {
            "provider": provider,
            "model": model,
            "tokens": context.receipt.tokens,
            "sections": dict(context.tokens),
            "digest": digest,
            "plan": msgspec.to_builtins(context.plan),
        }

    def written(self, workspace: Workspace, after: int = 0) -> list[Written]:
        """The receipt, after what it names that was not kept before, and so many entries before that."""
        scroll = self._context.items
        source = None if scroll.view is None else self._sources.get(id(scroll.view.log))
        if scroll.view is not None and source is None:
            scroll = Scroll(
                tuple(scroll[: scroll.stable_length]), after=scroll.after
            )  # it is in no log of ours
        naming = _Naming(scroll.view, source, workspace, after)
        content = {
            **self._content,
            "before": [naming.named(item) for item in scroll.before],
            "after": [naming.named(item) for item in scroll.after],
            "start": scroll.start,
        }
        if self._context.tools:
            content["tools"] = naming.kept(_as_note(self._context.tools))
        if scroll.view is not None and source is not None:
            content |= {"transcript": source.name, "revision": scroll.view.revision}
            if source.redacted:
                content["redacted"] = list(map(naming.kept, source.redacted.values()))
        made = [Written(RECEIPTS, item) for item in naming.new.values()]
        return [*made, Written(RECEIPTS, Note(content=content, description=KIND))]


class _Naming:
    """How a receipt names items: by their ids, or by versions; `new` is what has to be kept for that."""

    def __init__(self, view: View | None, source: Source | None, workspace: Workspace, after: int) -> None:
        self._view, self._workspace = view, workspace
        self._next = workspace.version + after + 1
        self._redacted: Mapping[str, Item] = {} if source is None else source.redacted
        self.new: dict[int, Item] = {}
        self._versions: dict[bytes, int] = {}

    def named(self, item: Item) -> str | int:
        """An item by its id where the log has it as it is, else by the version under which it is kept."""
        if self._view is not None and item.id not in self._redacted:
            position = self._view.log.find(item.id, self._view.end)
            if position is not None and self._view.log.item(position) == item:
                return item.id
        return self.kept(item)

    def kept(self, item: Item) -> int:
        """The version under which an item is kept, from now on if it was not."""
        mark = mark_of(item)
        version = self._workspace.made.get(mark) or self._versions.get(mark)
        if version is None:
            version = self._versions[mark] = self._next + len(self.new)
            self.new[version] = item
        return version


def shifted(item: Item, by: int) -> Item:
    """A receipt of a log that now stands in another, after so many entries."""
    if not isinstance(item, Note) or not is_receipt(item):
        return item
    content = dict(item.content)
    for part in ("before", "after", "redacted"):
        if part in content:
            content[part] = [name + by if isinstance(name, int) else name for name in content[part]]
    if content.get("tools") is not None:
        content["tools"] += by
    return replace(item, content=content)


def bare(receipt: Note) -> Note:
    """A receipt that says that something was sent, to whom and how much, but not what."""
    nothing: dict[str, Any] = {"before": [], "after": [], "redacted": [], "start": 0, "is_bare": True}
    content = {**receipt.content, **nothing, "transcript": None, "tools": None}
    return replace(receipt, content=content)


def digest_of(payload: Mapping[str, Any]) -> str:
    """The digest of a payload's bytes."""
    return hashlib.sha256(msgspec.json.encode(payload)).hexdigest()


def _as_note(tools: Any) -> Note:
    """The definitions of tools as JSON values; the same ones are the same note."""
    return Note(content=msgspec.json.decode(msgspec.json.encode(tools)), id="tools", created_at=0.0)
