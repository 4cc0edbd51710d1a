"""Contexts without a loop: sections that wait for nothing are done when they are first asked."""

from collections.abc import Coroutine
from typing import Any

from quire.context import Context, Template
from quire.sections import Ask
from quire.tokens import Counter


def done(waiting: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine gives that waits for nothing."""
    try:
        waiting.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


def built(template: Template, ask: Ask, counter: Counter, previous: Context | None = None) -> Context:
    """What a template builds, where none of its sections waits."""
    context = done(template.build(ask, counter=counter, previous=previous))
    assert isinstance(context, Context)
    return context
