"""Receipts: records of the requests that were sent, from which each can be rendered and explained again.

A receipt refers to the log instead of copying it: to a view by transcript and revision, to an item by its id.
Items that sections made, definitions of tools, parameters of requests, and candidates of a selection are
stored as receipt parts. A receipt refers to a part by its version; equal parts are stored once.
"""

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import compress
from operator import is_not
from typing import Any, NamedTuple, overload

import msgspec
from msgspec.json import encode
from msgspec.structs import replace

from quire.context import (
    DEFAULT_MODEL,
    LEDGER,
    VISIBLE,
    Context,
    Entry,
    Explained,
    Explanation,
    Line,
    Part,
    Piece,
    Selected,
    budget_bar,
    receipt_html,
    receipt_table,
)
from quire.errors import Forgotten, OutOfRange, QuireError, StoreDamaged, StoreFailed, UnknownId, cut
from quire.items import Item, Message, Note, Unknown
from quire.memory import Quote
from quire.memory.quotes import SelectedQuotes
from quire.providers import CachePlan, Rendered, provider_for
from quire.sections import TURN, History, Settings
from quire.session.log import Entries, Log
from quire.session.provenance import names_of
from quire.session.spending import Spending
from quire.session.state import State, Written, candidates_note, detail_note, is_in, item_digest, sources_of
from quire.state import Cut, Scroll, View
from quire.stores.store import is_tombstone
from quire.stores.streams import ALL, LOST, RECEIPT_PARTS, RECEIPTS, SOURCES, USAGE
from quire.tokens import Definition, counter_for

_NOT_IN_BODY = frozenset(("timeout", "extra_headers", "extra_query", "extra_body", "http_options"))
"""Arguments of SDKs that are not sent in the body of a request; some hold API keys."""

_COPY = "/copy"  # the end of the id of a changed item: see `_as_copy`

_SUMMARY = ("provider", "model", "tokens", "available", "reserve", "count_error", "sections", "digest")
"""The fields that even a bare receipt has, `reserve` and `count_error` only if they are known."""


