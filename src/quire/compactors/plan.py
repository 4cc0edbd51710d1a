"""Plans: what a compactor proposes, how a cascade joins plans, and how a transcript records one.

A plan is data. It changes nothing until it is recorded, and says in advance what it will do.
"""

import logging
from collections.abc import Collection, Iterable
from itertools import chain
from typing import Any, Literal, NamedTuple, Protocol, cast

import msgspec
from msgspec.structs import replace

from quire.compactors.proof import with_losses
from quire.errors import DuplicateId, EditRefused, InvalidValue, Irreducible, UnknownId, WrongType
from quire.items import Edit, Hide, Item, Mask, Note, Span, Summary, is_below, own_origin
from quire.state import Pool, Transcript, View, protected_positions, spans_over, undone_groups, view_after
from quire.tokens import Counter, checked_counter, whole

logger = logging.getLogger("quire.compactors")

TOO_LONG = "the summary is longer than what it would stand for"
"""A reason to discard a summary; the same model may well write one again."""

FORCED = "quire.forced"
"""The key of `extras` that marks an edit of a forced plan."""

FORCED_REASON = "an undo had shown some of it again, and nothing else makes the history fit"

_FREE_SHARE = 4
"""A compaction should leave one token in this many of the room free."""


class Room(msgspec.Struct, frozen=True):
    """The most tokens that a view may take, and the counter.

    `early` asks for a plan before the ceiling is reached, if the view is above the floor. `reads` is the
    window of the model that writes summaries, for prompt and answer together: by default the tokens of the
    room, and at least 4,096. With 0 there is no such model.
    """

    tokens: int
    counter: Counter
    early: bool = False
    reads: int | None = None

    def __post_init__(self) -> None:
        whole(self.tokens, "Room.tokens", least=0)
        checked_counter(self.counter)
        if self.reads is not None:
            whole(self.reads, "Room.reads", least=0)


class Request(NamedTuple):
    """A summary to be written: from `prompt`, in at most `size` tokens, in place of `spans`.

    `items` are the ids of the items to be summarised, `revision` is that of the view. A summary that is no
    shorter than these items is discarded; without a `room` its length is not checked. If the model cannot
    read all of them at once, the request `is_part`: it covers the oldest, and the next plan the rest.
    """

    prompt: tuple[Item, ...]
    size: int
    spans: tuple[Span, ...]
    items: tuple[str, ...]
    revision: int
    room: Room | None = None
    is_part: bool = False


class Plan(NamedTuple):
    """A proposal: `by` which compactor, the `reason`, and the tokens of the view `before` and `after`.

    `after` is exact for edits. With a request it assumes a summary of the requested size. A plan is `forced`
    if it compacts again what a person had undone.
    """

    by: str
    reason: str
    before: int
    after: int
    edits: tuple[Edit, ...] = ()
    notes: tuple[Note, ...] = ()
    request: Request | None = None
    forced: bool = False

    @property
    def saved(self) -> int:
        """The tokens saved."""
        return self.before - self.after


class Compactor(Protocol):
    """Plans how to make a view smaller. It is pure: it records nothing and calls no model."""

    @property
    def name(self) -> str:
        """The name in plans and receipts."""
        ...

    def plan(self, view: View, room: Room) -> Plan | None:
        """Return a plan, or None while the view need not shrink.

        Raises `Irreducible` if what must stay is too large.
        """
        ...


def checked_compactor(compactor: Any) -> Compactor:
    """Return the compactor if it is one."""
    if isinstance(compactor, type):
        raise WrongType(f"a compactor must be an object, not a class: {compactor.__name__}(…)")
    if not (callable(getattr(compactor, "plan", None)) and isinstance(getattr(compactor, "name", None), str)):
        raise WrongType(
            f"a compactor must have a name and a plan, as Summarize() has; {type(compactor).__name__} has not"
        )
    return cast(Compactor, compactor)


