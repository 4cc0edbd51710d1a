"""The context window of a model: its budget, smaller requests if the model refuses one, and room for outputs.

A window may be smaller than the facts of the model say. A model that refuses a request as too long is sent
less until it answers, and from then on no more than that with the same template.
"""

import logging
from functools import partial
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from quire.agent.tools import Room, ends
from quire.compactors import Offload, Room as HistoryRoom
from quire.context import Template
from quire.errors import WindowExceeded
from quire.items import Pin, ToolResult, Undo
from quire.models import AnyModel
from quire.session import Session, parts_of, rewrite_with
from quire.state import View, protected_positions
from quire.tokens import Budget, Counter, counter_for, facts_for

logger = logging.getLogger("quire.agent")

_UNKNOWN_WINDOW = 32_000
"""The window of a model without facts."""

_RESERVED = 8
"""One part in so many of a window is reserved for the answer."""

_SMALLEST_RESERVE = 256

_LESS = 0.8
"""The part of a request that is sent next if the model does not say how much was too much."""

_LEAST = 0.3
"""The smallest part that is sent next: counts of providers may be far from ours."""

_MARGIN = 0.95
"""The part of a computed window that is used: counts of providers are never quite ours."""


def budget_for(model: AnyModel) -> Budget:
    """The budget of a model: its window, an eighth of it reserved for the answer."""
    facts = facts_for(model.name)
    window = getattr(model, "context", None) or facts.window or _UNKNOWN_WINDOW
    reserve = max(window // _RESERVED, _SMALLEST_RESERVE)
    return Budget(window=window, reserve=min(reserve, facts.output or window))


# Windows that are smaller than they should be

_narrowed: "WeakKeyDictionary[Template, Template]" = WeakKeyDictionary()


def narrowed(template: Template) -> Template:
    """The template within the window that was found for it, or the template itself."""
    return _narrowed.get(template, template)


def keep_narrowed(template: Template, smaller: Template, model: AnyModel) -> None:
    """Use a smaller template in place of another from now on: the model has answered with it."""
    window, expected = smaller.budget.window, template.budget.window
    logger.warning(
        "%s reads at most %d tokens, not %d: give it a smaller Budget", model.name, window, expected
    )
    _narrowed[template] = smaller


def forget_narrowed(template: Template) -> bool:
    """Use the template itself again; False if it was not narrowed."""
    return _narrowed.pop(template, None) is not None


def narrow(template: Template, sent: int, exceeded: WindowExceeded) -> Template | None:
    """A template for less than a request of so many tokens that was refused; `None` if there is no less."""
    budget, window = template.budget, _next_window(sent, exceeded)
    promised = sum(share.minimum for share in budget.shares.values())
    reserve = min(budget.reserve, window // _RESERVED)
    budget = replace(budget, window=max(window, reserve + max(promised, 1)), reserve=reserve)
    if budget.available >= sent:
        return None
    return Template(*template.sections, budget=budget, model=template.model)


def _next_window(sent: int, exceeded: WindowExceeded) -> int:
    """The window of the next try, by our count."""
    over, limit = exceeded.over, exceeded.limit
    tokens = (sent - over) * _MARGIN if 0 < over < sent else sent * _LESS
    if limit:
        tokens = min(tokens, sent * limit / (limit + over if over else max(limit, sent)) * _MARGIN)
    return max(int(tokens), int(sent * _LEAST), 1)


# Room for tool outputs

_ONE_OUTPUT = 4
"""One output may take one part in so many of a request."""

_ALL_OUTPUTS = 2
"""All outputs of one reply may take one part in so many."""

_LEAST_OUTPUT = 64
"""Tokens that every output may take; the line that says where the rest is kept takes as many."""

_MOST_BYTES = 4  # of a character: no counter finds more tokens in a text than it has bytes


def room_for(template: Template, model: AnyModel, calls: int) -> Room:
    """The room for the output of each of so many calls of one reply."""
    available = template.budget.available
    tokens = min(available // _ONE_OUTPUT, available // (_ALL_OUTPUTS * max(calls, 1)))
    return partial(characters_within, _counter(template, model), max(tokens, _LEAST_OUTPUT))


def characters_within(counter: Counter, tokens: int, text: str, most: int) -> int:
    """How many characters of a text, as beginning and end, take at most so many tokens."""
    most = min(most, len(text))
    while most > tokens // _MOST_BYTES:
        counted = counter.count(ToolResult("call", "tool", "".join(ends(text, most))))
        if counted <= tokens:
            break
        most = most * tokens * 9 // (counted * 10)
    return most


async def make_room(session: Session, template: Template, model: AnyModel, over: int) -> bool:
    """Move tool results that must be shown to the pool until so many tokens are free; False if none can."""
    view, counter = session.view(), _counter(template, model)
    results = sum(isinstance(item, ToolResult) for item in view)
    room = HistoryRoom(max(_protected(view, counter) - over - over // 8, 0), counter)
    moving = Offload(larger_than=_LEAST_OUTPUT, keep=results, ceiling=0)
    compactions = parts_of(session).compactions
    return bool(await compactions.make_room(*compactions.shown(), room, moving))


MODEL = "model"
"""The `agent_id` of the edits that a model has made of its own context."""


def pins_of_model(view: View) -> set[int]:
    """The heads of the groups that the model has pinned."""
    return {view.log.head(view.log.locate(pin.target, view.end)) for pin in _own_pins(view)}


async def release_pins(session: Session) -> bool:
    """Take back what the model has pinned; False if it has pinned nothing."""
    undos = [Undo(pin.id, agent_id=MODEL, origin="model") for pin in _own_pins(session.view())]
    if undos:
        await rewrite_with(session, lambda _: undos)
    return bool(undos)


def _own_pins(view: View) -> list[Pin]:
    edits = view.edits_in_force.edits.values()
    return [edit for edit in edits if isinstance(edit, Pin) and edit.agent_id == MODEL]


def _protected(view: View, counter: Counter) -> int:
    """The tokens of what a history must show."""
    shown = map(view.shown_at, set(protected_positions(view)))
    return counter.total(sum(counter.count(item) for item in shown if item is not None))


def _counter(template: Template, model: AnyModel) -> Counter:
    return counter_for(template.model or model.name)
