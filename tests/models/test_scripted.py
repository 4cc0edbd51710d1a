"""The scripted model: every sort of reply, what it keeps, and what it refuses."""

import asyncio
from typing import Any

import pytest

from quire.errors import InvalidValue, OutOfRange, WrongType
from quire.items import Message, Reasoning, ToolCall
from quire.models import AnyModel, Delta, Scripted
from quire.providers import PROVIDERS, Fault, Parsed, Rendered
from quire.state import Transcript
from quire.tokens import Usage, counter_for
from tests.models.answerers import QUESTION, text_of
from tests.providers.conversations import TOOLS

CALL = ToolCall("c1", "look_up", '{"q": "x"}')


def ask(model: AnyModel, **options: Any) -> Parsed:
    return asyncio.run(model.ask(QUESTION, **options))


async def later(sent: Rendered) -> str:
    await asyncio.sleep(0)
    return f"{len(sent.payload['messages'])} messages"


def test_replies_come_in_turn_and_then_there_is_none() -> None:
    model = Scripted(["one", "two"])
    assert [text_of(ask(model)), text_of(ask(model))] == ["one", "two"]
    with pytest.raises(OutOfRange, match="no reply left: it was given 2"):
        ask(model)
    assert len(model.requests) == 2


def test_every_sort_of_reply() -> None:
    whole = Parsed((Message("assistant", "cut"),), Usage(1, 1), "length", "another")
    model = Scripted(
        ["text", Message("assistant", "item"), [Reasoning("hm"), CALL], whole, later, lambda _: [CALL], ""]
    )
    answers = [ask(model) for _ in range(7)]
    assert [text_of(parsed) for parsed in answers] == ["text", "item", "", "cut", "2 messages", "", ""]
    assert [parsed.finish for parsed in answers] == [
        *("stop", "stop", "calls", "length", "stop", "calls", "stop")
    ]
    assert answers[2].items[1] is answers[5].items[0] is CALL
    assert answers[3] == whole
    assert answers[6].items == ()


def test_an_exception_is_raised_as_it_is() -> None:
    fault = TimeoutError("too slow")
    model = Scripted([fault, lambda _: fault, "fine"])
    for _ in range(2):
        with pytest.raises(TimeoutError) as caught:
            ask(model)
        assert caught.value is fault
    assert text_of(ask(model)) == "fine"


def test_going_round_says_the_same_things_as_new_items() -> None:
    model, transcript = Scripted([[CALL], Message("assistant", "a"), "b"], repeat=True), Transcript()
    for _ in range(6):
        transcript.extend(ask(model).items)
    assert len(transcript) == 6
    with pytest.raises(OutOfRange):
        ask(Scripted([], repeat=True))


def test_what_was_asked_is_kept() -> None:
    model, view = Scripted(["a", "b"]), Transcript(QUESTION).view
    asyncio.run(model.ask(view, tools=TOOLS[:1], max_tokens=7))
    ask(model)
    assert model.requests[0].payload["tools"][0]["function"]["name"] == "look_up"
    assert model.requests[1].payload["messages"][-1] == {"role": "user", "content": "Say hello."}
    assert model.terms == [{"max_tokens": 7}, {}]
    assert repr(model) == "<Scripted 'scripted': asked 2 times, 2 replies>"


def test_one_function_answers_every_request() -> None:
    model = Scripted(lambda sent: f"{len(sent['messages'])} messages")
    assert [text_of(ask(model)) for _ in range(3)] == ["2 messages"] * 3
    slow = Scripted(later, wire="anthropic")
    assert [text_of(ask(slow)) for _ in range(2)] == ["1 messages"] * 2
    assert len(slow.requests) == 2


def test_thoughts_and_calls_are_told_as_deltas() -> None:
    async def run() -> None:
        model = Scripted([[Reasoning("Hm."), Message("assistant", "I look."), CALL]])
        answering = model.stream(QUESTION)
        told = [delta async for delta in answering.deltas()]
        assert told == [Delta("thinking", "Hm."), *_words("I", " look."), Delta("call", "look_up")]
        assert answering.parsed.items[2] is CALL

    asyncio.run(run())


def _words(*pieces: str) -> list[Delta]:
    return [Delta("text", piece) for piece in pieces]