class StoredReceipt:
    """The receipt of a request that was sent: its time, provider, sizes, and the fate of each candidate."""

    def __init__(self, version: int, note: Note, state: State, parts: "_StoredParts") -> None:
        content = note.content
        self.id = note.id
        self.version = version
        self.created_at = note.created_at
        self.provider: str = content["provider"]
        self.model: str | None = content["model"]
        self.tokens: int = content["tokens"]
        self.available: int = content.get("available", self.tokens)
        self.reserve: int | None = content.get("reserve")
        """The tokens that the budget kept free for the answer; `None` if not known."""
        self.count_error: float | None = content.get("count_error")
        """The largest error of the counter in earlier requests, as a share; `None` if not known."""
        self.sections: Mapping[str, int] = content["sections"]
        self.advice: Sequence[str] = tuple(content.get("advice", ()))
        self.digest: str = content["digest"]
        """SHA-256 of the rendered payload as JSON."""
        self._content: Mapping[str, Any] = content
        self._state = state
        self._stored_parts = parts

    def __repr__(self) -> str:
        return f"<StoredReceipt of version {self.version}, {self.tokens:,} tokens to {self.provider}>"

    def __str__(self) -> str:
        """The receipt as a table."""
        return repr(self) if self.is_bare else receipt_table(self)

    def _repr_html_(self) -> str:
        return budget_bar(self) if self.is_bare else receipt_html(self)

    @property
    def is_bare(self) -> bool:
        """Whether the receipt has only sizes: its content was forgotten, lost by damage, or never kept."""
        return bool(self._content.get("is_bare"))

    def lines(self) -> list[Line]:
        """A line for each section, as in the table; none if the receipt is bare."""
        rows: Sequence[Mapping[str, Any]] = self._content.get("parts", ())
        return [Line(row["name"], self.sections[row["name"]], *row["line"]) for row in rows]

    @property
    def runs(self) -> list[tuple[str, int]]:
        """The sections in the order of the items, each with its number of items.

        A history that is split by quotes before its question has two runs.
        """
        split_section, behind = self._content.get("split", ("", 0))  # items behind the quotes
        runs = [(row["name"], row["shown"]) for row in self._content.get("parts", ())]
        runs = [(name, shown - behind if name == split_section else shown) for name, shown in runs]
        return [*runs, (split_section, behind)] if behind else runs

    @property
    def beside(self) -> Mapping[str, int]:
        """The tokens of tool definitions and of the answer schema, if there are any."""
        tokens: Mapping[str, int] = self._content.get("beside", {})
        return tokens

    @property
    def spending(self) -> Spending:
        """The usage and cost of the answers to the request, as far as they were reported."""
        return self._stored_parts.spending.get(self.id, Spending())

    @property
    def tools(self) -> Sequence[Definition]:
        """The definitions of tools that were sent."""
        self._check_whole()
        return tuple(self._detail("tools") or ())

    @property
    def plan(self) -> CachePlan:
        """The cache plan: how much of the beginning of the request was expected to stay the same."""
        self._check_whole()
        return msgspec.convert(self._content["plan"], CachePlan)

    @property
    def items(self) -> Scroll:
        """The items that the model saw, in order."""
        self._check_whole()
        content = self._content
        before, after = (tuple(map(self._resolve, content[part])) for part in ("before", "after"))
        return Scroll(before, self.view, content["start"], after)

    @property
    def view(self) -> View | None:
        """The view of the history at the time of the request; `None` if no view was sent."""
        self._check_whole()
        name = self._content.get("transcript")
        return None if name is None else self._state.transcripts[name].at(self._content["revision"])

    def shows(self, item: Item) -> bool | None:
        """Whether the model saw an item: whole, as a stub or in a quote. `None` if that is not known."""
        if self.is_bare:
            return None
        if item.id in self._ids_outside_view:
            return True
        view = self.view
        position = None if view is None else view.log.find(item.id, view.end)
        if view is None or position is None:
            if item.id in self._ids_from_elsewhere:
                return True
            return None if item.created_at > self.created_at else False
        is_in_view = view.fate_at(position).state in VISIBLE or view.shows_summary(position)
        return is_in_view and view.index_of(position) >= self._content["start"]

    @property
    def selected(self) -> Selected:
        """The visible blocks of quotes, by section, each with the turn that it was made for."""
        blocks: dict[str, tuple[str, Sequence[Item]]] = {}
        for item in self._made_items():
            if isinstance(item, Message) and not is_tombstone(item) and TURN in item.extras:
                blocks[item.id.rpartition("/")[0]] = item.extras[TURN], (item,)
        return blocks

    def _references(self) -> Sequence[str | int]:
        """References to the items outside the view: ids of items of the log, versions of receipt parts."""
        return (*self._content.get("before", ()), *self._content.get("after", ()))

    def _made_items(self) -> list[Item]:
        """The items that sections made for this request."""
        return [self._resolve(version) for version in self._references() if isinstance(version, int)]

    @cached_property
    def _ids_outside_view(self) -> frozenset[str]:
        """The ids of the items outside the view, and of those of this conversation that they quote."""
        in_log = [item_id for item_id in self._references() if isinstance(item_id, str)]
        quoted = [name for item in self._made_items() for name in (item.id, *sources_of(item))]
        return frozenset((*in_log, *quoted))

    @cached_property
    def _ids_from_elsewhere(self) -> frozenset[str]:
        """The ids of the quoted items of other conversations, which are named `digest/id`."""
        names = (name for item in self._made_items() for name in sources_of(item))
        return frozenset(name.partition("/")[2] for name in names)

    def payload(self, *, cache: bool = True) -> Rendered:
        """The payload as it was rendered, without the parameters; without `cache`, also without cache fields.

        `Forgotten` if some of it was forgotten, `StoreDamaged` if it renders to other bytes than it did then.
        """
        items, wire = self.items, provider_for(self.provider)
        rendered = wire.render(items, model=self.model, tools=self.tools, plan=self.plan)
        if hashlib.sha256(encode(rendered.shared)).hexdigest() != self.digest:
            if any(map(is_tombstone, items)):
                raise Forgotten(f"some of what the request of version {self.version} showed was forgotten")
            raise StoreDamaged(f"the request of version {self.version} cannot be rendered as it was")
        if cache:
            return rendered
        return wire.render(items, model=self.model, tools=self.tools, plan=replace(self.plan, keep="none"))

    @property
    def parameters(self) -> Mapping[str, Any] | None:
        """The parameters that were sent with the payload or replaced its fields; `None` if not known."""
        self._check_whole()
        parameters: Mapping[str, Any] | None = self._detail("parameters")
        return parameters

    def request(self) -> dict[str, Any]:
        """The arguments of the client's method: the payload with the parameters, as far as these are known.

        The client makes the body of the request from them; some use other names, as the SDK of Gemini does.
        """
        request: dict[str, Any] = {**self.payload().payload}
        for name, value in (self.parameters or {}).items():
            request[name] = {**request[name], **value} if _are_mappings(request, name, value) else value
        return request

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What became of each candidate, section by section."""
        return self._explanation.entries

    def explain(self, item: Item | str) -> Entry:
        """What became of one candidate: the entry that `context.explain` returned then.

        `Forgotten` if the data for the entry was forgotten. The tokens are counted with the counter of the
        model, so they differ if the request was built with another counter.
        """
        try:
            return self._explanation.of(item)
        except UnknownId:
            parts = self._content.get("parts", ())
            if any(is_tombstone(self._stored_parts[row["rows"]]) for row in parts if "rows" in row):
                raise Forgotten("what explains the candidates of this request was forgotten") from None
            raise

    @cached_property
    def _explanation(self) -> Explanation:
        self._check_whole()
        counter = counter_for(self._content.get("counted_for") or self.model or DEFAULT_MODEL)
        return Explanation(self._parts(), counter)

    def pieces(self) -> tuple[Piece, ...]:
        """The content of the sections, to be fitted into another budget.

        A history has its whole view. Other sections have only the items that they showed.
        """
        self._check_whole()
        pieces: list[Piece] = []
        for row, shown, view in self._rows():
            if row.get("rule") == LEDGER:
                continue  # the history makes a new one
            if view is None:
                pieces.append(Piece(Settings(row["name"], required=not row.get("is_in_rows")), shown))
            else:
                content = _content_of(row, shown) if row.get("is_filtered") else view
                pieces.append(Piece(History(name=row["name"]), content, source=view))
        return tuple(pieces)

    def _rows(self) -> Iterator[tuple[Mapping[str, Any], Sequence[Item], View | None]]:
        """The stored row of each section, with the items it showed and its view if it is a history."""
        items, start = self._in_order_of_sections(), 0
        for row in self._content.get("parts", ()):
            shown, start = items[start : start + row["shown"]], start + row["shown"]
            transcript, revision = row.get("of", ("", 0))
            yield row, shown, self._state.transcripts[transcript].at(revision) if transcript else None

    def _in_order_of_sections(self) -> Sequence[Item]:
        """The items, with a split history put together again before the quotes that split it."""
        items, (section, behind) = self.items, self._content.get("split", ("", 0))
        if not behind:
            return items
        lengths = {row["name"]: row["shown"] for row in self._content["parts"]}
        rest = len(items) - behind  # where the second part of the history begins
        quotes_start = rest - sum(list(lengths.values())[list(lengths).index(section) + 1 :])
        return [*items[:quotes_start], *items[rest:], *items[quotes_start:rest]]

    def _parts(self) -> Iterator[Part]:
        """The parts that explain the request, section by section."""
        for row, shown, view in self._rows():
            yield Part(
                row["name"],
                row["shown"],
                row.get("rule", ""),
                () if row.get("is_in_rows") else shown,  # the rows explain all candidates
                view,
                row.get("is_filtered", False),
                Cut(*row["cut"]) if "cut" in row else None,
                row.get("free", 0),
                list(_explained(row["name"], self._stored_parts[row["rows"]] if row.get("rows") else None)),
            )

    def _check_whole(self) -> None:
        if self.is_bare:
            raise Forgotten(
                f"what the request of version {self.version} showed was forgotten, lost or not kept"
            )

    def _detail(self, field: str) -> Any:
        """The content of the receipt part that a field refers to; `None` if there is no such field."""
        version = self._content.get(field)
        if version is None:
            return None
        part = self._stored_parts[version]
        if is_tombstone(part):
            raise Forgotten(f"the {field} of the request of version {self.version} were forgotten")
        return part.content if isinstance(part, Note) else None

    def _resolve(self, reference: str | int) -> Item:
        """The item of the log with an id, or the receipt part of a version."""
        if isinstance(reference, int):
            return _original(self._stored_parts[reference])
        for transcript in self._state.transcripts.values():
            if reference in transcript:
                return transcript.get(reference)
        raise StoreDamaged(f"the receipt of version {self.version} names an item that is not in the log")


def _content_of(row: Mapping[str, Any], shown: Sequence[Item]) -> list[Item]:
    """The items of a filtered history, without its ledger."""
    return [item for item in shown if not item.id.startswith(f"{row['name']}/{LEDGER}/")]


def _are_mappings(payload: Mapping[str, Any], name: str, value: Any) -> bool:
    """Whether a parameter and the payload field of its name are both mappings, which are sent merged."""
    return isinstance(value, Mapping) and isinstance(payload.get(name), Mapping)


def _explained(name: str, rows: Item | None) -> Iterator[Explained]:
    """Decode the entries of candidates that a receipt part lists one by one."""
    if not isinstance(rows, Note) or is_tombstone(rows):
        return
    content = msgspec.json.decode(zlib.decompress(rows.content))
    kinds = content["kinds"]
    for item_id, created_at, tokens, which in content["rows"]:
        kind, fate, rule, reason, source, origin = kinds[which]
        yield Explained(created_at, Entry(item_id, kind, name, fate, rule, tokens, reason, source, origin))


class Receipts(Sequence[StoredReceipt]):
    """The receipts of a conversation, oldest first. Reading the last ones does not read the others."""

    def __init__(self, log: Log) -> None:
        self._log, self._state, self._end = log, log.state, log.version + 1
        self._parts = _StoredParts(log)

    def __len__(self) -> int:
        return len(self.versions())

    def __iter__(self) -> Iterator[StoredReceipt]:
        return iter(self[:])

    def __reversed__(self) -> Iterator[StoredReceipt]:
        return reversed(self[:])

    def versions(self, limit: int | None = None) -> list[int]:
        """The versions of all receipts, or of the last `limit`, without reading the receipts."""
        return self._log.store.versions_of(self._log.place, RECEIPTS, before=self._end, limit=limit)

    @overload
    def __getitem__(self, index: int) -> StoredReceipt: ...
    @overload
    def __getitem__(self, index: slice) -> list[StoredReceipt]: ...
    def __getitem__(self, index: int | slice) -> StoredReceipt | list[StoredReceipt]:
        first = index.start if isinstance(index, slice) else index
        is_to_end = not isinstance(index, slice) or (index.stop is None and index.step is None)
        limit = -first if isinstance(first, int) and first < 0 and is_to_end else None
        versions = self.versions(limit)
        if not versions and not isinstance(index, slice):
            raise OutOfRange(
                "no request was sent yet: `session.record` and `context.sent` keep a receipt of it"
            )
        chosen = versions[index]
        versions = [chosen] if isinstance(chosen, int) else chosen
        rows = zip(versions, self._parts.read(versions), strict=True)
        receipts = [self._receipt(at, note) for at, note in rows if isinstance(note, Note)]
        return receipts[0] if isinstance(chosen, int) else receipts

    def _receipt(self, version: int, note: Note) -> StoredReceipt:
        receipt = StoredReceipt(version, note, self._state, self._parts)
        if LOST not in self._state.last_versions or receipt.is_bare:
            return receipt
        try:  # a receipt counts the items before it, so a lost one may shift what it names
            receipt.payload()
        except StoreFailed:  # nothing is lost: the store cannot be read now
            raise
        except QuireError:
            return StoredReceipt(version, bare(note), self._state, self._parts)
        return receipt


def request_named(receipts: Sequence[StoredReceipt], asked: str) -> StoredReceipt:
    """The receipt at a version; "last" or "-1" is the last one, "-2" the one before it."""
    if not receipts:
        raise UnknownId("no request was kept in this conversation")
    by_name = {str(receipt.version): receipt for receipt in receipts} | {"last": receipts[-1]}
    by_name |= {str(-place): receipt for place, receipt in enumerate(reversed(receipts), 1)}
    if asked not in by_name:
        known = ", ".join(str(receipt.version) for receipt in receipts[-10:])
        raise UnknownId(f"no request was kept at version {cut(asked)!r}; the last are {known}")
    return by_name[asked]


class _StoredParts(dict[int, Item]):
    """Receipts and receipt parts by version. A missing one is read from the log."""

    def __init__(self, log: Log) -> None:
        self._log = log

    @cached_property
    def spending(self) -> Mapping[str, Spending]:
        """The spending of each request, by the id of its receipt."""
        spending_by_id: dict[str, Spending] = {}
        for item in self._log.read_stream(USAGE):
            content: Mapping[str, Any] = item.content if isinstance(item, Note) else {}
            if receipt_id := content.get("receipt"):
                earlier = spending_by_id.get(receipt_id, Spending())
                spending_by_id[receipt_id] = earlier.with_usage(content)
        return spending_by_id

    def read(self, versions: Sequence[int]) -> list[Item]:
        """The items at some versions. Those that are missing are read from the log together."""
        missing = [version for version in versions if version not in self]
        self.update(zip(missing, self._log.read_at(missing), strict=True))
        return [self[version] for version in versions]

    def __missing__(self, version: int) -> Item:
        return self.read([version])[0]


class SentRequest(NamedTuple):
    """A request that was rendered, with the data of its receipt.

    `sources` has the names of the transcripts by the identity of their logs. The receipt is kept in the
    `conversation`.
    """

    context: Context
    provider: str
    model: str | None
    digest: Callable[[], str]
    plan: CachePlan
    sources: Mapping[int, str]
    conversation: str

    def entries(self, state: State, parameters: Mapping[str, Any] | None) -> Entries:
        """The new receipt parts and the receipt. They must be written before any other entries.

        `parameters` are those sent with the payload; `None` if they are not known.
        """
        return _ReceiptWriter(self, state).entries(parameters)

    def bare_entries(self) -> Entries:
        """A bare receipt: it has the sizes of the request, and no content."""
        return [Written(RECEIPTS, bare(Note(content=self.summary(), description="receipt")))]

    def summary(self) -> dict[str, Any]:
        """The fields of a bare receipt: the provider, the model, and the sizes."""
        receipt = self.context.receipt
        optional = {"reserve": receipt.reserve, "count_error": receipt.count_error}
        return {
            "provider": self.provider,
            "model": self.model,
            "tokens": receipt.tokens,
            "available": receipt.available,
            **{name: value for name, value in optional.items() if value is not None},
            "sections": dict(self.context.tokens),
            "digest": self.digest(),
        }


def quotes_in(context: Context) -> dict[str, SelectedQuotes]:
    """The selections of quotes in a context, by section."""
    selections = context.receipt.selections.items()
    return {name: selection for name, selection in selections if isinstance(selection, SelectedQuotes)}


def parameters_of(sent: Mapping[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
    """The sent parameters that differ from the payload, as JSON, without those that are not in the body.

    If a parameter and its field are mappings, only the fields that differ are kept.
    """
    extra: Mapping[str, Any] = sent.get("extra_body") or {}
    return dict(msgspec.to_builtins(_changed({**sent, **extra}, payload), enc_hook=_as_json, str_keys=True))


def _changed(sent: Mapping[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for name, value in sent.items():
        if name in _NOT_IN_BODY:
            continue
        if _are_mappings(payload, name, value):
            if inner := _changed(value, payload[name]):
                changed[name] = inner
        elif name not in payload or (payload[name] is not value and payload[name] != value):
            changed[name] = value
    return changed


def _as_json(value: Any) -> Any:
    """A value of an SDK as JSON: the fields of a model, or the start of the `repr` of any other object."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if dump is not None and not isinstance(value, type) else f"<{value!r:.200}>"


