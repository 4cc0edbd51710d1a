"""Models that write for the rooms above: summaries that a plan asks for, and plain answers to plain texts."""

import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from quire.compactors import Outcome, Plan, Request, record
from quire.errors import InvalidValue, ModelFailed, OverBudget, QuireError, Refused, WrongType
from quire.items import Item, Message
from quire.models.model import AnyModel
from quire.models.replies import words_of
from quire.providers import Parsed
from quire.state import Pool, Transcript

logger = logging.getLogger("quire.models")


async def summarized(model: AnyModel, request: Request, *, accept_cut: bool = False) -> str:
    """The words that a request asks for, or `ModelFailed`; nothing is recorded.

    Words that are empty, refused or cut off at their size are a failure: a summary that stops in the middle
    has lost what came after it. `accept_cut` takes those that were cut off all the same.
    """
    parsed = await _answer(model, request.prompt, request.size)
    if parsed.finish == "length" and not accept_cut:
        raise ModelFailed(f"the words of {model.name} were cut off at {request.size} tokens")
    return _words(model, parsed)


async def compact(
    transcript: Transcript,
    plan: Plan,
    model: AnyModel | None = None,
    pool: Pool | None = None,
    *,
    accept_cut: bool = False,
) -> Outcome:
    """Record a plan, after a model wrote the words that it asks for, if it asks for any.

    Where the model fails, the transcript stays as it was, and the outcome says why. Meanwhile others may
    append: the words are kept only if what they are about is still shown as it was.
    """
    if not isinstance(plan, Plan):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise WrongType(f"a plan is carried out, not {type(plan).__name__}")
    if plan.request is None:
        return record(transcript, plan, pool=pool)
    if model is None:
        raise InvalidValue(f"{plan.by} asks for words: a model is needed to write them")
    if not callable(getattr(model, "ask", None)):
        raise WrongType(f"a model is asked for words, not {type(model).__name__}")
    if plan.notes and pool is None:
        raise InvalidValue(f"{plan.by} keeps what it takes out in a pool: none was given")
    try:
        text = await summarized(model, plan.request, accept_cut=accept_cut)
    except ModelFailed as fault:
        logger.warning("the summary planned by %s was not written: %s", plan.by, fault)
        return Outcome("discarded", str(fault))
    return record(transcript, plan, text=text, pool=pool)


def asking(model: AnyModel, *, max_tokens: int | None = None) -> Callable[[str], Coroutine[Any, Any, str]]:
    """A function that asks a model with a text and gives the words of its answer, or `ModelFailed`."""

    async def ask(text: str) -> str:
        return _words(model, await _answer(model, (Message("user", text),), max_tokens))

    return ask


async def _answer(model: AnyModel, items: Sequence[Item], max_tokens: int | None) -> Parsed:
    try:
        return await model.ask(items, max_tokens=max_tokens)
    except ModelFailed:
        raise
    except OverBudget as fault:
        raise ModelFailed(str(fault)) from fault
    except QuireError:
        raise  # a mistake of the caller's
    except Exception as fault:
        # Clients have errors of their own, and their words may quote what was sent.
        raise ModelFailed(f"{model.name} failed: {type(fault).__name__}") from fault


def _words(model: AnyModel, parsed: Parsed) -> str:
    if parsed.finish == "refused":
        raise Refused(f"{model.name} refused to answer")
    words = words_of(parsed).strip()
    if not words:
        raise ModelFailed(f"{model.name} said nothing ({parsed.finish})")
    if any(isinstance(item, Message) and item.interrupted for item in parsed.items):
        raise ModelFailed(f"the answer of {model.name} was interrupted")
    return words
