"""A history fitted into a budget: what the model would see of it, and why."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from quire.cli import formats
from quire.cli.counting import read_items
from quire.cli.explaining import named_parts
from quire.cli.files import History
from quire.cli.fixing import outgrown, said_of, shaped
from quire.cli.replay import POLICIES
from quire.compactors import Plan, Room, Summarize, record
from quire.context import Context, Piece, Template
from quire.errors import InvalidValue, Irreducible, cut
from quire.items import Item, Message, Summary
from quire.providers import Downgrade
from quire.sections import Ask, History as HistorySection
from quire.state import Pool, Transcript
from quire.tokens import Budget, counter_for, schema_tokens, summarized

COUNTED_AS = "gpt-5.6"
"""The model that is counted for where nobody says which one it is."""


class Wanted(NamedTuple):
    """How to fit: into which budget, for which model and format, and what to compact with before."""

    budget: Budget
    model: str | None = None
    source: str | None = None
    to: str | None = None
    policy: str | None = None


class Fit(NamedTuple):
    """What became of one history; `items` are those that were read, and `compacted` is what a policy did."""

    history: History
    items: list[Item]
    context: Context
    model: str
    compacted: Plan | None = None


def fitted(history: History, wanted: Wanted) -> Fit:
    """A history within the budget; `OverBudget` and `Irreducible` name what is too large by number or id."""
    source = formats.guessed(history.payload, wanted.source)
    is_same = wanted.to in (None, source)
    items = numbered(read_items(history, source, wanted.model if is_same else None), source)
    asked = wanted.model or formats.model_of(history.payload)
    model = asked or COUNTED_AS
    tools = formats.tools_of(history.payload)
    transcript = Transcript(items)
    plan = _compacted(transcript, wanted, model, tools)
    template = Template(HistorySection(), budget=wanted.budget, model=asked)
    pieces = (Piece(HistorySection(), transcript.view),)
    context = template.fit(pieces, Ask(tools=tools), counter=counter_for(model))
    return Fit(history, items, context, model, plan)


def numbered(items: list[Item], source: str) -> list[Item]:
    """Items with their number for an id, unless they are Quire's own.

    Providers' histories have no ids: those made in reading them are others each time.
    """
    if source == formats.OWN:
        return items
    return [msgspec.structs.replace(item, id=str(number)) for number, item in enumerate(items, 1)]


def payload_of(fit: Fit, wanted: Wanted) -> tuple[Any, tuple[Downgrade, ...], str | None]:
    """The payload, what was changed on the way, and a note where it no longer has the shape that it had."""
    source = formats.guessed(fit.history.payload, wanted.source)
    to = wanted.to or source
    if to == formats.OWN:
        return formats.written(_standing_alone(fit.context.items), to, model=None, tools=[])[0], (), None
    rendered = fit.context.render(to)
    if to != source:
        return rendered.payload, rendered.downgrades, None
    original = fit.history.payload
    payload = shaped(rendered.payload, original, to)
    return payload, said_of(rendered.downgrades, original), outgrown(payload, original)


def _standing_alone(items: Iterable[Item]) -> list[Item]:
    """Items that can be read again by themselves, with summaries as they are said to a model.

    As an edit a summary would name items that are no longer there. It was made after what follows it, and
    takes the time of that, because what is read is put in order by time.
    """
    found: list[Item] = []
    for item in reversed(list(items)):
        if isinstance(item, Summary):
            made = min(item.created_at, found[-1].created_at) if found else item.created_at
            item = Message("user", summarized(item.text), id=item.id, created_at=made)
        found.append(item)
    return found[::-1]


def known_policy(name: str | None) -> str | None:
    """The name of a policy that can be had without a model."""
    if name is None:
        return None
    if isinstance(POLICIES[checked_policy(name)], Summarize):
        others = ", ".join(other for other, one in POLICIES.items() if not isinstance(one, Summarize))
        raise InvalidValue(f"the policy {name!r} needs a model to write the summary; without one: {others}")
    return name


def checked_policy(name: str) -> str:
    """The name, if it is one of a policy."""
    if name not in POLICIES:
        raise InvalidValue(f"no policy {cut(name)!r}; there are {', '.join(POLICIES)}")
    return name


def _compacted(transcript: Transcript, wanted: Wanted, model: str, tools: list[Any]) -> Plan | None:
    """What the policy took away, if it did."""
    compactor = POLICIES[wanted.policy] if wanted.policy else None
    if compactor is None:
        return None
    counter = counter_for(model)
    schemas = schema_tokens(tools, counter) if tools else 0
    left = wanted.budget.available - schemas
    if left < 0:
        return None  # fitting says that the tool definitions alone are too large, and by how much
    try:
        plan = compactor.plan(transcript.view, Room(left, counter))
    except Irreducible as fault:
        parts = named_parts(transcript.view, fault.parts, counter)
        raise Irreducible(f"{fault}; what must stay: {parts}", fault.parts) from None
    if plan is None:
        return None
    named = _named(plan, wanted.policy or plan.by)
    return named if record(transcript, named, pool=Pool()).fate == "kept" else None


def _named(plan: Plan, policy: str) -> Plan:
    """The plan with edits called by the policy, so that a receipt says by whom something went."""
    edits = (
        msgspec.structs.replace(edit, id=f"{policy}-{number}") for number, edit in enumerate(plan.edits, 1)
    )
    return plan._replace(edits=tuple(edits))
