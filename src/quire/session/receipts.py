"""Receipts: what the model was sent and why, kept so that it can be rendered and explained again exactly.

What is in the log is not kept twice: a view is named by its transcript and revision, an item by its id. What
sections made, definitions of tools, parameters of requests, and the candidates of a selection are kept as
items of their own, and named by their version. What is the same is kept once.
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
from quire.errors import Forgotten, OutOfRange, StoreDamaged, UnknownId, cut
from quire.items import Item, Message, Note, Unknown
from quire.memory import Quote
from quire.memory.quotes import SelectedQuotes
from quire.providers import CachePlan, Rendered, provider_for
from quire.sections import TURN, History, Settings
from quire.session.log import Entries, Log
from quire.session.provenance import names_of
from quire.session.spending import Spending
from quire.session.state import (
    State,
    Written,
    candidates_note,
    detail_note,
    is_in,
    item_digest,
    sources_of,
)
from quire.state import Cut, Scroll, View
from quire.stores.store import is_tombstone
from quire.stores.streams import ALL, OF, RECEIPT_PARTS, RECEIPTS, USAGE
from quire.tokens import Definition, counter_for

_NOT_IN_BODY = frozenset(("timeout", "extra_headers", "extra_query", "extra_body", "http_options"))
"""Arguments of SDKs that are no fields of the body of a request; some hold keys."""

_COPY = "/copy"

_SUMMARY = ("provider", "model", "tokens", "available", "reserve", "error", "sections", "digest")
"""The fields of every receipt. The reserve and the error are there if they are known."""


class Kept:
    """The receipt of a request that was sent: when, to whom, how large, and the fate of each candidate."""

    def __init__(self, version: int, note: Note, state: State, named: "_NamedItems") -> None:
        content = note.content
        self.id = note.id
        self.version = version
        self.created_at = note.created_at
        self.provider: str = content["provider"]
        self.model: str | None = content["model"]
        self.tokens: int = content["tokens"]
        self.available: int = content.get("available", self.tokens)
        self.reserve: int | None = content.get("reserve")
        """The tokens that the budget kept free for the answer; None if that is not known."""
        self.error: float | None = content.get("error")
        """How far off the counter was at most with the requests before, as a share; None if not known."""
        self.sections: Mapping[str, int] = content["sections"]
        self.advice: Sequence[str] = tuple(content.get("advice", ()))
        self.digest: str = content["digest"]
        """SHA-256 of the rendered payload as JSON."""
        self._content: Mapping[str, Any] = content
        self._state = state
        self._named = named

    def __repr__(self) -> str:
        return f"<Kept request of version {self.version}, {self.tokens:,} tokens to {self.provider}>"

    def __str__(self) -> str:
        """The table of the receipt, as it was then."""
        return repr(self) if self.is_bare else receipt_table(self)

    def _repr_html_(self) -> str:
        return budget_bar(self) if self.is_bare else receipt_html(self)

    @property
    def is_bare(self) -> bool:
        """Whether only sizes are kept: what was sent was forgotten, or was never kept."""
        return bool(self._content.get("is_bare"))

    def lines(self) -> list[Line]:
        """A line for each section, as in the table; none if only sizes are kept."""
        rows: Sequence[Mapping[str, Any]] = self._content.get("parts", ())
        return [Line(row["name"], self.sections[row["name"]], *row["line"]) for row in rows]

    @property
    def runs(self) -> list[tuple[str, int]]:
        """The sections of the items in their order: so many of one, so many of the next.

        A history in which quotes stand beside the question has two runs.
        """
        section, behind = self._content.get("split", ("", 0))
        rows = [(row["name"], row["shown"]) for row in self._content.get("parts", ())]
        rows = [(name, shown - behind if name == section else shown) for name, shown in rows]
        return [*rows, (section, behind)] if behind else rows

    @property
    def beside(self) -> Mapping[str, int]:
        """The tokens of tool definitions and of the answer schema, if there are any."""
        found: Mapping[str, int] = self._content.get("beside", {})
        return found

    @property
    def spending(self) -> Spending:
        """What the answers to the request used and cost, as far as it was reported."""
        return self._named.spending.get(self.id, Spending())

    @property
    def tools(self) -> Sequence[Definition]:
        """The definitions of tools that were sent."""
        self._check_whole()
        return tuple(self._note("tools", "the tools") or ())

    @property
    def plan(self) -> CachePlan:
        """How much of the beginning was said to stay the same."""
        self._check_whole()
        return msgspec.convert(self._content["plan"], CachePlan)

    @property
    def items(self) -> Scroll:
        """The items that the model saw, in order."""
        self._check_whole()
        content = self._content
        before, after = (tuple(map(self._found, content[part])) for part in ("before", "after"))
        return Scroll(before, self.view, content["start"], after)

    @property
    def view(self) -> View | None:
        """The history as it was then, if it was sent as it was shown."""
        self._check_whole()
        name = self._content.get("transcript")
        return None if name is None else self._state.transcripts[name].at(self._content["revision"])

    def shows(self, item: Item) -> bool | None:
        """Whether the model saw an item: whole, by a stub or in a quote. `None` if that is not known."""
        if self.is_bare or item.id in self._beside_view:
            return None if self.is_bare else True
        view = self.view
        position = None if view is None else view.log.find(item.id, view.end)
        if view is None or position is None:
            return None if item.created_at > self.created_at else False
        is_in_view = view.fate_at(position).state in VISIBLE or view.shows_summary(position)
        return is_in_view and view.index_of(position) >= self._content["start"]

    @property
    def selected(self) -> Selected:
        """The blocks of quotes that were shown, by section, each with the turn that it was for."""
        content = self._content
        names = (*content.get("before", ()), *content.get("after", ()))
        made = (self._found(name) for name in names if isinstance(name, int))
        blocks = (
            one for one in made if isinstance(one, Message) and not is_tombstone(one) and TURN in one.extras
        )
        return {one.id.rpartition("/")[0]: (one.extras[TURN], (one,)) for one in blocks}

    @cached_property
    def _beside_view(self) -> frozenset[str]:
        """The ids of the items beside the view, and of what those that sections made quote."""
        names = (*self._content["before"], *self._content["after"])
        made = [self._found(name) for name in names if isinstance(name, int)]
        quoted = (one for item in made for one in (item.id, *sources_of(item)))
        return frozenset((*quoted, *(name for name in names if isinstance(name, str))))

    def payload(self, *, cache: bool = True) -> Rendered:
        """The payload as it was rendered, without the parameters; without `cache`, with no cache fields.

        `Forgotten` if some of it was forgotten, `StoreDamaged` if its bytes are not what they were.
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
        """What was sent beside the payload, or in place of a field of it; None if nobody said."""
        self._check_whole()
        given: Mapping[str, Any] | None = self._note("parameters", "the parameters")
        return given

    def request(self) -> dict[str, Any]:
        """The arguments of the client's method: the payload with the parameters, as far as they are known.

        The client makes the body of the request of them: the SDK of Gemini, for one, has other names for it.
        """
        payload, given = self.payload().payload, self.parameters or {}
        both = {name: payload[name] for name, value in given.items() if _are_mappings(payload, name, value)}
        return {**payload, **given, **{name: {**value, **given[name]} for name, value in both.items()}}

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What became of every candidate; each once, section by section."""
        return self._explanation.entries

    def explain(self, item: Item | str) -> Entry:
        """What became of one candidate: what `context.explain` returned then.

        `Forgotten` if what explains it was forgotten. The tokens are those that the counter of the model
        counts, unless the session was given another one.
        """
        try:
            return self._explanation.of(item)
        except UnknownId:
            named = [self._named[row["rows"]] for row in self._content.get("parts", ()) if "rows" in row]
            if any(map(is_tombstone, named)):
                raise Forgotten("what explains the candidates of this request was forgotten") from None
            raise

    @cached_property
    def _explanation(self) -> Explanation:
        self._check_whole()
        counter = counter_for(self._content.get("counted_for") or self.model or DEFAULT_MODEL)
        return Explanation(self._parts(), counter)

    def pieces(self) -> tuple[Piece, ...]:
        """What the sections had to show, to be fitted into another budget.

        Of a history that is the whole view; of another section what it showed, and not what it left out.
        """
        self._check_whole()
        return tuple(
            Piece(Settings(row["name"], required=not row.get("is_in_rows")), shown)
            if view is None
            else Piece(
                History(name=row["name"]),
                _content_of(row, shown) if row.get("is_filtered") else view,
                source=view,
            )
            for row, shown, view in self._rows()
            if row.get("rule") != LEDGER  # the history makes one
        )

    def _rows(self) -> Iterator[tuple[Mapping[str, Any], Sequence[Item], View | None]]:
        """The sections as they are kept, each with its items and the view of a history."""
        items, start = self._in_order_of_sections(), 0
        for row in self._content.get("parts", ()):
            shown, start = items[start : start + row["shown"]], start + row["shown"]
            transcript, revision = row.get("of", ("", 0))
            yield row, shown, self._state.transcripts[transcript].at(revision) if transcript else None

    def _in_order_of_sections(self) -> Sequence[Item]:
        items, (section, behind) = self.items, self._content.get("split", ("", 0))
        if not behind:
            return items
        rows = {row["name"]: row["shown"] for row in self._content["parts"]}
        rest = len(items) - behind
        quotes = rest - sum(list(rows.values())[list(rows).index(section) + 1 :])
        return [*items[:quotes], *items[rest:], *items[quotes:rest]]

    def _parts(self) -> Iterator[Part]:
        """What explains the request, section by section."""
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
                list(_explained(row["name"], self._named[row["rows"]] if row.get("rows") else None)),
            )

    def _check_whole(self) -> None:
        if self.is_bare:
            raise Forgotten(f"what the request of version {self.version} showed was forgotten or not kept")

    def _note(self, field: str, what: str) -> Any:
        """The content of an item that the receipt names; None if it names none."""
        version = self._content.get(field)
        kept = self._named[version] if version is not None else None
        if kept is not None and is_tombstone(kept):
            raise Forgotten(f"{what} of the request of version {self.version} were forgotten")
        return kept.content if isinstance(kept, Note) else None

    def _found(self, name: str | int) -> Item:
        if isinstance(name, int):
            return _original(self._named[name])
        for transcript in self._state.transcripts.values():
            if name in transcript:
                return transcript.get(name)
        raise StoreDamaged("an item that a receipt names is not here")


def _content_of(row: Mapping[str, Any], shown: Sequence[Item]) -> list[Item]:
    """The items of a filtered history, without its ledger."""
    return [item for item in shown if not item.id.startswith(f"{row['name']}/{LEDGER}/")]


def _are_mappings(payload: Mapping[str, Any], name: str, value: Any) -> bool:
    """Whether a parameter and the field of the payload are both mappings: then both were sent as one."""
    return isinstance(value, Mapping) and isinstance(payload.get(name), Mapping)


def _explained(name: str, rows: Item | None) -> Iterator[Explained]:
    """The entries of candidates that a receipt names one by one."""
    if not isinstance(rows, Note) or is_tombstone(rows):
        return
    content = msgspec.json.decode(zlib.decompress(rows.content))
    kinds = content["kinds"]
    for item_id, created_at, tokens, which in content["rows"]:
        kind, fate, rule, reason, source, origin = kinds[which]
        yield Explained(created_at, Entry(item_id, kind, name, fate, rule, tokens, reason, source, origin))


class Receipts(Sequence[Kept]):
    """The receipts of a conversation, oldest first. The last ones are read without those before them."""

    def __init__(self, log: Log) -> None:
        self._log, self._state, self._end = log, log.state, log.version + 1
        self._named = _NamedItems(log)

    def __len__(self) -> int:
        return len(self.versions())

    def __iter__(self) -> Iterator[Kept]:
        return iter(self[:])

    def __reversed__(self) -> Iterator[Kept]:
        return reversed(self[:])

    def versions(self, limit: int | None = None) -> list[int]:
        """The versions of all receipts, or of the last so many. None is read for it."""
        return self._log.store.versions_of(self._log.place, RECEIPTS, before=self._end, limit=limit)

    @overload
    def __getitem__(self, index: int) -> Kept: ...
    @overload
    def __getitem__(self, index: slice) -> list[Kept]: ...
    def __getitem__(self, index: int | slice) -> Kept | list[Kept]:
        first = index.start if isinstance(index, slice) else index
        is_to_end = not isinstance(index, slice) or (index.stop is None and index.step is None)
        limit = -first if isinstance(first, int) and first < 0 and is_to_end else None
        versions = self.versions(limit)
        if not versions and not isinstance(index, slice):
            raise OutOfRange(
                "no request was sent yet: `session.record` and `context.sent` keep a receipt of it"
            )
        found = versions[index]
        versions = [found] if isinstance(found, int) else found
        rows = zip(versions, self._named.read(versions), strict=True)
        kept = [Kept(at, note, self._state, self._named) for at, note in rows if isinstance(note, Note)]
        return kept[0] if isinstance(found, int) else kept


def request_named(receipts: Sequence[Kept], asked: str) -> Kept:
    """The request that was kept at a version, "last", or by its place from the end: "-1" is the last."""
    if not receipts:
        raise UnknownId("no request was kept in this conversation")
    named = {str(one.version): one for one in receipts} | {"last": receipts[-1]}
    named |= {str(-place): one for place, one in enumerate(reversed(receipts), 1)}
    if asked not in named:
        known = ", ".join(str(one.version) for one in receipts[-10:])
        raise UnknownId(f"no request was kept at version {cut(asked)!r}; the last are {known}")
    return named[asked]


class _NamedItems(dict[int, Item]):
    """The items that receipts name, by their versions; what was not read before is read."""

    def __init__(self, log: Log) -> None:
        self._log = log

    @cached_property
    def spending(self) -> Mapping[str, Spending]:
        """What was used, by the ids of receipts."""
        found: dict[str, Spending] = {}
        for item in self._log.read_stream(USAGE):
            content: Mapping[str, Any] = item.content if isinstance(item, Note) else {}
            if name := content.get("receipt"):
                found[name] = found.get(name, Spending()).with_usage(content)
        return found

    def read(self, versions: Sequence[int]) -> list[Item]:
        """Several at once."""
        missing = [version for version in versions if version not in self]
        self.update(zip(missing, self._log.read_at(missing), strict=True))
        return [self[version] for version in versions]

    def __missing__(self, version: int) -> Item:
        return self.read([version])[0]


class SentRequest(NamedTuple):
    """A request of a context, as its receipt tells of it.

    `sources` are names of transcripts by the identity of their logs. `conversation` keeps the receipt.
    """

    context: Context
    provider: str
    model: str | None
    digest: Callable[[], str]
    plan: CachePlan
    sources: Mapping[int, str]
    conversation: str

    def entries(self, state: State, parameters: Mapping[str, Any] | None) -> Entries:
        """The receipt, after what it names that was not kept before: the first entries that are written.

        `parameters` are what was sent beside the payload; None if nobody said.
        """
        return _Keeping(self, state).entries(parameters)

    def bare_entries(self) -> Entries:
        """A receipt that says that something was sent, but not what."""
        return [Written(RECEIPTS, bare(Note(content=self.summary(), description="receipt")))]

    def summary(self) -> dict[str, Any]:
        """To whom the request was sent, and how large it was."""
        receipt = self.context.receipt
        known = {"reserve": receipt.reserve, "error": receipt.error}
        return {
            "provider": self.provider,
            "model": self.model,
            "tokens": receipt.tokens,
            "available": receipt.available,
            **{name: value for name, value in known.items() if value is not None},
            "sections": dict(self.context.tokens),
            "digest": self.digest(),
        }


def quotes_in(context: Context) -> dict[str, SelectedQuotes]:
    """What was selected of quotes for a context, by section."""
    selections = context.receipt.selections.items()
    return {name: one for name, one in selections if isinstance(one, SelectedQuotes)}


def parameters_of(given: Mapping[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
    """What was sent beside a payload, as JSON; of a mapping that is in both, the fields that differ.

    What is not in the body of a request is left out.
    """
    extra: Mapping[str, Any] = given.get("extra_body") or {}
    sent = {**given, **extra}
    sent = {name: value for name, value in sent.items() if name not in _NOT_IN_BODY}
    found = msgspec.to_builtins(_changed(sent, payload), enc_hook=_as_json, str_keys=True)
    return dict(found)


def _changed(sent: Mapping[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in sent.items():
        if _are_mappings(payload, name, value):
            inner = _changed({n: v for n, v in value.items() if n not in _NOT_IN_BODY}, payload[name])
            found |= {name: inner} if inner else {}
        elif name not in payload or (payload[name] is not value and payload[name] != value):
            found[name] = value
    return found


def _as_json(value: Any) -> Any:
    """A value of an SDK as JSON: a model's fields, else the name of its type."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if dump is not None and not isinstance(value, type) else f"<{value!r:.200}>"


