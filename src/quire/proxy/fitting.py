"""Requests that are changed before they are sent: repaired, and cut to a budget.

The messages of the program are sent as they are, wherever all of them is shown. Where nothing needs to be
changed, nothing is; and a change that the provider would refuse is not made.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from msgspec.json import encode

from quire.context import Context, Template
from quire.errors import QuireError
from quire.integrations.logs.histories import History as Payload
from quire.integrations.logs.repair import converted
from quire.items import Item
from quire.memory import Recall, Wishes
from quire.providers import Fault, Rendered, check, provider_for
from quire.proxy.conversations import Thread
from quire.proxy.exchange import Json, Request, Unit, is_reply
from quire.sections import History, Instructions, Section
from quire.tokens import Budget


class Fitting(NamedTuple):
    """What may be changed: faults are repaired, and a request of more than so many `tokens` is cut."""

    repairs: bool = False
    tokens: int | None = None
    recalls: bool = False

    def __bool__(self) -> bool:
        return self.repairs or self.tokens is not None


class Sent(NamedTuple):
    """What was built for a request, and its rendering, which the answer answers."""

    context: Context
    rendered: Rendered


class Changed(NamedTuple):
    """A request in place of another: its body, its context if it was cut, and what was changed."""

    body: bytes | None = None
    sent: Sent | None = None
    changes: tuple[str, ...] = ()


def changed(
    fitting: Fitting, request: Request, thread: Thread, context: Context, faults: Sequence[Fault]
) -> Changed:
    """The request to send in place of one; without a body the request is sent as it is."""
    payload, cut, changes = request.payload, None, list[str]()
    if fitting.tokens is not None and context.receipt.tokens > fitting.tokens:
        cut, payload, told = _cut(fitting, request, thread, len(faults))
        changes.append(told)
    if fitting.repairs and (broken := check(payload, request.wire, model=request.model)):
        payload, repairs = _repaired(request, payload, broken)
        changes += repairs
    is_same = payload is request.payload
    return Changed(None if is_same else encode(payload), cut, tuple(changes))


# Repairs


def _repaired(request: Request, payload: Json, faults: Sequence[Fault]) -> tuple[Json, list[str]]:
    """The payload without its faults, as far as others do not take their place."""
    wire = request.wire
    try:
        rendered, downgrades = converted(Payload(payload), wire, wire, request.model)
    except QuireError as fault:
        return payload, [f"not repaired: {fault}"]
    rest = {name: value for name, value in rendered.items() if name not in (request.field, "config")}
    for beside in ({}, rest):  # tools and instructions stay the program's own, if they are not the fault
        found = {**payload, **beside, request.field: rendered[request.field]}
        if len(check(found, wire, model=request.model)) < len(faults):
            changes = [f"repaired: {one.reason} ({one.change})" for one in downgrades]
            return found, changes or [f"repaired: {one.place}: {one.rule}" for one in faults]
    return payload, [f"not repaired: {faults[0].place}: {faults[0].rule}"]


# Cuts


def _cut(fitting: Fitting, request: Request, thread: Thread, faults: int) -> tuple[Sent | None, Json, str]:
    """The context of a smaller request, its payload, and what was done."""
    assert fitting.tokens is not None
    try:
        template = thread.template(request, fitting.tokens, lambda: _template(fitting, request))
        context = thread.session.build(template, tools=request.tools, model=request.model)
        rendered = context.render(request.wire)
        own = {**request.payload, request.field: _assembled(request, thread, context)}
        whole = {**request.payload, request.field: rendered.payload[request.field]}
        for payload in (own, whole):
            if len(check(payload, request.wire, model=request.model)) <= faults:
                left = sum(line.left_out for line in context.receipt.lines())
                return (
                    Sent(context, rendered),
                    payload,
                    f"cut to {context.receipt.tokens:,} tokens: {left:,} items left out",
                )
    except QuireError as fault:
        return None, request.payload, f"not cut: {fault}"
    return None, request.payload, "not cut: the provider would refuse what is left"


def _template(fitting: Fitting, request: Request) -> Template:
    shown: list[Section] = [Wishes(scope=False), History()]
    sections = [Instructions(request.instructions), *shown] if request.instructions else shown[::-1]
    recall = [Recall("recent", "episodes", "knowledge")] if fitting.recalls else []
    return Template(*sections, *recall, budget=Budget(window=fitting.tokens or 1), model=request.model)


def _assembled(request: Request, thread: Thread, context: Context) -> list[Json]:
    """The messages of a context: the program's own where all of a unit is shown, others written anew."""
    unit_of = {item.id: place for place, unit in enumerate(thread.units) for item in unit.items}
    block_of, block = list[int](), -1
    for unit in thread.units:
        block += not unit.has_results
        block_of.append(block)
    shown = [item for item in context.items if not item.id.startswith("instructions/")]
    messages = request.every[: request.leading]

    def block_at(item: Item) -> int:
        place = unit_of.get(item.id)
        return -1 if place is None else block_of[place]

    for _, run in groupby(shown, block_at):
        messages += _messages_of(request, list(run), unit_of, thread.units)
    return messages


def _messages_of(
    request: Request, items: list[Item], unit_of: dict[str, int], units: Sequence[Unit]
) -> Iterator[Json]:
    """The messages of a block: as they are if they are whole, else with those that are not written anew."""
    runs = [(place, list(run)) for place, run in groupby(items, lambda item: unit_of.get(item.id))]
    if all(place is not None and _is_whole(units[place], run) for place, run in runs):
        for place, _ in runs:
            unit = units[place or 0]
            yield from request.messages[unit.start : unit.stop]
        return
    place, first = runs[0]
    written: list[Any] = provider_for(request.wire).render(items, model=request.model).payload[request.field]
    if place is not None and units[place].is_reply and _is_whole(units[place], first):
        yield from request.messages[units[place].start : units[place].stop]
        written = [one for one in written if not is_reply(one)]
    yield from written


def _is_whole(unit: Unit, items: Sequence[Item]) -> bool:
    return len(unit.items) == len(items) and all(
        one is other or one == other for one, other in zip(unit.items, items, strict=True)
    )
