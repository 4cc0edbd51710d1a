"""Plans made real in a transcript: edits are recorded, and words are kept only where they still fit."""

import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple

from quire.compactors.foreseeing import view_after
from quire.compactors.plan import Plan, Request
from quire.errors import DuplicateId, EditRefused, InvalidValue, UnknownId, WrongType
from quire.items import Edit, Note, Summary
from quire.state import Pool, Transcript, View

logger = logging.getLogger("quire.compactors")

TOO_LONG = "the summary is longer than what it would stand for"
"""Why words are not used that the same model may well write again."""


class Outcome(NamedTuple):
    """What became of a plan: `kept` or `discarded`, and why. One that was not kept counts as false."""

    fate: Literal["kept", "discarded"]
    reason: str
    edits: tuple[Edit, ...] = ()

    def __bool__(self) -> bool:
        return self.fate == "kept"


def record(
    transcript: Transcript, plan: Plan, *, text: str | None = None, pool: Pool | None = None
) -> Outcome:
    """Record a plan: its edits at once, and `text` for the words it asks for.

    All of it or nothing. Words that are empty, that came too late for what they are about, or that are no
    shorter than it, are discarded, and the transcript is as it was.
    """
    if not isinstance(transcript, Transcript):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a plan is recorded in a Transcript, not in {type(transcript).__name__}")
    if not isinstance(plan, Plan):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a plan is recorded, not {type(plan).__name__}")
    if plan.notes:
        _check_pool(plan, pool)
    if text is not None and plan.request is None:
        raise InvalidValue(f"{plan.by} asks for no words, and a text was given")
    edits = list[Edit](plan.edits)
    if plan.request is not None:
        fault = _unfit(transcript, plan.request, text) or _too_long(transcript.view, text or "", plan)
        if fault is not None:
            logger.warning("the summary planned by %s is not used: %s", plan.by, fault)
            return Outcome("discarded", fault)
        edits.append(Summary((text or "").strip(), plan.request.spans))
    return _recorded(transcript, edits, plan, pool)


def _recorded(transcript: Transcript, edits: Sequence[Edit], plan: Plan, pool: Pool | None) -> Outcome:
    try:
        with _kept(plan.notes, pool):
            transcript.extend(edits)
    except (EditRefused, UnknownId, DuplicateId) as fault:
        logger.warning("the plan of %s no longer fits: %s", plan.by, fault)
        return Outcome("discarded", str(fault))
    logger.info("%s recorded %d edits, %d tokens to %d", plan.by, len(edits), plan.before, plan.after)
    return Outcome("kept", plan.reason, tuple(edits))


def _check_pool(plan: Plan, pool: object) -> None:
    if pool is None:
        raise InvalidValue(f"{plan.by} keeps what it takes out in a pool: none was given")
    if not isinstance(pool, Pool):
        raise WrongType(f"{plan.by} keeps what it takes out in a Pool, not in {type(pool).__name__}")


@contextmanager
def _kept(notes: Sequence[Note], pool: Pool | None) -> Generator[None, None, None]:
    """Notes in a pool, unless they or what goes with them are refused: then it is as it was."""
    if pool is None or not notes:
        yield
        return
    before = tuple(pool)
    try:
        for note in notes:
            pool.add(note)
        yield
    except BaseException:
        pool.clear()
        for note in before:
            Pool.add(pool, note)  # these were in it: nobody is asked again
        raise


def _too_long(view: View, text: str, plan: Plan) -> str | None:
    """Why words cannot be used that leave no less than they take away; nobody can tell without a counter."""
    request = plan.request
    if request is None or request.room is None:
        return None
    counter = request.room.counter
    try:
        without = view_after(view, plan.edits)
        after = view_after(without, (Summary(text.strip(), request.spans),)).tokens(counter)
    except (EditRefused, UnknownId, DuplicateId):
        return None  # recording it says why
    if after < without.tokens(counter) or (request.asked_for and after <= request.room.tokens):
        return None
    return TOO_LONG


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
    if not now.log.positions("edits", then.end, now.end) and all(one in transcript for one in ends):
        return None  # without an edit nothing is shown otherwise than before, and a turn may be waiting
    changed = sum(not _is_as_it_was(then, now, item_id) for item_id in request.items)
    return f"{changed} of the items it is about are no longer shown as they were" if changed else None


def _is_as_it_was(then: View, now: View, item_id: str) -> bool:
    try:
        return then.fate(item_id) == now.fate(item_id)
    except UnknownId:
        return False
