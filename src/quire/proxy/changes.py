"""Changes of requests before they are sent: repairs, and cuts to a budget.

A message that is shown whole is sent as the program wrote it. A request is changed only if it needs to be,
and only if the provider would accept the result.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from msgspec.json import encode

from quire.context import Context
from quire.errors import QuireError
from quire.integrations.logs.histories import History as Payload
from quire.integrations.logs.repair import converted
from quire.items import Item
from quire.memory import Recall, Wishes
from quire.providers import Fault, Rendered, check, provider_for
from quire.proxy.conversations import Thread, blocks
from quire.proxy.exchange import Json, Request, Unit, is_reply
from quire.sections import History, Section


class AllowedChanges(NamedTuple):
    """Which changes are allowed: repairs, a cut to `tokens`, and recall of what such a cut leaves out."""

    repairs: bool = False
    tokens: int | None = None
    recalls: bool = False

    def __bool__(self) -> bool:
        return self.repairs or self.tokens is not None


class Built(NamedTuple):
    """The context that was built for a request, and its rendering."""

    context: Context
    rendered: Rendered


class Change(NamedTuple):
    """A changed request: its body, if it differs, its context, if it was cut, and what was done, in words."""

    body: bytes | None = None
    built: Built | None = None
    descriptions: tuple[str, ...] = ()


def change_request(
    allowed: AllowedChanges, request: Request, thread: Thread, context: Context, faults: Sequence[Fault]
) -> Change:
    """Repair and cut a request; without a body in the result it is sent as it is."""
    payload, built, descriptions = request.payload, None, list[str]()
    if allowed.tokens is not None and context.receipt.tokens > allowed.tokens:
        built, payload, description = _cut(allowed, request, thread, len(faults))
        descriptions.append(description)
    if allowed.repairs and (broken := check(payload, request.wire, model=request.model)):
        payload, repairs = _repair(request, payload, broken)
        descriptions += repairs
    is_same = payload is request.payload
    return Change(None if is_same else encode(payload), built, tuple(descriptions))


# Repairs


def _repair(request: Request, payload: Json, faults: Sequence[Fault]) -> tuple[Json, list[str]]:
    """The payload with fewer faults, if the repair succeeds, and what was done."""
    wire = request.wire
    try:
        rendered, downgrades = converted(Payload(payload), wire, wire, request.model)
    except QuireError as fault:
        return payload, [f"not repaired: {fault}"]
    rest = {name: value for name, value in rendered.items() if name not in (request.field, "config")}
    for fields in ({}, rest):  # first with the program's own tools and instructions, then with rendered ones
        repaired = {**payload, **fields, request.field: rendered[request.field]}
        if len(check(repaired, wire, model=request.model)) < len(faults):
            changes = [f"repaired: {downgrade.reason} ({downgrade.change})" for downgrade in downgrades]
            return repaired, changes or [f"repaired: {fault.place}: {fault.rule}" for fault in faults]
    return payload, [f"not repaired: {faults[0].place}: {faults[0].rule}"]


# Cuts


def _cut(
    allowed: AllowedChanges, request: Request, thread: Thread, limit: int
) -> tuple[Built | None, Json, str]:
    """The context and payload of a smaller request with at most `limit` faults, if any, and what was done."""
    assert allowed.tokens is not None
    parts: list[Section] = [Wishes(scope=False), History()]
    sections = parts if request.instructions else parts[::-1]
    sections += [Recall("recent", "episodes", "knowledge")] if allowed.recalls else []
    try:
        template = thread.template(request, allowed.tokens, *sections)
        context = thread.session.build(template, tools=request.tools, model=request.model)
        rendered = context.render(request.wire)
        for messages in (_assemble(request, thread, context), rendered.payload[request.field]):
            payload = {**request.payload, request.field: messages}
            if len(check(payload, request.wire, model=request.model)) <= limit:
                left_out = sum(line.left_out for line in context.receipt.lines())
                description = f"cut to {context.receipt.tokens:,} tokens: {left_out:,} items left out"
                return Built(context, rendered), payload, description
    except QuireError as fault:
        return None, request.payload, f"not cut: {fault}"
    return None, request.payload, "not cut: the provider would refuse what is left"


def _assemble(request: Request, thread: Thread, context: Context) -> list[Json]:
    """The messages of a context: the program's own for units that are shown whole, else rendered ones."""
    unit_by_item = {item.id: index for index, unit in enumerate(thread.units) for item in unit.items}
    block_by_unit = {index: block.start for block in blocks(thread.units) for index in block}
    shown = [item for item in context.items if not item.id.startswith("instructions/")]
    messages = list(request.leading)
    for _, run in groupby(shown, lambda item: block_by_unit.get(unit_by_item.get(item.id, -1))):
        messages += _messages_of(request, list(run), unit_by_item, thread.units)
    return messages


def _messages_of(
    request: Request, items: list[Item], unit_by_item: dict[str, int], units: Sequence[Unit]
) -> Iterator[Json]:
    """The messages of a block, rendered; the program's own if the block, or its reply, is shown whole."""
    runs = [(index, list(run)) for index, run in groupby(items, lambda item: unit_by_item.get(item.id))]
    if all(index is not None and _is_whole(units[index], run) for index, run in runs):
        for index, _ in runs:
            unit = units[index or 0]
            yield from request.messages[unit.start : unit.stop]
        return
    index, first_run = runs[0]
    rendered: list[Any] = provider_for(request.wire).render(items, model=request.model).payload[request.field]
    if index is not None and units[index].is_reply and _is_whole(units[index], first_run):
        yield from request.messages[units[index].start : units[index].stop]
        rendered = [message for message in rendered if not is_reply(message)]
    yield from rendered


def _is_whole(unit: Unit, items: Sequence[Item]) -> bool:
    return len(unit.items) == len(items) and all(
        own is item or own == item for own, item in zip(unit.items, items, strict=True)
    )
