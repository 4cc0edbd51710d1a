"""Plans made real in a transcript: edits are recorded, and words are kept only where they still fit."""

import logging
from collections.abc import Sequence
from typing import Literal, NamedTuple

from quire.compactors.foreseeing import foreseen
from quire.compactors.plan import Plan, Request
from quire.errors import DuplicateId, EditRefused, InvalidValue, UnknownId, WrongType
from quire.items import Edit, Summary
from quire.state import Pool, Transcript, View
from quire.state.positions import positions

logger = logging.getLogger("quire.compactors")

_SLACK = 8  # tokens by which a few words may be more than a very small size


class Outcome(NamedTuple):
    """What became of a plan: `kept` or `discarded`, and why."""

    fate: Literal["kept", "discarded"]
    reason: str
    edits: tuple[Edit, ...] = ()


def record(
    transcript: Transcript, plan: Plan, *, text: str | None = None, pool: Pool | None = None
) -> Outcome:
    """Record a plan: its edits at once, and `text` for the words it asks for.

    All of it or nothing. Words that are empty, or that came too late for what they are about, are discarded,
    and the transcript is as it was.
    """
    if not isinstance(plan, Plan):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a plan is recorded, not {type(plan).__name__}")
    if plan.notes and pool is None:
        raise InvalidValue(f"{plan.by} keeps what it takes out in a pool: none was given")
    if text is not None and plan.request is None:
        raise InvalidValue(f"{plan.by} asks for no words, and a text was given")
    edits = list[Edit](plan.edits)
    if plan.request is not None:
        fault = _unfit(transcript, plan.request, text)
        if fault is not None:
            logger.warning("the summary planned by %s is not used: %s", plan.by, fault)
            return Outcome("discarded", fault)
        summary = Summary((text or "").strip(), plan.request.spans)
        if _is_no_gain(transcript.view, summary, plan.request):
            return Outcome("discarded", "the summary is longer than what it would stand for")
        edits.append(summary)
    return _recorded(transcript, edits, plan, pool)


def _recorded(transcript: Transcript, edits: Sequence[Edit], plan: Plan, pool: Pool | None) -> Outcome:
    try:
        transcript.extend(edits)
    except (EditRefused, UnknownId, DuplicateId) as fault:
        logger.warning("the plan of %s no longer fits: %s", plan.by, fault)
        return Outcome("discarded", str(fault))
    for note in plan.notes:
        if pool is not None:
            pool.add(note)
    logger.info("%s recorded %d edits, %d tokens to %d", plan.by, len(edits), plan.before, plan.after)
    return Outcome("kept", plan.reason, tuple(edits))


def _is_no_gain(view: View, summary: Summary, request: Request) -> bool:
    """Whether words are far longer than was asked for, do not fit, and leave no less than they take away."""
    if request.room is None:
        return False
    counter = request.room.counter
    if counter.count(summary) - counter.count(Summary("-")) <= 2 * request.size + _SLACK:
        return False
    try:
        after = foreseen(view, (summary,))
    except (EditRefused, UnknownId):
        return False  # recording it says why
    left = after.tokens(counter)
    return left > request.room.tokens and left >= view.tokens(counter)


def _unfit(transcript: Transcript, request: Request, text: object) -> str | None:
    """Why words cannot be used, if they cannot."""
    if text is None:
        return "no words were written"
    if not isinstance(text, str):
        raise WrongType(f"the text of a summary is a text, not {type(text).__name__}")
    if not text.strip():
        return "the summary is empty"
    if request.revision > transcript.revision:
        return "it was planned on another transcript"
    then, now = transcript.at(request.revision), transcript.view
    ends = (*request.items[:1], *request.items[-1:])
    if not positions(now.log, "edits", then.end, now.end) and all(one in transcript for one in ends):
        return None  # without an edit nothing is shown otherwise than before, and a turn may be waiting
    changed = sum(not _is_as_it_was(then, now, item_id) for item_id in request.items)
    return f"{changed} of the items it is about are no longer shown as they were" if changed else None


def _is_as_it_was(then: View, now: View, item_id: str) -> bool:
    try:
        return then.fate(item_id) == now.fate(item_id)
    except UnknownId:
        return False