def test_what_is_sent_as_it_is_is_kept_as_it_is() -> None:
    model = Scripted(["one", "two"], wire="gemini")
    rendered = PROVIDERS["gemini"].render(QUESTION, model="scripted")

    async def run() -> None:
        assert text_of(await model.send(rendered, stream=False).whole()) == "one"
        assert text_of(await model.send(rendered, output={"type": "object"}).whole()) == "two"

    asyncio.run(run())
    assert model.requests == [rendered, rendered] and model.terms == [{}, {"output": {"type": "object"}}]


def test_the_short_way_to_ask() -> None:
    model = Scripted(["Good day.", ""], name="gpt-5.6")
    content = [{"type": "text", "text": "Say "}, {"type": "text", "text": "hello."}]
    reply = asyncio.run(model.complete_chat([{"role": "user", "content": content}], max_tokens=9, top_p=0.5))
    assert str(reply) == "Good day." and reply.cost is not None and reply.cost > 0
    assert repr(reply) == "<ChatReply of gpt-5.6: stop>"
    assert model.terms == [{"max_tokens": 9, "options": {"top_p": 0.5}}]
    for messages, said in (("Hello", "come as a list"), (["Hello"], "a message is a mapping")):
        with pytest.raises(WrongType, match=said):
            asyncio.run(model.complete_chat(messages))  # type: ignore[arg-type]  # pyright: ignore


def test_usage_is_counted_as_the_model_of_that_name_counts() -> None:
    model, counter = Scripted(["Hello there."] * 3, name="gpt-4o"), counter_for("gpt-4o")
    parsed = ask(model)
    assert parsed.usage == Usage(
        counter.total(sum(map(counter.count, QUESTION))), counter.count(parsed.items[0])
    )
    of_view = asyncio.run(model.ask(Transcript(QUESTION).view))
    assert of_view.usage == parsed.usage
    with_tools = ask(model, tools=TOOLS[:1]).usage
    assert with_tools and of_view.usage and with_tools.input > of_view.usage.input


def test_a_fault_is_found_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    faults = [Fault(f"messages[{place}]", "roles", "it is wrong") for place in range(25)]

    def check(_wire: object, _payload: object, _model: object = None) -> list[Fault]:
        return faults

    monkeypatch.setattr(type(PROVIDERS["openai"]), "check", check)
    model = Scripted(["one"])
    with pytest.raises(
        InvalidValue, match=r"would refuse .*\n  messages\[0\]: it is wrong \(roles\)"
    ) as caught:
        ask(model)
    assert "and 5 more" in str(caught.value)
    assert model.requests == []


@pytest.mark.parametrize("replies", ["hello", b"hello", Parsed(()), CALL, None, 3])
def test_replies_come_as_a_list(replies: Any) -> None:
    with pytest.raises(WrongType, match="replies come as a list"):
        Scripted(replies)


@pytest.mark.parametrize("reply", [3, None, b"x", [1], ["text"], {"role": "assistant"}, Parsed((1,))])  # type: ignore[arg-type]  # pyright: ignore
def test_what_is_no_reply_is_refused(reply: Any) -> None:
    with pytest.raises(WrongType, match="a reply is"):
        Scripted([reply])
    with pytest.raises(WrongType, match="a reply is"):
        ask(Scripted([lambda _: reply]))


def test_a_model_does_not_answer_as_the_user() -> None:
    with pytest.raises(InvalidValue, match="not as the user"):
        Scripted([Message("user", "Hello")])


def test_wires_and_names_are_checked() -> None:
    with pytest.raises(InvalidValue, match="no provider 'telex'"):
        Scripted([], wire="telex")
    with pytest.raises(InvalidValue, match="the name of a model is empty"):
        Scripted([], name="")


def test_long_words_come_in_pieces_too() -> None:
    async def run() -> list[str]:
        return [piece async for piece in Scripted(["x" * 100 + "  \n"]).stream(QUESTION)]

    pieces = asyncio.run(run())
    assert "".join(pieces) == "x" * 100 + "  \n" and max(map(len, pieces)) < 20


def test_an_error_in_the_middle_leaves_what_was_said() -> None:
    async def run() -> None:
        answering = Scripted([TimeoutError()]).stream(QUESTION)
        with pytest.raises(TimeoutError):
            await answering.whole()
        assert answering.parsed.items == ()
        assert repr(answering) == "<Answering: other>"

    asyncio.run(run())
