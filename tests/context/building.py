"""Contexts without a loop: sections that wait for nothing are done when they are first asked."""

from quire.context import Context, Template
from quire.sections import Ask
from quire.tokens import Counter


def built(template: Template, ask: Ask, counter: Counter, previous: Context | None = None) -> Context:
    """What a template builds, where none of its sections waits."""
    building = template.build(ask, counter=counter, previous=previous)
    try:
        building.send(None)
    except StopIteration as done:
        context = done.value
        assert isinstance(context, Context)
        return context
    raise AssertionError("a section waits")