class _Keeping:
    """Makes the entries of one receipt, and of the items that it names and that were not kept before."""

    def __init__(self, request: SentRequest, state: State) -> None:
        self._request, self._state = request, state
        self._selected = quotes_in(request.context)
        self._quoted = {
            one.items[0].id: self._names(one.quotes) for one in self._selected.values() if one.items
        }
        # By digest; the candidates of a section by the name of the section.
        self._new: dict[bytes, Item] = {}

    def _names(self, quotes: Iterable[Quote]) -> list[str]:
        return names_of(quotes, self._request.conversation)

    def entries(self, parameters: Mapping[str, Any] | None) -> Entries:
        """The receipt, and before it what it names."""
        request, context = self._request, self._request.context
        receipt, lines = context.receipt, context.receipt.lines()
        scroll, plan = context.items, request.plan
        source = None if scroll.view is None else request.sources.get(id(scroll.view.log))
        if scroll.view is not None and source is None:  # it is in no log of ours
            scroll = Scroll(tuple(scroll[: scroll.stable_length]), after=scroll.after)
        content: dict[str, Any] = {
            **request.summary(),
            "plan": msgspec.to_builtins(plan),
            "before": [self._name(item, n < plan.static) for n, item in enumerate(scroll.before)],
            "after": [self._name(item) for item in scroll.after],
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
        """What explains a section: a history by its view, others by their candidates that are not shown."""
        row: dict[str, Any] = {"name": part.name, "shown": part.length, "line": [*line[2:]]}
        source = None if part.view is None else self._request.sources.get(id(part.view.log))
        rows, is_foreign = part.rows, part.view is not None and source is None
        if is_foreign:
            rows = list(part.explained(self._request.context.receipt.counter))
        elif part.view is not None:
            row["of"] = [source, part.view.revision]
        kept = {
            "rule": part.rule,
            "is_filtered": part.is_filtered and not is_foreign,
            "cut": list(part.cut) if part.cut else None,
            "free": part.free if part.cut else 0,
            "is_in_rows": is_foreign or len(part.shown) < part.length,
            "rows": self._keep_rows(part.name, rows) if rows else 0,
        }
        return row | {name: value for name, value in kept.items() if value}

    def _keep_rows(self, name: str, rows: Sequence[Explained]) -> int:
        """Keep the entries of candidates; what they have in common is kept once."""
        kinds: dict[tuple[str, ...], int] = {}
        found: list[list[Any]] = []
        for created_at, entry in rows:
            kind = (entry.kind, entry.fate, entry.rule, entry.reason, entry.source, entry.origin)
            found.append([entry.item_id, created_at, entry.tokens, kinds.setdefault(kind, len(kinds))])
        content = zlib.compress(encode({"kinds": list(kinds), "rows": found}))  # as values it would take long
        selected = self._selected.get(name)
        others = () if selected is None else selected.all_quotes
        elsewhere = self._names(one for one in others if one.source != self._request.conversation)
        self._new[name.encode()] = candidates_note(content, [ALL, *elsewhere])
        return self._state.version + len(self._new)

    def _keep_detail(self, content: Any, sources: Sequence[str] = ()) -> int:
        plain = msgspec.json.decode(encode(content))
        return self._keep(detail_note(plain, sources))

    def _keep(self, item: Item) -> int:
        """The version under which an item is kept, from now on if it was not."""
        digest, state = item_digest(item), self._state
        if digest not in state.receipt_parts:
            self._new.setdefault(digest, item)
        return state.receipt_parts.get(digest) or state.version + 1 + list(self._new).index(digest)

    def _name(self, item: Item, is_static: bool = False) -> str | int:
        """The id of an item that is in the log as it is, else the version under which it is kept."""
        transcripts = self._state.transcripts.values()
        view = next((one.view for one in transcripts if item.id in one), None)
        if is_in(view, item):
            return item.id
        made = self._with_sources(item, is_static)
        return self._keep(made if view is None else _as_copy(made))

    def _with_sources(self, item: Item, is_static: bool) -> Item:
        """An item that names its sources.

        What a section made without naming them may be made of all that was there, unless it is static.
        """
        if isinstance(item, Unknown | Note):
            return item
        sources = self._quoted.get(item.id, item.extras.get(OF, () if is_static else (ALL,)))
        return replace(item, extras={**item.extras, OF: list(sources)}) if sources else item


def _as_copy(item: Item) -> Item:
    """A changed copy of an item of the log, under an id of its own: it may be forgotten, and the item not."""
    if isinstance(item, Unknown):
        return item
    return replace(
        item, id=f"{item.id}{_COPY}", extras={**item.extras, OF: [*item.extras.get(OF, ()), item.id]}
    )


def _original(item: Item) -> Item:
    """A copy of an item of the log under the id of that item; any other item as it is."""
    item_id = item.id.removesuffix(_COPY)
    is_copy = item_id != item.id and (is_tombstone(item) or item_id in sources_of(item))
    return replace(item, id=item_id) if is_copy and not isinstance(item, Unknown) else item


def renumbered(entry: Written, versions: Mapping[int, int]) -> Written:
    """A receipt of a draft that names other versions; any other entry as it is."""
    stream, item = entry
    if stream != RECEIPTS or not isinstance(item, Note) or item.content.get("is_bare"):
        return entry
    content = dict(item.content)
    for part in ("before", "after"):
        content[part] = [versions[name] if isinstance(name, int) else name for name in content[part]]
    for name in ("tools", "parameters"):
        if name in content:
            content[name] = versions[content[name]]
    content["parts"] = [
        {**row, "rows": versions[row["rows"]]} if "rows" in row else row for row in content.get("parts", ())
    ]
    return Written(stream, replace(item, content=content))


def bare(receipt: Note) -> Note:
    """A receipt that says that something was sent, to whom and how much, but not what."""
    content = {name: receipt.content[name] for name in _SUMMARY if name in receipt.content}
    return replace(receipt, content={**content, "is_bare": True})


_DIGESTED_ANEW = 8
"""Messages at the end that are digested each time: they are often rendered anew."""


class Digests:
    """SHA-256 of the JSON of payloads, each continued from the one before it on the same wire.

    So the work per turn grows with what changed, and not with the length of the conversation.
    """

    def __init__(self) -> None:
        self._known: dict[str, _Digested] = {}

    def of(self, payload: Mapping[str, Any], wire: str) -> Callable[[], str]:
        """Returns the digest of a payload as it is now, which is computed when it is asked for first."""
        name = max(payload, key=lambda key: len(payload[key]) if isinstance(payload[key], list) else -1)
        if not isinstance(payload[name], list):
            return hashlib.sha256(encode(payload)).hexdigest
        messages: list[Any] = payload[name]
        keys = list(payload)
        place = keys.index(name)
        fields = [encode(key) + b":" + encode(payload[key]) for key in keys if key != name]
        head = b"{" + b",".join([*fields[:place], encode(name) + b":["])
        tail = b"]" + b"".join(b"," + field for field in fields[place:]) + b"}"
        return cache(lambda: self._continued(wire, head, messages, tail))

    def _continued(self, wire: str, head: bytes, messages: list[Any], tail: bytes) -> str:
        known, done, digest = self._known.get(wire), 0, hashlib.sha256(head)
        if known is not None and known.head == head and _begin_alike(known.messages, messages, known.done):
            done, digest = known.done, known.digest.copy()
        fixed = max(len(messages) - _DIGESTED_ANEW, done)
        _update(digest, messages[done:fixed], is_first=not done)
        self._known[wire] = _Digested(head, messages, fixed, digest.copy())
        _update(digest, messages[fixed:], is_first=not fixed)
        digest.update(tail)
        return str(digest.hexdigest())


class _Digested(NamedTuple):
    """The beginning of a payload and its messages, and the digest up to some of them."""

    head: bytes
    messages: Sequence[Any]
    done: int
    digest: Any


def _update(digest: Any, messages: Sequence[Any], *, is_first: bool) -> None:
    if messages:
        digest.update((b"" if is_first else b",") + encode(messages)[1:-1])


def _begin_alike(known: Sequence[Any], messages: Sequence[Any], count: int) -> bool:
    """Whether so many messages are the same; nearly all are the same objects, some are rendered anew."""
    changed = compress(range(count), map(is_not, known, messages))
    return len(messages) >= count and all(encode(known[at]) == encode(messages[at]) for at in changed)