class Cascade:
    """Asks each compactor in turn for a plan for what the ones before it leave, and joins the plans.

    A summary comes last, because its size is not known in advance. A compactor is skipped if its summary
    would not make the view fit, or if it raises `Irreducible`; that error is raised if no other compactor
    makes the view fit. If the view was above the room, compactors are asked until a quarter of the room is
    free: the next message needs room too.
    """

    name = "cascade"

    def __init__(self, *compactors: Compactor) -> None:
        if not compactors:
            raise InvalidValue("a cascade needs at least one compactor")
        self.compactors = tuple(map(checked_compactor, compactors))

    def __repr__(self) -> str:
        return f"Cascade({', '.join(map(repr, self.compactors))})"

    def plan(self, view: View, room: Room) -> Plan | None:
        """Return the plans of all compactors as one."""
        plans: list[Plan] = []
        fault: Irreducible | None = None
        remaining = view
        for compactor in self.compactors:
            try:
                plan = compactor.plan(remaining, _next_room(view, remaining, room))
            except Irreducible as error:
                fault = error
                continue
            if plan is None or plan.saved <= 0 or (plan.request is not None and not _fits(plan, room)):
                continue
            plans.append(plan)
            if plan.request is not None:
                break
            remaining = view_after(remaining, plan.edits)
        if fault is not None and not (plans and _fits(plans[-1], room)):
            raise fault
        return self._joined(plans, view) if plans else None

    def _joined(self, plans: list[Plan], view: View) -> Plan:
        request = plans[-1].request
        return Plan(
            self.name,
            "; ".join(f"{plan.by}: {plan.reason}" for plan in plans),
            plans[0].before,
            plans[-1].after,
            tuple(edit for plan in plans for edit in plan.edits),
            tuple(note for plan in plans for note in plan.notes),
            # The summary is compared with the view before any of these edits.
            request and request._replace(revision=view.revision),
        )


def plan_around_undone(compactor: Compactor, view: View, room: Room) -> Plan | None:
    """Return a plan that spares the groups that a person has brought back by an undo.

    Such a plan is for the other groups, in the room that the spared ones leave. If none makes the view fit,
    the plan covers the spared groups too, and is `forced`.
    """
    plan = compactor.plan(view, room)
    undone = undone_groups(view) if plan is not None else set[int]()
    if plan is None or not _touches(plan, view, undone):
        return plan
    around = _plan_without(compactor, view, room, undone)
    if around is not None and _fits(around, room) and not _touches(around, view, undone):
        return around
    if view.tokens(room.counter) <= room.tokens:
        return None
    return plan._replace(forced=True, reason=f"{plan.reason}; {FORCED_REASON}")


def _plan_without(compactor: Compactor, view: View, room: Room, heads: Iterable[int]) -> Plan | None:
    """Return a plan that spares the groups with these heads, in the room that they leave."""
    log, end = view.log, view.end
    spared_heads = set(heads).difference(map(log.head, protected_positions(view)))
    spans = spans_over(view, (log.item(p) for head in spared_heads for p in log.group(head, end)))
    rest = view_after(view, (Hide(spans),)) if spans else view
    spared = view.tokens(room.counter) - rest.tokens(room.counter)
    if rest is view or spared >= room.tokens:
        return None
    try:
        plan = compactor.plan(rest, replace(room, tokens=room.tokens - spared))
    except Irreducible:
        return None
    if plan is None or plan.saved <= 0:
        return None
    request = plan.request and plan.request._replace(revision=view.revision)
    return plan._replace(request=request, before=plan.before + spared, after=plan.after + spared)


def _touches(plan: Plan, view: View, heads: Collection[int]) -> bool:
    """Whether a plan changes how one of the groups is shown."""
    log, end = view.log, view.end
    edits = [*plan.edits, *((Summary("to be written", plan.request.spans),) if plan.request else ())]
    targets = (log.locate(edit.target, end) for edit in edits if isinstance(edit, Mask))
    areas = (log.area(edit, end) for edit in edits if isinstance(edit, Hide | Summary))
    covered = (p for area in areas for start, stop in area for p in range(start, stop))
    return bool(heads) and any(log.head(position) in heads for position in chain(targets, covered))


