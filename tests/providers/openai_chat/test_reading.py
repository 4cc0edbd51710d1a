"""Chat Completions: answers, whole and in chunks, as items."""

from typing import Any

import pytest

from quire.errors import Damaged, WrongType
from quire.items import Audio, Item, Message, Reasoning, ToolCall
from quire.providers import OpenAIChat, Parsed
from quire.tokens import Usage

WIRE = OpenAIChat()
USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "prompt_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 10},
    "completion_tokens_details": {"reasoning_tokens": 5},
}


def call(call_id: str, arguments: str = "{}", name: str = "look") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def parsed(finish: str | None = "stop", **message: Any) -> Parsed:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
    return WIRE.parse({"model": "gpt-4o-2024-08-06", "choices": [choice], "usage": USAGE})


def words_of(item: Item) -> Any:
    assert isinstance(item, Message) and item.role == "assistant"
    return item.content


def test_words_and_usage() -> None:
    answer = parsed(content="hello", refusal=None)
    assert [words_of(item) for item in answer.items] == ["hello"]
    assert answer.usage == Usage(100, 20, 40, 10, 5)
    assert (answer.finish, answer.model) == ("stop", "gpt-4o-2024-08-06")


def test_usage_of_compatible_services() -> None:
    body = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
    assert WIRE.parse(body).usage is None
    odd = {"prompt_tokens": 5, "completion_tokens": None, "prompt_tokens_details": {"cached_tokens": 9}}
    assert WIRE.parse({**body, "usage": odd}).usage == Usage(5, 0, 5)


@pytest.mark.parametrize("cached", ["cached_tokens", "prompt_cache_hit_tokens"])
def test_what_the_cache_gave_is_read_where_others_say_it(cached: str) -> None:
    body = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
    told = {"prompt_tokens": 50, "completion_tokens": 6, cached: 40}
    assert WIRE.parse({**body, "usage": told}).usage == Usage(50, 6, 40)
    assert WIRE.parse({**body, "usage": {**USAGE, cached: 7}}).usage == Usage(100, 20, 40, 10, 5)


@pytest.mark.parametrize("where", ["usage", "x_groq", "choice"])
def test_usage_in_a_stream_is_read_wherever_it_stands(where: str) -> None:
    told = {"prompt_tokens": 5, "completion_tokens": 6}
    choice: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": "stop"}
    last = {
        "usage": {"choices": [choice], "usage": told},
        "x_groq": {"choices": [choice], "x_groq": {"id": "r", "usage": told}},
        "choice": {"choices": [{**choice, "usage": told}]},
    }[where]
    reader = WIRE.stream(model="m")
    reader.feed({"choices": [{"index": 0, "delta": {"content": "a"}}], "x_groq": {"id": "r"}})
    reader.feed(last)
    assert reader.close().usage == Usage(5, 6)


def test_parallel_calls() -> None:
    answer = parsed("tool_calls", content="looking", tool_calls=[call("a", '{"x": 1}'), call("b")])
    words, first, second = answer.items
    assert words_of(words) == "looking" and answer.finish == "calls"
    assert isinstance(first, ToolCall) and (first.call_id, first.arguments) == ("a", '{"x": 1}')
    assert isinstance(second, ToolCall) and second.name == "look"
    assert parsed("stop", content=None, tool_calls=[call("a")]).finish == "calls"


def test_tools_have_their_own_names_again() -> None:
    sent = WIRE.render([Message("user", "hi")], tools=[{"name": "a tool"}])
    wired = sent.payload["tools"][0]["function"]["name"]
    message = {"tool_calls": [call("a", name=wired)]}
    answer = WIRE.parse({"choices": [{"message": message, "finish_reason": "tool_calls"}]}, sent=sent)
    assert isinstance(answer.items[0], ToolCall) and answer.items[0].name == "a tool"


def test_refused_cut_short_and_filtered() -> None:
    refused = parsed("stop", content=None, refusal="no")
    assert (words_of(refused.items[0]), refused.finish) == ("no", "refused")
    short = parsed("length", content="so", tool_calls=[call("a"), call("b", '{"x": ')])
    assert [type(item) for item in short.items] == [Message, ToolCall] and short.finish == "length"
    assert parsed("content_filter", content="").finish == "refused"
    assert parsed("banana", content="").finish == "other"


def test_reasoning_of_services_that_speak_the_wire() -> None:
    thought, words = parsed(content="hello", reasoning_content="hm").items
    assert isinstance(thought, Reasoning) and (thought.text, thought.provider) == ("hm", "openai")
    assert words_of(words) == "hello"


