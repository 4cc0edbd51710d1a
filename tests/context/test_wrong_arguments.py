"""What is no template's business is refused at the door, in words."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from quire.context import Context, Template, compactor_for, fit, replay
from quire.errors import InvalidLimit, WrongType
from quire.items import Message
from quire.models import Scripted, compact
from quire.sections import Ask, History, Instructions, Section
from quire.state import Transcript
from quire.tokens import Budget, counter_for

WRONG = cast(Any, 5)
COUNTER = counter_for("gpt-5.6")
TEMPLATE = Template(Instructions("Be brief."), History(), budget=Budget(window=8_000))


def ask() -> Ask:
    return Ask(views={"main": Transcript([Message("user", "hello")]).view})


class NotAsync:
    name = "hasty"

    def items(self, ask: Ask) -> list[Message]:
        return []


@pytest.mark.parametrize(
    "verb",
    [
        lambda: Ask(views=WRONG),
        lambda: Ask(views={"main": WRONG}),
        lambda: Ask(parameters=WRONG),
        lambda: Ask(pool=WRONG),
        lambda: Ask(input=WRONG),
        lambda: Ask(inbox=[WRONG]),
        lambda: Ask(tools=cast(Any, None)),
        lambda: Ask(scope=WRONG),
        lambda: Ask(conversation=WRONG),
        lambda: ask().view(WRONG),
        lambda: ask().view(cast(Any, [])),
        lambda: Template(History(), budget=Budget(window=9), model=WRONG),
        lambda: TEMPLATE.fit((), cast(Any, None)),
        lambda: TEMPLATE.find(WRONG),
        lambda: TEMPLATE.remove(WRONG),
        lambda: TEMPLATE.add(WRONG),
        lambda: TEMPLATE.replace("history", WRONG),
        lambda: fit(WRONG, budget=Budget(window=9), counter=COUNTER),
        lambda: fit([WRONG], budget=Budget(window=9), counter=COUNTER),
        lambda: fit([], budget=WRONG, counter=COUNTER),
        lambda: fit([], budget=Budget(window=9), counter=WRONG),
        lambda: compactor_for(WRONG),
        lambda: replay(WRONG, None, tokens=9, counter=COUNTER),
        lambda: replay([], WRONG, tokens=9, counter=COUNTER),
        lambda: replay([], None, tokens=9, counter=WRONG),
        lambda: replay([], None, tokens=9, counter=COUNTER, progress=WRONG),
        lambda: replay([], None, tokens=9, counter=COUNTER, tools=WRONG),
        lambda: asyncio.run(TEMPLATE.build(ask())).room(cast(Any, ["history"])),
    ],
)
def test_odd_arguments_are_refused_in_words(verb: Callable[[], object]) -> None:
    with pytest.raises(WrongType):
        verb()


@pytest.mark.parametrize(
    "verb",
    [
        lambda: TEMPLATE.build(WRONG),
        lambda: TEMPLATE.build(ask(), previous=WRONG),
        lambda: TEMPLATE.build(ask(), counter=WRONG),
        lambda: TEMPLATE.add(cast(Section, NotAsync())).build(ask()),
        lambda: compact(Transcript(), WRONG, Scripted(["words"])),
    ],
)
def test_odd_arguments_of_async_verbs(verb: Callable[[], Coroutine[Any, Any, object]]) -> None:
    with pytest.raises(WrongType):
        asyncio.run(verb())


@pytest.mark.parametrize("tokens", [0, -1])
def test_no_tokens_are_no_budget(tokens: int) -> None:
    with pytest.raises(InvalidLimit):
        replay([Message("user", "hello"), Message("assistant", "yes")], None, tokens=tokens, counter=COUNTER)


def test_a_section_that_is_not_async_is_named() -> None:
    with pytest.raises(WrongType, match="'hasty' is to be an async function"):
        asyncio.run(TEMPLATE.add(cast(Section, NotAsync())).build(ask()))


def test_a_provider_is_a_name_or_can_render() -> None:
    context: Context = asyncio.run(TEMPLATE.build(ask()))
    with pytest.raises(WrongType, match="can `render`"):
        context.render(WRONG)
