"""What holds for every model: whole and streamed answers, broken off, cancelled, at the same time."""

import asyncio
from collections.abc import Callable, Sequence
from typing import get_args

import pytest
from hypothesis import given, settings, strategies as st

from quire.errors import InvalidValue
from quire.items import Item, Message
from quire.models import AnyModel, Local, Scripted
from quire.providers import PROVIDERS, CachePlan, Finish, provider_for
from quire.state import Scroll, Transcript
from quire.testing.conversations import STEPS, TOOLS, Step, Talk
from tests.models.answerers import LENGTH, MODELS, QUESTION, text_of, threads_of, wait_until_idle

pytestmark = pytest.mark.laws
Make = Callable[[], AnyModel]
each_model = pytest.mark.parametrize("make", MODELS)


@each_model
async def test_it_answers_with_items_of_the_assistant_that_can_go_back(make: Make) -> None:
    model = make()
    parsed = await model.ask(QUESTION, max_tokens=LENGTH)
    (answer,) = parsed.items
    assert isinstance(answer, Message) and answer.role == "assistant" and answer.text
    assert not answer.interrupted and parsed.finish in get_args(Finish) and parsed.model == model.name
    assert parsed.usage is not None and parsed.usage.input > 0 and parsed.usage.output > 0
    wire = provider_for(model.wire)
    again = wire.render([*QUESTION, *parsed.items, Message("user", "Go on.")], model=model.name)
    assert wire.check(again.payload, model.name) == []


@each_model
async def test_the_pieces_of_a_stream_are_the_answer(make: Make) -> None:
    answering = make().stream(QUESTION, max_tokens=LENGTH)
    with pytest.raises(InvalidValue, match="the answer is incomplete"):
        _ = answering.parsed
    pieces = [piece async for piece in answering]
    assert len(pieces) > 1 and all(pieces)
    assert "".join(pieces) == text_of(answering.parsed)
    assert [piece async for piece in answering] == []
    assert await answering.close() == await answering.whole() == answering.parsed


@each_model
async def test_a_stream_that_is_left_is_an_interrupted_message(make: Make) -> None:
    model, pieces = make(), list[str]()
    async with model.stream(QUESTION, max_tokens=LENGTH) as answering:
        async for piece in answering:
            pieces.append(piece)
            if len(pieces) == 2:
                break
    (said,) = answering.parsed.items
    assert isinstance(said, Message) and said.interrupted and said.text == "".join(pieces)
    assert [piece async for piece in answering] == []
    wait_until_idle(model)
    assert (await model.stream(QUESTION).close()).items == () and threads_of(model) == []


@each_model
async def test_what_is_cancelled_keeps_what_was_said_and_leaves_nothing_behind(make: Make) -> None:
    model, read = make(), asyncio.Event()
    answering = model.stream(QUESTION, max_tokens=LENGTH)

    async def reader() -> None:
        async for _ in answering:
            read.set()

    reading = asyncio.create_task(reader())
    await read.wait()
    asking = asyncio.create_task(model.ask(QUESTION))
    await asyncio.sleep(0)
    for task in (reading, asking):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    (said,) = answering.parsed.items
    assert isinstance(said, Message) and said.interrupted and said.text
    wait_until_idle(model)
    assert text_of(await model.ask(QUESTION, max_tokens=LENGTH))


@each_model
async def test_several_at_the_same_time_all_get_their_answer(make: Make) -> None:
    model = make()
    answers = await asyncio.gather(*(model.ask(QUESTION, max_tokens=4) for _ in range(3)))
    assert all(map(text_of, answers))
    assert len({item.id for parsed in answers for item in parsed.items}) == 3
    wait_until_idle(model)


@each_model
async def test_views_and_scrolls_are_asked_like_lists_and_stay_as_they_are(make: Make) -> None:
    model, transcript = make(), Transcript(QUESTION)
    view = transcript.view
    asked: list[Sequence[Item]] = [view, Scroll((), view), Scroll(tuple(QUESTION))]
    for items in asked:
        plan, tools = CachePlan(static=1, key="k"), () if isinstance(model, Local) else TOOLS
        assert (await model.ask(items, tools=tools, plan=plan, max_tokens=16)).items
    assert transcript.recorded() == QUESTION and list(transcript.view) == list(view)


@settings(max_examples=max(50, settings().max_examples // 4))
@given(STEPS, st.sampled_from(list(PROVIDERS)), st.booleans())
def test_a_scripted_model_finds_no_fault_in_any_history(steps: list[Step], wire: str, tools: bool) -> None:
    talk = Talk()
    talk.play(steps)
    model = Scripted(["Yes."], wire=wire)
    parsed = asyncio.run(model.ask(talk.transcript.view, tools=TOOLS if tools else ()))
    talk.transcript.extend(parsed.items)
    assert text_of(parsed) == "Yes."
    assert parsed.usage is not None and parsed.usage.output > 0