def _fits(plan: Plan, room: Room) -> bool:
    """Whether the view fits the room after the plan, or after further requests for the rest."""
    return plan.after <= room.tokens or (plan.request is not None and plan.request.is_part)


def _next_room(view: View, remaining: View, room: Room) -> Room:
    """Return the room for the next compactor: `early` if those before it freed too little."""
    if remaining is view or room.early or view.tokens(room.counter) <= room.tokens:
        return room
    is_enough = remaining.tokens(room.counter) <= room.tokens - room.tokens // _FREE_SHARE
    return room if is_enough else replace(room, early=True)


class Outcome(NamedTuple):
    """Whether a plan was kept or discarded, and why; false if it was discarded."""

    fate: Literal["kept", "discarded"]
    reason: str
    edits: tuple[Edit, ...] = ()

    def __bool__(self) -> bool:
        return self.fate == "kept"


def record(
    transcript: Transcript, plan: Plan, *, text: str | None = None, pool: Pool | None = None
) -> Outcome:
    """Record a plan, with `text` as the summary it requests. All of it is recorded, or nothing.

    What the summary has lost is added to it, as far as its size allows. The plan is discarded if the summary
    is empty, if its items have changed since, or if it is no shorter than they are.
    """
    if plan.notes and pool is None:
        raise InvalidValue(f"{plan.by} moves content to a pool: call record(…) with a pool")
    if text is not None and plan.request is None:
        raise InvalidValue(f"{plan.by} requests no summary: call record(…) without a text")
    edits = plan.edits
    try:
        if plan.request is not None:
            text = (text or "").strip()
            fault = _fault_of(text, plan, plan.request, transcript)
            if fault is not None:
                logger.warning("the summary planned by %s is discarded: %s", plan.by, fault)
                return Outcome("discarded", fault)
            text = _with_losses(text, plan, plan.request, transcript.view)
            edits = (*edits, Summary(text, plan.request.spans))
        edits = tuple(map(_as_by_model, edits))
        if plan.forced:
            edits = tuple(replace(edit, extras={**edit.extras, FORCED: True}) for edit in edits)
        transcript.extend(edits)
    except (EditRefused, UnknownId, DuplicateId) as error:
        logger.warning("the plan of %s no longer applies: %s", plan.by, error)
        return Outcome("discarded", str(error))
    if pool is not None:
        for note in plan.notes:
            pool.add(note)
    logger.info("%s recorded %d edits, %d tokens to %d", plan.by, len(edits), plan.before, plan.after)
    return Outcome("kept", plan.reason, edits)


def _as_by_model(edit: Edit) -> Edit:
    """Return an edit with an origin below that of a person."""
    return edit if is_below(own_origin(edit), "user") else replace(edit, origin="model")


def _with_losses(text: str, plan: Plan, request: Request, view: View) -> str:
    """Return a summary and what it lost of its items, except what the view shows elsewhere."""
    if request.room is None:
        return text
    summarised, counter = set(request.items), request.room.counter
    before = view_after(view, plan.edits)
    after = view_after(before, (Summary(text, request.spans),))
    shown = [item for item in after if item.id not in summarised and not isinstance(item, Summary)]
    items = [view.get(item_id) for item_id in request.items]
    replaced = before.tokens(counter) - after.tokens(counter) + counter.count(Summary(text))
    return with_losses(text, items, shown, counter, min(request.size, replaced - 1))


def _fault_of(text: str, plan: Plan, request: Request, transcript: Transcript) -> str | None:
    """Return why a summary cannot be used: it is empty, late, or too long to save anything."""
    if not text:
        return "the summary is empty"
    if request.revision > transcript.revision:
        return "it was planned on another transcript"
    then, now = transcript.at(request.revision), transcript.view
    changed = sum(then.fate(item_id) != now.fate(item_id) for item_id in request.items)
    if changed:
        return f"{changed} of the items it is about are no longer shown as they were"
    if request.room is None:
        return None
    counter = request.room.counter
    before = view_after(now, plan.edits)
    after = view_after(before, (Summary(text, request.spans),))
    return None if after.tokens(counter) < before.tokens(counter) else TOO_LONG
