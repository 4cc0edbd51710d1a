"""What the model saw, kept so that it can be shown again exactly.

What is in the log already is not kept twice: a view is named by its transcript and revision, an item by its
id. What was made for the turn alone is kept with the receipt. A digest of the bytes tells whether anything
has changed since.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from quire.context import Context
from quire.errors import Forgotten, StoreDamaged
from quire.items import JSON, Item, Note
from quire.providers import CachePlan, Rendered, provider_for
from quire.session.workspace import Workspace
from quire.state import View
from quire.state.scroll import Scroll

KIND = "receipt"


class Kept:
    """One request as it was sent: when, to whom, how large, and the digest of its bytes."""

    def __init__(self, version: int, note: Note, workspace: Workspace) -> None:
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

    def __repr__(self) -> str:
        return f"<Kept request of version {self.version}, {self.tokens:,} tokens to {self.provider}>"

    @property
    def items(self) -> Scroll:
        """The items that the model saw, in order."""
        content, transcripts = self._content, self._workspace.transcripts
        view = None
        if content.get("transcript") is not None:
            view = transcripts[content["transcript"]].at(content["revision"])
        found = _finding(transcripts)
        before = tuple(map(found, content["before"]))
        return Scroll(before, view, content["start"], tuple(map(found, content["after"])))

    def payload(self) -> Rendered:
        """The request as it was sent. `StoreDamaged` where its bytes are others than they were."""
        if self._content.get("forgotten"):
            raise Forgotten(f"some of what the request of version {self.version} showed was forgotten")
        plan = msgspec.convert(self._content["plan"], CachePlan)
        tools = [dict(tool) for tool in self._content["tools"]]
        wire = provider_for(self.provider)
        rendered = wire.render(self.items, model=self.model, tools=tools, plan=plan)
        if digest_of(rendered.payload) != self.digest:
            raise StoreDamaged(f"the request of version {self.version} cannot be shown as it was")
        return rendered


def receipt_of(
    context: Context, provider: str, model: str | None, digest: str, names: Mapping[int, str]
) -> Note:
    """The item that keeps what was sent; `names` are those of the transcripts, by which log is theirs."""
    scroll = context.items
    view = scroll.view
    content: dict[str, Any] = {
        "provider": provider,
        "model": model,
        "tokens": context.receipt.tokens,
        "sections": dict(context.tokens),
        "digest": digest,
        "plan": msgspec.to_builtins(context.plan),
        "tools": [_plain(tool) for tool in context.tools],
        "before": [_named(item, view) for item in scroll.before],
        "after": [_named(item, view) for item in scroll.after],
        "start": scroll.start,
    }
    if view is not None:
        content["transcript"] = names[id(view.log)]
        content["revision"] = view.revision
    return Note(content=content, description=KIND)


def digest_of(payload: Mapping[str, Any]) -> str:
    """The digest of a payload's bytes."""
    return hashlib.sha256(msgspec.json.encode(payload)).hexdigest()


def _named(item: Item, view: View | None) -> str | dict[str, str]:
    """An item by its id where the log has it as it is, else the item itself, as text."""
    if view is not None:
        position = view.log.find(item.id, view.end)
        if position is not None and view.log.item(position) == item:
            return item.id
    return {"item": JSON.encode_item(item).decode()}


def _finding(transcripts: Mapping[str, Any]) -> Callable[[Any], Item]:
    def find(named: Any) -> Item:
        if not isinstance(named, str):
            return JSON.decode_item(named["item"])
        for transcript in transcripts.values():
            if named in transcript:
                item: Item = transcript.get(named)
                return item
        raise StoreDamaged("an item that a receipt names is not here")

    return find


def _plain(tool: Any) -> Any:
    """A tool definition as JSON values."""
    return msgspec.json.decode(msgspec.json.encode(tool))
