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
from quire.providers import PROVIDERS, provider_for
from quire.reading.items import text_of
from quire.reading.source import Count, Source
from quire.sections import History
from quire.session import Kept, Trial, request_named
from quire.tokens import Budget, facts_for, known_models

_COMPACTORS: dict[str, Compactor | None] = {
    "as recorded": None,
    **{name: one for name, one in POLICIES.items() if one},
}
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
    def for_trial(self) -> tuple[Budget, str, Compactor | None]:
        return Budget(window=self.window, reserve=self.reserve), self.model, _COMPACTORS[self.compactor]

    def changed(
        self, window: int | None, reserve: int | None, compactor: str, provider: str, model: str
    ) -> "_Setting":
        """These settings with others; what is not given stays, as far as it suits the model."""
        model = model or self.model
        own = facts_for(model).provider or self.provider
        suits = model == self.model or self.provider.startswith(own)
        provider, compactor = provider or (self.provider if suits else own), compactor or self.compactor
        for name, what, known in (("provider", provider, PROVIDERS), ("compactor", compactor, _COMPACTORS)):
            if what not in known:
                raise InvalidValue(f"no {name} {cut(what)!r}; there are {', '.join(known)}")
        usual = min(self.window, _window_of(model))
        kept = self.reserve if reserve is None else reserve
        return _Setting(window or usual, kept, compactor, provider, model)


def try_settings(
    source: Source,
    address: str,
    request: str = "",
    window: Count | None = None,
    reserve: Count | None = None,
    compactor: str = "",
    provider: str = "",
    model: str = "",
) -> dict[str, Any]:
    """Return how the history fits under other settings, beside the request that was sent, or the next one."""
    trial, usual, sent = _begin(source, address, request)
    setting = usual.changed(window, reserve, compactor, provider, model)
    is_sent = setting._replace(provider=usual.provider) == usual  # as it was, if perhaps to another provider
    present, entries = _fit(trial, usual, sent)
    other, others = _fit(trial, setting, sent if is_sent else None)
    gone = fallen_out(entries, others)
    texts = {item.id: text_of(item)[:200] for piece in trial.pieces for item in piece.content}
    rows = [{**row._asdict(), "text": texts.get(row.item_id, "")} for row in gone[:_MOST_ROWS]]
    return {
        "version": sent and sent.version,
        "present": present,
        "tried": other,
        "gone": {"items": len(gone), "tokens": sum(row.tokens for row in gone), "rows": rows},
        "back": len(fallen_out(others, entries)),
        "compactors": list(_COMPACTORS),
        "providers": list(PROVIDERS),
        "models": sorted({row.prefix for row in known_models() if known_prices(row.prefix)}),
        "largest": _window_of(setting.model),
    }


def compare_bills(
    source: Source,
    address: str,
    request: str = "",
    window: Count | None = None,
    reserve: Count | None = None,
    compactor: str = "",
    model: str = "",
) -> dict[str, Any]:
    """Return what the calls so far would have cost under other settings, beside those of the request."""
    trial, usual, _ = _begin(source, address, request)
    setting = usual.changed(window, reserve, compactor, usual.provider, model)
    present = _bill(trial, usual)
    return {"present": present, "tried": present if setting == usual else _bill(trial, setting)}


def _begin(source: Source, address: str, request: str) -> tuple[Trial, _Setting, Kept | None]:
    """What is tried, its settings so far, and the request if one was sent."""
    session = source.session(address)
    last = [request_named(session.receipts, request)] if request else session.receipts[-1:]
    if last and not last[0].is_bare:
        (sent,) = last
        reserve, model = sent.reserve or 0, sent.model or DEFAULT_MODEL
        usual = _Setting(sent.available + reserve, reserve, next(iter(_COMPACTORS)), sent.provider, model)
        return Trial(sent.pieces(), sent.tools), usual, sent
    read = (source.histories or {}).get(str(session.place))
    model, wire = (read.model or DEFAULT_MODEL, read.format()) if read else (DEFAULT_MODEL, "")
    wire = wire if wire in PROVIDERS else "openai"
    usual = _Setting(_window_of(model), 0, next(iter(_COMPACTORS)), wire, model)
    return Trial((Piece(History(), session.view()),), read.tools if read else ()), usual, None


def _window_of(model: str) -> int:
    return facts_for(model).window or _WINDOW


def _fit(trial: Trial, setting: _Setting, sent: Kept | None) -> tuple[dict[str, Any], Sequence[Entry]]:
    """The receipt of a request, what its provider would refuse and what was changed for it; the entries."""
    wire = provider_for(setting.provider)
    try:
        made = sent or trial.fit(*setting.for_trial)
    except (Irreducible, OverBudget) as fault:
        return {**setting._asdict(), "error": str(fault)}, ()
    receipt = made.receipt if isinstance(made, Context) else made
    rendered = wire.render(made.items, model=setting.model, tools=made.tools, plan=made.plan)
    return {
        **setting._asdict(),
        "tokens": receipt.tokens,
        "available": receipt.available,
        "sections": [line._asdict() for line in receipt.lines()],
        "beside": receipt.beside,
        "not_shown": [one._asdict() for one in not_shown(receipt.entries)],
        "faults": [str(one) for one in wire.check(rendered.shared, setting.model)[:_MOST_ROWS]],
        "downgrades": [one.reason for one in rendered.downgrades[:_MOST_ROWS]],
    }, receipt.entries


def _bill(trial: Trial, setting: _Setting) -> dict[str, Any]:
    done, prices = trial.replay(*setting.for_trial), known_prices(setting.model)
    cost = done.bill(prices) / 1_000_000 if prices is not None and done.calls else None
    return {**summed([done]), "cost": cost, "items": len(trial.recorded)}
