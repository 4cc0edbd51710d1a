"""What `quire fit` and `quire explain` say of a fitted history, as text and as JSON."""

from typing import Any

from quire.cli import explaining
from quire.cli.fitting import Fit
from quire.context import Entry
from quire.providers import Downgrade


def as_text(fit: Fit) -> str:
    """The receipt as a table, and what a policy did before."""
    told = policy_line(fit)
    table = str(fit.context.receipt)
    return f"{table}\n" if told is None else f"{table}\n{told}\n"


def policy_line(fit: Fit) -> str | None:
    """What a policy did, if it did something."""
    plan = fit.compacted
    if plan is None:
        return None
    return f"compacted from {plan.before:,} to {plan.after:,} tokens by {plan.by}: {plan.reason}"


def as_data(fit: Fit, downgrades: tuple[Downgrade, ...], note: str | None) -> dict[str, Any]:
    """The receipt with every candidate, for programs to read."""
    receipt, plan = fit.context.receipt, fit.compacted
    numbers = {item.id: number for number, item in enumerate(fit.items, 1)}
    return {
        "line": fit.history.line,
        "model": fit.model,
        "tokens": receipt.tokens,
        "available": receipt.available,
        "tool_definitions": receipt.schemas,
        "sections": [line._asdict() for line in receipt.lines()],
        "entries": [entry_data(entry, numbers.get(entry.item_id)) for entry in receipt.entries],
        "compaction": plan
        and {"by": plan.by, "before": plan.before, "after": plan.after, "reason": plan.reason},
        "notes": [*receipt.advice, *([note] if note else [])],
        "downgrades": [{"change": each.change, "reason": each.reason} for each in downgrades],
    }


def entry_data(entry: Entry, number: int | None) -> dict[str, Any]:
    """What became of one candidate; one that was not in the file has no number."""
    return {"number": number, **entry._asdict()}


def explained(fit: Fit, number: int, show: str | None) -> dict[str, Any]:
    """What became of one item, for programs to read."""
    item = fit.items[number - 1]
    found = {"line": fit.history.line, **entry_data(fit.context.explain(item), number)}
    found |= {"called": explaining.called(item), "policy": policy_line(fit)}
    return found if show is None else {**found, "content": show}


def explained_text(fit: Fit, number: int, show: str | None) -> str:
    """The same for people to read."""
    item = fit.items[number - 1]
    rows = explaining.rows(fit.context.explain(item), number, item, policy_line(fit))
    text = "".join(f"{name:9}{value}\n" for name, value in rows)
    return text if show is None else f"{text}\n{show}\n"