class _ReceiptWriter:
    """Makes the entries of one receipt: the parts that are not stored yet, then the receipt."""

    def __init__(self, request: SentRequest, state: State) -> None:
        self._request, self._state = request, state
        self._selected = quotes_in(request.context)
        self._quoted = {
            selection.items[0].id: self._names(selection.quotes)
            for selection in self._selected.values()
            if selection.items
        }
        # New receipt parts by digest; the candidates of a section by the name of the section.
        self._new: dict[bytes, Item] = {}

    def _names(self, quotes: Iterable[Quote]) -> list[str]:
        return names_of(quotes, self._request.conversation)

    def entries(self, parameters: Mapping[str, Any] | None) -> Entries:
        """The new receipt parts, then the receipt."""
        request, context = self._request, self._request.context
        receipt, lines = context.receipt, context.receipt.lines()
        scroll, plan = context.items, request.plan
        source = None if scroll.view is None else request.sources.get(id(scroll.view.log))
        if scroll.view is not None and source is None:  # the view is of no transcript of this session
            scroll = Scroll(tuple(scroll[: scroll.stable_length]), after=scroll.after)
        content: dict[str, Any] = {
            **request.summary(),
            "plan": msgspec.to_builtins(plan),
            "before": [self._reference(item, n < plan.static) for n, item in enumerate(scroll.before)],
            "after": [self._reference(item) for item in scroll.after],
            "start": scroll.start,
            "parts": [self._part(part, line) for part, line in zip(receipt.parts(), lines, strict=True)],
            "beside": dict(receipt.beside),
        }
        if context.split is not None:
            content["split"] = list(context.split)
        if context.model != request.model:
            content["counted_for"] = context.model
        if receipt.advice:
            content["advice"] = list(receipt.advice)
        if context.tools:
            content["tools"] = self._keep_detail(context.tools)
        if parameters is not None:
            content["parameters"] = self._keep_detail(parameters, [ALL])
        if scroll.view is not None and source is not None:
            content |= {"transcript": source, "revision": scroll.view.revision}
        note = Note(content=content, description="receipt")
        return [*(Written(RECEIPT_PARTS, item) for item in self._new.values()), Written(RECEIPTS, note)]

    def _part(self, part: Part, line: Line) -> dict[str, Any]:
        """The row of a section. A history refers to its view; others list the candidates left out."""
        row: dict[str, Any] = {"name": part.name, "shown": part.length, "line": [*line[2:]]}
        source = None if part.view is None else self._request.sources.get(id(part.view.log))
        rows, is_foreign = part.rows, part.view is not None and source is None
        if is_foreign:
            rows = list(part.explained(self._request.context.receipt.counter))
        elif part.view is not None:
            row["of"] = [source, part.view.revision]
        optional = {
            "rule": part.rule,
            "is_filtered": part.is_filtered and not is_foreign,
            "cut": list(part.cut) if part.cut else None,
            "free": part.free if part.cut else 0,
            "is_in_rows": is_foreign or len(part.shown) < part.length,
            "rows": self._keep_rows(part.name, rows) if rows else 0,
        }
        return row | {name: value for name, value in optional.items() if value}

    def _keep_rows(self, name: str, rows: Sequence[Explained]) -> int:
        """Store the entries of candidates in one compact part; return the version it will have."""
        kinds: dict[tuple[str, ...], int] = {}
        encoded: list[list[Any]] = []
        for created_at, entry in rows:
            kind = (entry.kind, entry.fate, entry.rule, entry.reason, entry.source, entry.origin)
            encoded.append([entry.item_id, created_at, entry.tokens, kinds.setdefault(kind, len(kinds))])
        # Compressed JSON is much faster to write here than values of the item codec.
        content = zlib.compress(encode({"kinds": list(kinds), "rows": encoded}))
        selected = self._selected.get(name)
        quotes = () if selected is None else selected.all_quotes
        foreign = self._names(quote for quote in quotes if quote.source != self._request.conversation)
        self._new[name.encode()] = candidates_note(content, [ALL, *foreign])
        return self._state.version + len(self._new)

    def _keep_detail(self, content: Any, sources: Sequence[str] = ()) -> int:
        plain = msgspec.json.decode(encode(content))
        return self._keep(detail_note(plain, sources))

    def _keep(self, item: Item) -> int:
        """The version of a receipt part. A part that is not stored yet becomes a new entry."""
        digest, state = item_digest(item), self._state
        if digest not in state.receipt_parts:
            self._new.setdefault(digest, item)
        return state.receipt_parts.get(digest) or state.version + 1 + list(self._new).index(digest)

    def _reference(self, item: Item, is_static: bool = False) -> str | int:
        """The id of an item that the log has unchanged, or the version of a receipt part."""
        transcripts = self._state.transcripts.values()
        view = next((transcript.view for transcript in transcripts if item.id in transcript), None)
        if is_in(view, item):
            return item.id
        sourced = self._with_sources(item, is_static)
        return self._keep(sourced if view is None else _as_copy(sourced))

    def _with_sources(self, item: Item, is_static: bool) -> Item:
        """The item with its sources in `extras`.

        If a section did not list them, any item of the conversation may be a source, unless it is static.
        """
        if isinstance(item, Unknown | Note):
            return item
        sources = self._quoted.get(item.id, item.extras.get(SOURCES, () if is_static else (ALL,)))
        return replace(item, extras={**item.extras, SOURCES: list(sources)}) if sources else item


