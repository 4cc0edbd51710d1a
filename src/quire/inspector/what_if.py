"""The same history under another budget, compactor, provider or model. Nothing is sent or written."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from quire.compactors import Compactor
from quire.context import (
    DEFAULT_MODEL,
    POLICIES,
    Context,
    Entry,
    Piece,
    fallen_out,
    known_prices,
    not_shown,
    summed,
)
from quire.errors import InvalidValue, Irreducible, OverBudget, cut
from quire.inspector.items import text_of_item
from quire.inspector.source import Query, Source
from quire.providers import PROVIDERS, provider_for
from quire.sections import History
from quire.session import Kept, Trial, request_named
from quire.tokens import Budget, facts_for, known_models

COMPACTORS: dict[str, Compactor | None] = {"as recorded": None, **{n: c for n, c in POLICIES.items() if c}}
_WINDOW = 128_000
"""The window of a model that is not known."""
_MOST_ROWS = 100


class _Setting(NamedTuple):
    """What can be varied."""

    window: int
    reserve: int
    compactor: str
    provider: str
    model: str

    @property
    def given(self) -> tuple[Budget, str, Compactor | None]:
        """What a trial is given."""
        return Budget(window=self.window, reserve=self.reserve), self.model, COMPACTORS[self.compactor]


def tried(source: Source, query: Query) -> dict[str, Any]:
    """How the history fits under other settings, beside the request that was sent, or the next one."""
    trial, usual, sent = _begun(source, query)
    setting = _asked(query, usual)
    is_sent = setting._replace(provider=usual.provider) == usual  # as it was, if perhaps to another provider
    present, entries = _fitted(trial, usual, sent)
    other, others = _fitted(trial, setting, sent if is_sent else None)
    gone = fallen_out(entries, others)
    texts = {item.id: text_of_item(item)[:200] for piece in trial.pieces for item in piece.content}
    rows = [{**row._asdict(), "text": texts.get(row.item_id, "")} for row in gone[:_MOST_ROWS]]
    return {
        "version": sent and sent.version,
        "present": present,
        "tried": other,
        "gone": {"items": len(gone), "tokens": sum(row.tokens for row in gone), "rows": rows},
        "back": len(fallen_out(others, entries)),
        "compactors": list(COMPACTORS),
        "providers": list(PROVIDERS),
        "models": sorted({row.prefix for row in known_models() if known_prices(row.prefix)}),
        "largest": _window_of(setting.model),
    }


def bill(source: Source, query: Query) -> dict[str, Any]:
    """What the calls so far would have cost under other settings, beside those of the request."""
    trial, usual, _ = _begun(source, query)
    setting = _asked(query, usual)._replace(provider=usual.provider)  # which has no part in the bill
    present = _billed(trial, usual)
    return {"present": present, "tried": present if setting == usual else _billed(trial, setting)}


def _begun(source: Source, query: Query) -> tuple[Trial, _Setting, Kept | None]:
    """What is tried, its settings so far, and the request if one was sent."""
    session, asked = source.session(query.text("address")), query.text("request")
    last = [request_named(session.receipts, asked)] if asked else session.receipts[-1:]
    if last and not last[0].is_bare:
        (sent,) = last
        reserve, model = sent.reserve or 0, sent.model or DEFAULT_MODEL
        usual = _Setting(sent.available + reserve, reserve, next(iter(COMPACTORS)), sent.provider, model)
        return Trial(sent.pieces(), sent.tools), usual, sent
    read = (source.histories or {}).get(str(session.place))
    model, wire = (read.model or DEFAULT_MODEL, read.format()) if read else (DEFAULT_MODEL, "")
    wire = wire if wire in PROVIDERS else "openai"
    usual = _Setting(_window_of(model), 0, next(iter(COMPACTORS)), wire, model)
    return Trial((Piece(History(), session.view()),), read.tools if read else ()), usual, None


def _asked(query: Query, usual: _Setting) -> _Setting:
    """The settings of a query; what it does not say stays, as far as it suits the model."""
    model = query.text("model") or usual.model
    own = facts_for(model).provider or usual.provider
    suits = model == usual.model or usual.provider.startswith(own)
    provider = query.text("provider") or (usual.provider if suits else own)
    compactor = query.text("compactor") or usual.compactor
    for name, what, known in (("provider", provider, PROVIDERS), ("compactor", compactor, COMPACTORS)):
        if what not in known:
            raise InvalidValue(f"no {name} {cut(what)!r}; there are {', '.join(known)}")
    window = query.number("window", min(usual.window, _window_of(model)), least=1)
    return _Setting(window, query.number("reserve", usual.reserve), compactor, provider, model)


def _window_of(model: str) -> int:
    return facts_for(model).window or _WINDOW


def _fitted(trial: Trial, setting: _Setting, sent: Kept | None) -> tuple[dict[str, Any], Sequence[Entry]]:
    """The receipt of a request, what its provider would refuse and what was changed for it; the entries."""
    wire = provider_for(setting.provider)
    try:
        made = sent or trial.fit(*setting.given)
    except (Irreducible, OverBudget) as fault:
        return {**setting._asdict(), "error": str(fault)}, ()
    told = made.receipt if isinstance(made, Context) else made
    rendered = wire.render(made.items, model=setting.model, tools=made.tools, plan=made.plan)
    return {
        **setting._asdict(),
        "tokens": told.tokens,
        "available": told.available,
        "sections": [line._asdict() for line in told.lines()],
        "beside": told.beside,
        "not_shown": [one._asdict() for one in not_shown(told.entries)],
        "faults": [str(one) for one in wire.check(rendered.shared, setting.model)[:_MOST_ROWS]],
        "downgrades": [one.reason for one in rendered.downgrades[:_MOST_ROWS]],
    }, told.entries


def _billed(trial: Trial, setting: _Setting) -> dict[str, Any]:
    done, prices = trial.replay(*setting.given), known_prices(setting.model)
    cost = done.bill(prices) / 1_000_000 if prices is not None and done.calls else None
    return {**summed([done]), "cost": cost, "items": len(trial.recorded)}
