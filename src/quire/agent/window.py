"""The context window of a model: its budget, smaller requests if the model refuses one, and room for outputs.

A window may be smaller than the facts of the model say. If a model refuses a request as too long, it is sent
smaller ones until it answers; later requests with the same template keep that size.
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

_RESERVE_SHARE = 8
"""The window divided by this is reserved for the answer."""

_MIN_RESERVE = 256

_RETRY_FRACTION = 0.8
"""The size of the next request, as a fraction, if the model does not say how far the last was over."""

_MIN_FRACTION = 0.3
"""The smallest such fraction: a provider's counts may differ far from ours."""

_MARGIN = 0.95
"""The fraction of a computed window that is used: a provider's counts differ slightly from ours."""


def budget_for(model: AnyModel) -> Budget:
    """The budget of a model: its window, an eighth of it reserved for the answer."""
    facts = facts_for(model.name)
    window = getattr(model, "context", None) or facts.window or _UNKNOWN_WINDOW
    reserve = max(window // _RESERVE_SHARE, _MIN_RESERVE)
    return Budget(window=window, reserve=min(reserve, facts.output or window))


# Windows that are smaller than the facts say

_narrowed: "WeakKeyDictionary[Template, Template]" = WeakKeyDictionary()


def narrowed(template: Template) -> Template:
    """The smaller template that the model has answered, or the template itself."""
    return _narrowed.get(template, template)


def keep_narrowed(template: Template, smaller: Template, model: AnyModel) -> None:
    """Use a smaller template from now on, because the model has answered with it."""
    window, expected = smaller.budget.window, template.budget.window
    logger.warning(
        "%s reads at most %d tokens, not %d: give it a smaller Budget", model.name, window, expected
    )
    _narrowed[template] = smaller


def forget_narrowed(template: Template) -> bool:
    """Use the template itself again; False if it was not narrowed."""
    return _narrowed.pop(template, None) is not None


def narrow(template: Template, sent: int, exceeded: WindowExceeded) -> Template | None:
    """A template for less than the `sent` tokens of a refused request; `None` if it cannot be smaller."""
    budget, window = template.budget, _next_window(sent, exceeded)
    minimum = sum(share.minimum for share in budget.shares.values())
    reserve = min(budget.reserve, window // _RESERVE_SHARE)
    budget = replace(budget, window=max(window, reserve + max(minimum, 1)), reserve=reserve)
    if budget.available >= sent:
        return None
    return Template(*template.sections, budget=budget, model=template.model)


def _next_window(sent: int, exceeded: WindowExceeded) -> int:
    """The window of the next try, by our count."""
    over, limit = exceeded.over, exceeded.limit
    tokens = (sent - over) * _MARGIN if 0 < over < sent else sent * _RETRY_FRACTION
    if limit:
        counted = limit + over if over else max(limit, sent)  # the request, by the model's count
        tokens = min(tokens, sent * limit / counted * _MARGIN)
    return max(int(tokens), int(sent * _MIN_FRACTION), 1)


# Room for tool outputs

_OUTPUT_SHARE = 4
"""One output takes at most the available tokens divided by this."""

_OUTPUTS_SHARE = 2
"""All outputs of one reply take at most the available tokens divided by this."""

_MIN_OUTPUT = 64
"""Tokens that every output may take; the line that says what was left out may take as many again."""

_BYTES_PER_CHARACTER = 4  # at most; no counter counts more tokens than bytes


def room_for(template: Template, model: AnyModel, calls: int) -> Room:
    """The room for the output of each of the calls of one reply."""
    available = template.budget.available
    tokens = min(available // _OUTPUT_SHARE, available // (_OUTPUTS_SHARE * max(calls, 1)))
    return partial(characters_within, _counter(template, model), max(tokens, _MIN_OUTPUT))


def characters_within(counter: Counter, tokens: int, text: str, characters: int) -> int:
    """How many characters of a text, its beginning and its end together, fit into `tokens`."""
    characters = min(characters, len(text))
    while characters > tokens // _BYTES_PER_CHARACTER:
        counted = counter.count(ToolResult("call", "tool", "".join(ends(text, characters))))
        if counted <= tokens:
            break
        characters = characters * tokens * 9 // (counted * 10)
    return characters


async def make_room(session: Session, template: Template, model: AnyModel, over: int) -> bool:
    """Move required tool results to the pool until `over` tokens are free; False if none can be moved."""
    view, counter = session.view(), _counter(template, model)
    results = sum(isinstance(item, ToolResult) for item in view)
    room = HistoryRoom(max(_protected_tokens(view, counter) - over - over // 8, 0), counter)
    moving = Offload(larger_than=_MIN_OUTPUT, keep=results, ceiling=0)
    compactions = parts_of(session).compactions
    return bool(await compactions.make_room(*compactions.latest_view(), room, moving))


MODEL = "model"
"""The `agent_id` of edits by which a model changes its own context."""


def pins_of_model(view: View) -> set[int]:
    """The heads of the groups that the model has pinned."""
    return {view.log.head(view.log.locate(pin.target, view.end)) for pin in _own_pins(view)}


async def release_pins(session: Session) -> bool:
    """Undo the pins of the model; False if there are none."""
    undos = [Undo(pin.id, agent_id=MODEL, origin="model") for pin in _own_pins(session.view())]
    if undos:
        await rewrite_with(session, lambda _: undos)
    return bool(undos)


def _own_pins(view: View) -> list[Pin]:
    edits = view.edits_in_force.edits.values()
    return [edit for edit in edits if isinstance(edit, Pin) and edit.agent_id == MODEL]


def _protected_tokens(view: View, counter: Counter) -> int:
    """The tokens of the items that a history must show."""
    shown = map(view.shown_at, set(protected_positions(view)))
    return counter.total(sum(counter.count(item) for item in shown if item is not None))


def _counter(template: Template, model: AnyModel) -> Counter:
    return counter_for(template.model or model.name)