def _as_copy(item: Item) -> Item:
    """A changed item of the log under an id of its own, so that it can be forgotten by itself."""
    if isinstance(item, Unknown):
        return item
    sources = [*item.extras.get(SOURCES, ()), item.id]
    return replace(item, id=f"{item.id}{_COPY}", extras={**item.extras, SOURCES: sources})


def _original(item: Item) -> Item:
    """Undo `_as_copy`: give a copy the id of its item; return any other item as it is."""
    item_id = item.id.removesuffix(_COPY)
    is_copy = item_id != item.id and (is_tombstone(item) or item_id in sources_of(item))
    return replace(item, id=item_id) if is_copy and not isinstance(item, Unknown) else item


def renumbered(entry: Written, versions: Mapping[int, int]) -> Written:
    """A receipt of a draft with the new versions of its parts; any other entry as it is."""
    stream, item = entry
    if stream != RECEIPTS or not isinstance(item, Note) or item.content.get("is_bare"):
        return entry
    content = dict(item.content)
    for part in ("before", "after"):
        content[part] = [versions[ref] if isinstance(ref, int) else ref for ref in content[part]]
    for name in ("tools", "parameters"):
        if name in content:
            content[name] = versions[content[name]]
    content["parts"] = [
        {**row, "rows": versions[row["rows"]]} if "rows" in row else row for row in content.get("parts", ())
    ]
    return Written(stream, replace(item, content=content))