def test_audio_and_calls_of_other_forms() -> None:
    (heard,) = parsed(content=None, audio={"id": "audio_1", "data": "aGk=", "transcript": "hello"}).items
    assert words_of(heard) == (Audio(data=b"hi", transcript="hello"),)
    custom = {"id": "a", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    old = {"name": "look", "arguments": "{}"}
    one, two = parsed("tool_calls", tool_calls=[custom], function_call=old).items
    assert isinstance(one, ToolCall) and (one.name, one.arguments) == ("sql", '{"input":"select 1"}')
    assert isinstance(two, ToolCall) and two.name == "look"


def test_what_is_no_response_is_refused() -> None:
    with pytest.raises(Damaged):
        WIRE.parse({"errors": {"message": "?"}})
    with pytest.raises(WrongType):
        WIRE.parse("hello")
    with pytest.raises(Damaged) as found:
        parsed(tool_calls=[{"id": "a", "type": "function", "function": {}}])
    assert found.value.path == "choices[0].message.tool_calls[0].name"


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def piece(index: int, call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    return {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}


CHUNKS: list[dict[str, Any]] = [
    chunk(role="assistant", content=""),
    chunk(content="hel"),
    chunk(content="lo"),
    chunk(tool_calls=[piece(0, "a", "look", "")]),
    chunk(tool_calls=[piece(0, None, None, '{"x": 1}')]),
    chunk(tool_calls=[piece(1, "b", "look", '{"y"')]),
    chunk(tool_calls=[piece(1, None, None, ": 2}")]),
    chunk("tool_calls"),
    {"model": "gpt-4o", "choices": [], "usage": USAGE},
]


def streamed(chunks: list[dict[str, Any]]) -> tuple[str, Parsed]:
    stream = WIRE.stream()
    words = "".join(stream.feed(one) for one in chunks)
    answer = stream.close()
    assert stream.close() is answer
    return words, answer


def test_a_stream_is_put_together() -> None:
    words, answer = streamed(CHUNKS)
    message, first, second = answer.items
    assert words == words_of(message) == "hello"
    assert isinstance(first, ToolCall) and (first.call_id, first.arguments) == ("a", '{"x": 1}')
    assert isinstance(second, ToolCall) and (second.call_id, second.arguments) == ("b", '{"y": 2}')
    assert (answer.finish, answer.usage) == ("calls", Usage(100, 20, 40, 10, 5))


@pytest.mark.parametrize(("until", "calls"), [(2, []), (4, []), (5, ["a"]), (6, ["a"]), (7, ["a", "b"])])
def test_a_stream_that_breaks_off_keeps_what_is_whole(until: int, calls: list[str]) -> None:
    _, answer = streamed(CHUNKS[:until])
    message, *rest = answer.items
    assert isinstance(message, Message) and message.interrupted
    assert [item.call_id for item in rest if isinstance(item, ToolCall)] == calls
    assert answer.finish == "other"
    assert streamed([])[1] == Parsed(())


def test_calls_that_all_have_the_first_place_are_told_apart() -> None:
    pieces = [piece(0, "a", "look", "{}"), piece(0, "b", "look", "{}")]
    _, answer = streamed([chunk(tool_calls=pieces), chunk("tool_calls")])
    assert [item.call_id for item in answer.items if isinstance(item, ToolCall)] == ["a", "b"]


def test_streamed_refusals_thoughts_and_sounds() -> None:
    words, answer = streamed([chunk(refusal="n"), chunk(refusal="o"), chunk("stop")])
    assert words == words_of(answer.items[0]) == "no" and answer.finish == "refused"
    _, answer = streamed([chunk(reasoning="h"), chunk(reasoning="m"), chunk("stop", content="x")])
    assert isinstance(answer.items[0], Reasoning) and answer.items[0].text == "hm"
    sounds = [chunk(audio={"data": "aG"}), chunk(audio={"data": "k=", "transcript": "hi"}), chunk("stop")]
    assert words_of(streamed(sounds)[1].items[0]) == (Audio(data=b"hi", transcript="hi"),)


@pytest.mark.parametrize("beside", [{}, {"object": "error"}])
def test_an_error_says_its_words_wherever_its_service_has_them(beside: dict[str, str]) -> None:
    parsed = OpenAIChat().parse({**beside, "error": {"message": "too long", "type": "BadRequestError"}})
    assert parsed.error is not None and "too long" in parsed.error
