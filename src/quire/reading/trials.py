"""Trials: a history under another budget, compactor, provider or model. Nothing is sent or written."""

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
from quire.session import StoredReceipt, Trial, request_named
from quire.tokens import Budget, facts_for, known_models

_COMPACTORS: dict[str, Compactor | None] = {
    "as recorded": None,
    **{name: compactor for name, compactor in POLICIES.items() if compactor},
}
_DEFAULT_WINDOW = 128_000
"""The window of an unknown model."""
_MAX_ROWS = 100


class _Settings(NamedTuple):
    """The settings of a trial."""

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
    ) -> "_Settings":
        """The settings with changes; an empty argument keeps the present value, if that suits the model."""
        model = model or self.model
        own_provider = facts_for(model).provider or self.provider
        is_suitable = model == self.model or self.provider.startswith(own_provider)
        provider = provider or (self.provider if is_suitable else own_provider)
        compactor = compactor or self.compactor
        for kind, name, known in (("provider", provider, PROVIDERS), ("compactor", compactor, _COMPACTORS)):
            if name not in known:
                raise InvalidValue(f"no {kind} {cut(name)!r}; there are {', '.join(known)}")
        window = window or min(self.window, _window_of(model))
        reserve = self.reserve if reserve is None else reserve
        return _Settings(window, reserve, compactor, provider, model)


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
    """Return how the history fits under its present settings, sent or to be sent, and under other ones."""
    trial, present, sent = _begin(source, address, request)
    settings = present.changed(window, reserve, compactor, provider, model)
    is_sent = settings._replace(provider=present.provider) == present  # only the provider may differ
    present_row, present_entries = _fit(trial, present, sent)
    tried_row, tried_entries = _fit(trial, settings, sent if is_sent else None)
    left_out = fallen_out(present_entries, tried_entries)
    texts = {item.id: text_of(item)[:200] for piece in trial.pieces for item in piece.content}
    rows = [{**row._asdict(), "text": texts.get(row.item_id, "")} for row in left_out[:_MAX_ROWS]]
    return {
        "version": None if sent is None else sent.version,
        "present": present_row,
        "tried": tried_row,
        "gone": {"items": len(left_out), "tokens": sum(row.tokens for row in left_out), "rows": rows},
        "back": len(fallen_out(tried_entries, present_entries)),
        "compactors": list(_COMPACTORS),
        "providers": list(PROVIDERS),
        "models": sorted({row.prefix for row in known_models() if known_prices(row.prefix)}),
        "largest": _window_of(settings.model),
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
    """Return what the calls so far would have cost under the settings of the request and under other ones."""
    trial, present, _ = _begin(source, address, request)
    settings = present.changed(window, reserve, compactor, present.provider, model)
    bill = _bill(trial, present)
    return {"present": bill, "tried": bill if settings == present else _bill(trial, settings)}


def _begin(source: Source, address: str, request: str) -> tuple[Trial, _Settings, StoredReceipt | None]:
    """The trial, its present settings, and the request if one was sent."""
    session = source.session(address)
    last = [request_named(session.receipts, request)] if request else session.receipts[-1:]
    if last and not last[0].is_bare:
        (sent,) = last
        reserve, model = sent.reserve or 0, sent.model or DEFAULT_MODEL
        present = _Settings(sent.available + reserve, reserve, next(iter(_COMPACTORS)), sent.provider, model)
        return Trial(sent.pieces(), sent.tools), present, sent
    file = (source.histories or {}).get(str(session.place))
    model, wire = (file.model or DEFAULT_MODEL, file.format()) if file else (DEFAULT_MODEL, "")
    wire = wire if wire in PROVIDERS else "openai"
    present = _Settings(_window_of(model), 0, next(iter(_COMPACTORS)), wire, model)
    return Trial((Piece(History(), session.view()),), file.tools if file else ()), present, None


def _window_of(model: str) -> int:
    return facts_for(model).window or _DEFAULT_WINDOW


def _fit(
    trial: Trial, settings: _Settings, sent: StoredReceipt | None
) -> tuple[dict[str, Any], Sequence[Entry]]:
    """The receipt of a request with its faults and downgrades, and its entries."""
    wire = provider_for(settings.provider)
    try:
        request = sent or trial.fit(*settings.for_trial)
    except (Irreducible, OverBudget) as fault:
        return {**settings._asdict(), "error": str(fault)}, ()
    receipt = request.receipt if isinstance(request, Context) else request
    rendered = wire.render(request.items, model=settings.model, tools=request.tools, plan=request.plan)
    return {
        **settings._asdict(),
        "tokens": receipt.tokens,
        "available": receipt.available,
        "sections": [line._asdict() for line in receipt.lines()],
        "beside": receipt.beside,
        "not_shown": [entry._asdict() for entry in not_shown(receipt.entries)],
        "faults": [str(fault) for fault in wire.check(rendered.shared, settings.model)[:_MAX_ROWS]],
        "downgrades": [downgrade.reason for downgrade in rendered.downgrades[:_MAX_ROWS]],
    }, receipt.entries


def _bill(trial: Trial, settings: _Settings) -> dict[str, Any]:
    replay, prices = trial.replay(*settings.for_trial), known_prices(settings.model)
    cost = replay.bill(prices) / 1_000_000 if prices is not None and replay.calls else None
    return {**summed([replay]), "cost": cost, "items": len(trial.recorded)}