def bare(receipt: Note) -> Note:
    """A bare receipt: the provider, the model and the sizes of a request, without its content."""
    content = {name: receipt.content[name] for name in _SUMMARY if name in receipt.content}
    return replace(receipt, content={**content, "is_bare": True})


_VOLATILE_TAIL = 8
"""How many messages at the end are hashed again each time, because they often change."""


class Digests:
    """SHA-256 of the JSON of payloads. Each digest continues the previous one of the same wire.

    So the work per turn depends on the number of new messages, and not on the length of the conversation.
    """

    def __init__(self) -> None:
        self._prefix_by_wire: dict[str, _Prefix] = {}

    def of(self, payload: Mapping[str, Any], wire: str) -> Callable[[], str]:
        """A function that returns the digest of a payload; the first call computes it."""
        # The field with the messages is the longest list.
        name = max(payload, key=lambda key: len(payload[key]) if isinstance(payload[key], list) else -1)
        if not isinstance(payload[name], list):
            return hashlib.sha256(encode(payload)).hexdigest
        messages: list[Any] = payload[name]
        keys = list(payload)
        index = keys.index(name)
        fields = [encode(key) + b":" + encode(payload[key]) for key in keys if key != name]
        head = b"{" + b",".join([*fields[:index], encode(name) + b":["])
        tail = b"]" + b"".join(b"," + field for field in fields[index:]) + b"}"
        return cache(lambda: self._continued(wire, head, messages, tail))

    def _continued(self, wire: str, head: bytes, messages: list[Any], tail: bytes) -> str:
        hashed, digest, prefix = 0, hashlib.sha256(head), self._prefix_by_wire.get(wire)
        if (
            prefix is not None
            and prefix.head == head
            and _begin_alike(prefix.messages, messages, prefix.length)
        ):
            hashed, digest = prefix.length, prefix.digest.copy()
        length = max(len(messages) - _VOLATILE_TAIL, hashed)
        _update(digest, messages[hashed:length], is_first=not hashed)
        self._prefix_by_wire[wire] = _Prefix(head, messages, length, digest.copy())
        _update(digest, messages[length:], is_first=not length)
        digest.update(tail)
        return str(digest.hexdigest())


class _Prefix(NamedTuple):
    """A payload, and the digest of its head and its first `length` messages."""

    head: bytes
    messages: Sequence[Any]
    length: int
    digest: Any


def _update(digest: Any, messages: Sequence[Any], *, is_first: bool) -> None:
    if messages:
        digest.update((b"" if is_first else b",") + encode(messages)[1:-1])


def _begin_alike(earlier: Sequence[Any], messages: Sequence[Any], count: int) -> bool:
    """Whether the first `count` messages are equal. Only messages that are different objects are encoded."""
    changed = compress(range(count), map(is_not, earlier, messages))
    return len(messages) >= count and all(encode(earlier[at]) == encode(messages[at]) for at in changed)
