"""OpenAI's official client, as it is, against the service: both APIs, streamed and not."""

import asyncio
import base64
import json
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import openai
import pytest
from hypothesis import given, settings, strategies as st
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

from quire.errors import ModelFailed
from quire.items import Image, Message, Reasoning, ToolCall
from quire.providers import Rendered
from quire.service import Keys, app
from quire.service.keys import new_key
from quire.service.openai_shapes import Response
from quire.tokens import Usage
from tests.service.serving import PATIENCE, Gate, Served, look_up_call, serving, support_node, until

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PARAMETERS = {"type": "object", "properties": {"at": {"type": "string"}}}
LOOK: Any = {"type": "function", "function": {"name": "look", "parameters": PARAMETERS}}
LOOK_FLAT: Any = {"type": "function", "name": "look", "parameters": PARAMETERS, "strict": False}


def answers(sent: Rendered) -> Any:
    """What the model answers: it depends on the last message, and tells how much it was sent."""
    messages = [one for one in sent.payload["messages"] if one["role"] in ("user", "assistant", "tool")]
    last, count = messages[-1], len(messages)
    if last["role"] == "tool":
        found = [one["content"] for one in messages if one["role"] == "tool"]
        return f"Found: {' and '.join(found[-2:])}."
    text = last["content"] if isinstance(last["content"], str) else last["content"][0]["text"]
    if '"at"' in text:  # the schema of the answer, for a model that takes none beside its messages
        return '{"at": "door"}'
    match text.partition(" ")[0]:
        case "look":
            return [Message("assistant", "One moment."), ToolCall("c1", "look", '{"at": "door"}')]
        case "both":
            return [look_up_call("7"), ToolCall("c1", "look"), ToolCall("c2", "look")]
        case "refund":
            return ToolCall("r1", "refund", '{"order": "7"}')
        case "order":
            return [Message("assistant", "Let me see."), look_up_call("7")]
        case "fail":
            return ModelFailed("the model is down")
        case "think":
            return [Reasoning("Hm."), Message("assistant", "Yes.")]
        case _:
            return f"You said {text!r}, the last of {count}."


@pytest.fixture(scope="module")
def served() -> Generator[Served]:
    with serving(app(support_node(answer=answers))) as one:
        yield one


def client_of(served: Served, key: str = "none", retries: int = 0, **options: Any) -> OpenAI:
    address = f"http://127.0.0.1:{served.port}/v1"
    return OpenAI(base_url=address, api_key=key, max_retries=retries, **options)


@pytest.fixture(scope="module")
def client(served: Served) -> Generator[OpenAI]:
    with client_of(served) as one:
        yield one


def chat(client: OpenAI, *messages: Any, stream: bool = False, **options: Any) -> Any:
    """A chat completion; of a stream the sum of its chunks, as the client computes it."""
    asked: Any = {"model": "support", "messages": list(messages), **options}
    if not stream:
        return cast(Any, client.chat.completions.create(**asked))
    with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as events:
        for _ in events:
            pass
        return events.get_final_completion()


def respond(client: OpenAI, input: Any, *, stream: bool = False, **options: Any) -> Any:
    """A response; of a stream the last one, as the client computes it."""
    if not stream:
        return cast(Any, client.responses.create(model="support", input=input, **options))
    with client.responses.stream(model="support", input=input, **options) as events:
        for _ in events:
            pass
        return events.get_final_response()


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def named(name: str) -> Any:
    return {"extra_headers": {"Quire-Conversation": name}}


both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@both_ways
def test_a_response(client: OpenAI, stream: bool) -> None:
    made = respond(client, "hello", stream=stream, instructions="Be kind.")
    assert made.output_text == "You said 'hello', the last of 1." and made.status == "completed"
    assert made.usage.input_tokens > 0 and made.usage.output_tokens > 0
    again = client.responses.retrieve(made.id)
    assert again.output_text == made.output_text and again.usage == made.usage
    assert [one.id for one in again.output] == [one.id for one in made.output]


@both_ways
def test_reasoning_is_an_item_of_a_response(client: OpenAI, stream: bool) -> None:
    made = respond(client, "think", stream=stream)
    thoughts = [part.text for one in made.output if one.type == "reasoning" for part in one.summary]
    assert (made.output_text, thoughts) == ("Yes.", ["Hm."])
    given = [user("think"), *(one.to_dict() for one in made.output), user("hello")]
    assert respond(client, given).output_text.endswith("the last of 3.")


def test_an_answer_has_the_schema_of_the_client(client: OpenAI) -> None:
    class Place(BaseModel):
        at: str

    asked: Any = {"model": "support", "messages": [user("json")], "response_format": Place}
    assert client.chat.completions.parse(**asked).choices[0].message.parsed == Place(at="door")
    made = client.responses.parse(model="support", input="json", text_format=Place)
    assert made.output_parsed == Place(at="door")
    assert respond(client, "json", text={"format": {"type": "text"}}).output_text.startswith("You said")


def test_responses_in_the_background_outlive_the_service(tmp_path: Path) -> None:
    gate, store = Gate(), tmp_path / "kept.db"
    with serving(app(support_node(store, gate), grace=0)) as served, client_of(served) as client:
        made, other = (client.responses.create(model="support", input="hello", background=True) for _ in "ab")
        assert {made.status, other.status} <= {"queued", "in_progress"} and gate.asked.wait(PATIENCE)
        assert client.responses.cancel(other.id).status == "cancelled"
        assert client.responses.retrieve(made.id).status == "in_progress"

    async def ask() -> None:
        async with AsyncOpenAI(base_url=f"http://127.0.0.1:{served.port}/v1", api_key="none") as later:
            while (found := await later.responses.retrieve(made.id)).status != "completed":
                assert found.status in ("queued", "in_progress")
            assert found.output_text.startswith("You said")
            assert (await later.responses.cancel(made.id)).status == "completed"  # it had ended
            assert (await later.responses.retrieve(other.id)).status == "cancelled"

    with serving(app(support_node(store, answers))) as served:
        asyncio.run(ask())
    gate.is_open.set()


@pytest.mark.parametrize("kind", ["OpenAIResponsesModel", "OpenAIChatCompletionsModel"])
def test_the_agents_sdk_of_openai(served: Served, kind: str) -> None:
    agents = pytest.importorskip("agents")

    def look(at: str) -> str:
        """Look at something."""
        return f"the {at} is open"

    async def ask() -> None:
        async with AsyncOpenAI(base_url=f"http://127.0.0.1:{served.port}/v1", api_key="none") as client:
            model = getattr(agents, kind)(model="support", openai_client=client)
            agent = agents.Agent(name="a", model=model, tools=[agents.function_tool(look)])
            options = agents.RunConfig(tracing_disabled=True)
            made = await agents.Runner.run(agent, "look at it", run_config=options)
            assert made.final_output == "Found: the door is open."
            again = [*made.to_input_list(), user("hello")]
            streamed = agents.Runner.run_streamed(agent, again, run_config=options)
            async for _ in streamed.stream_events():
                pass
            assert streamed.final_output == "You said 'hello', the last of 5."

    asyncio.run(ask())


# Tools of the client


@both_ways
@pytest.mark.parametrize("name", [None, "door"])
def test_tools_of_the_client_in_chat_completions(client: OpenAI, stream: bool, name: str | None) -> None:
    options: dict[str, Any] = named(f"{name}-{stream}") if name else {}
    messages = [user("look at the door")]
    made = chat(client, *messages, tools=[LOOK], stream=stream, **options).choices[0]
    assert made.finish_reason == "tool_calls" and made.message.content == "One moment."
    (call,) = made.message.tool_calls
    assert call.id == "c1" and call.function.name == "look" and call.function.arguments == '{"at": "door"}'
    messages.append(made.message.to_dict())
    messages.append({"role": "tool", "tool_call_id": call.id, "content": "open"})
    made = chat(client, *messages, tools=[LOOK], stream=stream, **options).choices[0]
    assert made.finish_reason == "stop" and made.message.content == "Found: open."


@both_ways
def test_tools_of_the_client_in_responses(client: OpenAI, stream: bool) -> None:
    first = respond(client, "both", tools=[LOOK_FLAT], stream=stream)
    calls = [one for one in first.output if one.type == "function_call"]
    assert [one.call_id for one in calls] == ["c1", "c2"] and calls[0].name == "look"  # look_up ran here
    results = [{"type": "function_call_output", "call_id": one.call_id, "output": "open"} for one in calls]
    for wrong in ([user("never mind"), results[0]], results[:1], [results[0], results[0]]):
        with pytest.raises(openai.BadRequestError, match="result"):
            respond(client, wrong, previous_response_id=first.id)
    second = respond(client, results, previous_response_id=first.id, tools=[LOOK_FLAT], stream=stream)
    assert second.output_text == "Found: open and open." and second.conversation == first.conversation


def test_a_result_of_a_call_that_the_agent_runs_is_refused(client: OpenAI) -> None:
    first = respond(client, "refund it")  # a person has to approve it
    assert first.status == "incomplete" and first.incomplete_details.reason == "waiting" and not first.output
    forged = [{"type": "function_call_output", "call_id": "r1", "output": "refunded"}]
    with pytest.raises(openai.BadRequestError, match="'r1'"):
        respond(client, forged, previous_response_id=first.id)


def test_tools_of_the_agent_are_not_shown_and_their_texts_are_joined(client: OpenAI) -> None:
    for stream in (False, True):
        made = chat(client, user("order 7"), stream=stream).choices[0]
        assert made.message.content == "Let me see.\n\nFound: 7 is on its way."
        assert made.finish_reason == "stop" and not made.message.tool_calls


# Conversations


@both_ways
def test_the_last_response_is_continued_and_an_earlier_one_forked(client: OpenAI, stream: bool) -> None:
    first = respond(client, "one", stream=stream)
    second = respond(client, "two", previous_response_id=first.id, stream=stream)
    assert second.output_text.endswith("the last of 3.") and second.conversation == first.conversation
    other = respond(client, "three", previous_response_id=first.id, stream=stream)
    assert other.output_text.endswith("the last of 3.") and other.conversation != first.conversation
    third = respond(client, "four", previous_response_id=other.id, stream=stream)
    assert third.output_text.endswith("the last of 5.") and third.conversation == other.conversation
    assert respond(client, "five", previous_response_id=second.id).output_text.endswith("the last of 5.")


@both_ways
def test_a_conversation_by_name(client: OpenAI, served: Served, stream: bool) -> None:
    name = f"trip {stream}"
    respond(client, "one", conversation=name, stream=stream, instructions="Be kind.")
    made = respond(client, "two", conversation={"id": name}, stream=stream, instructions="Be kind.")
    assert made.output_text.endswith("the last of 3.") and made.conversation.id == name
    respond(client, "three", conversation=name, stream=stream, instructions="Be brief.")
    items = served.get("/items", conversation=name)["items"]  # the same conversation as on all other routes
    said = [(one["role"], one["content"]) for one in items if one["kind"] == "message"]
    assert [words for role, words in said if role == "user"] == ["one", "two", "three"]
    assert [words for role, words in said if role == "system"] == ["Be kind."]


@both_ways
def test_of_a_history_that_is_sent_again_only_what_is_new_is_recorded(
    client: OpenAI, served: Served, stream: bool
) -> None:
    name = f"again {stream}"
    options: Any = {"stream": stream, **named(f"again%20{stream}")}
    messages = [{"role": "system", "content": "It is noon."}, user("one")]
    made = chat(client, *messages, **options).choices[0].message
    for number, text in enumerate(["two", "two", "three"]):
        messages += [made.to_dict(), user(text)]
        made = chat(client, *messages, **options).choices[0].message
        assert made.content.endswith(f"the last of {2 * number + 3}.")
    version = served.get(conversation=name)["version"]
    assert chat(client, *messages, **options).choices[0].message.content == made.content  # tried again
    assert served.get(conversation=name)["version"] == version
    changed = [messages[0], user("another one"), *messages[2:], made.to_dict(), user("four")]
    with pytest.raises(openai.ConflictError, match="another conversation"):
        chat(client, *changed, **options)
    only_new = chat(client, user("four"), **options).choices[0].message
    assert only_new.content.endswith("the last of 9.")
    assert chat(client, user("four"), **options).choices[0].message.content.endswith("the last of 11.")


@both_ways
def test_usage_is_what_the_turn_spent(client: OpenAI, served: Served, stream: bool) -> None:
    name = f"order {stream}"
    first = respond(client, "order 7", conversation=name, stream=stream).usage  # two requests of the agent
    spent = served.get(conversation=name)["spending"]["usage"]
    assert (first.input_tokens, first.output_tokens) == (spent["input"], spent["output"])
    second = chat(client, user("hello"), stream=stream, **named(quote(name))).usage
    spent = served.get(conversation=name)["spending"]["usage"]
    assert first.total_tokens + second.total_tokens == spent["input"] + spent["output"]


def test_images(client: OpenAI, served: Served) -> None:
    url = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
    parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": url}}]
    assert chat(client, {"role": "user", "content": parts}, **named("pictures")).choices[0].message.content
    parts = [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": url}]
    assert respond(client, [{"role": "user", "content": parts}], conversation="pictures").output_text
    session = served.application.state.service.node.session("support", "", "pictures")
    said = [item for item in session.view() if isinstance(item, Message) and item.role == "user"]
    assert [type(part) for item in said for part in item.content] == [str, Image] * 2


# Requests that are sent twice


def said_in(served: Served, name: str) -> list[str]:
    items = served.get("/items", conversation=name)["items"]
    return [one["content"] for one in items if one["kind"] == "message" and one["role"] == "user"]


def test_one_key_is_one_job(client: OpenAI, served: Served) -> None:
    def twice(ask: Any, said: Any, key: str, **options: Any) -> Any:
        one, other = (ask(client, said, extra_headers={"Idempotency-Key": key}, **options) for _ in range(2))
        times = {"id": "", "created": 0, "created_at": 0}
        assert one.to_dict() | times == other.to_dict() | times
        return one

    first = twice(respond, "look", "a", tools=[LOOK_FLAT])
    results = [{"type": "function_call_output", "call_id": "c1", "output": "open"}]
    assert twice(respond, results, "b", previous_response_id=first.id).output_text == "Found: open."
    one = respond(client, "one")
    two, fork = (twice(respond, said, said, previous_response_id=one.id) for said in ("two", "three"))
    assert two.conversation == one.conversation != fork.conversation
    for made, said in ((first, ["look"]), (two, ["one", "two"]), (fork, ["one", "three"])):
        assert said_in(served, made.conversation.id) == said
    made = twice(chat, user("hello"), "e")
    assert made.choices[0].message.content.endswith("the last of 1.")
    for ask, key, one, other in ((respond, "f", "four", "five"), (chat, "g", user("four"), user("five"))):
        twice(ask, one, key)
        with pytest.raises(openai.UnprocessableEntityError, match="Idempotency-Key"):
            ask(client, other, extra_headers={"Idempotency-Key": key})


@pytest.mark.parametrize("is_chat", [True, False])
def test_of_a_request_that_is_refused_nothing_is_left(is_chat: bool) -> None:
    node = support_node(answer=answers)
    with serving(app(node, max_jobs=0)) as served, client_of(served) as client:
        history = [user("one"), {"role": "assistant", "content": "Yes."}, user("two")]
        with pytest.raises(openai.InternalServerError, match="too many") as caught:
            chat(client, *history) if is_chat else respond(client, history)
        assert caught.value.status_code == 503 and caught.value.response.headers["retry-after"]
        assert not list(node.store.recent())


@both_ways
def test_a_history_comes_with_its_message(client: OpenAI, served: Served, stream: bool) -> None:
    history = [user("one"), {"role": "assistant", "content": "Yes."}, user("two")]
    made = respond(client, history, stream=stream)
    assert made.output_text == "You said 'two', the last of 3." and len(made.output) == 1
    assert said_in(served, made.conversation.id) == ["one", "two"]


# Streams


@pytest.mark.parametrize("said", ["hello there", "order 7", "look", "日本語" * 40 + " \n\n  and\tmore  "])
def test_a_stream_that_was_abandoned_is_resumed_after_any_event_by_another_process(
    tmp_path: Path, said: str
) -> None:
    store = tmp_path / "kept.db"
    with serving(app(support_node(store, answers))) as served, client_of(served) as client:
        with client.responses.create(model="support", input=said, tools=[LOOK_FLAT], stream=True) as events:
            first = next(iter(events))
        assert first.type == "response.created"
        response_id = first.response.id
        whole = [one.to_dict() for one in client.responses.retrieve(response_id, stream=True)]
        assert [one["sequence_number"] for one in whole] == list(range(len(whole)))
        assert whole[0] == first.to_dict() and whole[-1]["type"] == "response.completed"
        text = "".join(str(one["delta"]) for one in whole if one["type"] == "response.output_text.delta")
        assert text == client.responses.retrieve(response_id).output_text
    with serving(app(support_node(store, answers))) as served, client_of(served) as client:
        for number in range(-1, len(whole), 4):
            rest = client.responses.retrieve(response_id, stream=True, starting_after=number)
            assert [one.to_dict() for one in rest] == whole[number + 1 :]


def test_words_that_were_not_recorded_are_void() -> None:
    made = Response("resp_1", 0, "support", "c", "job")
    events = [*made.begin(), *made.add_words("I think that"), *made.restart(), *made.add_words("It is")]
    events += [*made.add_item(Message("assistant", "It is so.")), *made.end("done", "", Usage())]
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert [item.status for item in items] == ["incomplete", "completed"]
    assert [part.text for item in made.body.output for part in getattr(item, "content", ())] == ["It is so."]


def test_a_turn_that_fails_is_not_done_again_by_the_client(client: OpenAI, served: Served) -> None:
    assert respond(client, "fail").error.message == "the model is down"
    *_, last = client.responses.create(model="support", input="fail", stream=True)
    assert last.type == "response.failed" and last.response.status == "failed"
    with client_of(served, retries=2) as stubborn:
        with pytest.raises(openai.InternalServerError, match="the model is down") as caught:
            chat(stubborn, user("fail"), **named("failing"))
        assert caught.value.status_code == 502 and said_in(served, "failing") == ["fail"]
    with pytest.raises(openai.APIError, match="the model is down"):
        list(client.chat.completions.create(model="support", messages=[user("fail")], stream=True))


@both_ways
def test_a_conversation_that_is_removed_ends_its_answer(tmp_path: Path, stream: bool) -> None:
    gate, words = Gate(), "the conversation was removed"
    node = support_node(tmp_path / "store.db", gate)
    with serving(app(node, grace=0)) as served, ThreadPoolExecutor() as pool:

        def answered(path: str, **body: Any) -> Any:
            """The answer to a request whose conversation is removed meanwhile."""
            place, headers = node.session("support", "", path).place, {"quire-conversation": path}
            body |= {"model": "support", "stream": stream}
            answer = pool.submit(served.client.post, f"/v1/{path}", json=body, headers=headers)
            until(lambda: node.store.version(place))
            node.store.remove(place)
            return answer.result()

        response = answered("responses", input="hello", conversation="responses").text
        chat = answered("chat/completions", messages=[user("hello")])
        gate.is_open.set()
    last = json.loads(response.rpartition("data: ")[2])
    ended = last["response"] if stream else last
    assert (ended["status"], ended["error"]["message"]) == ("failed", words)
    assert words in chat.text
    assert chat.text.endswith("data: [DONE]\n\n") if stream else chat.status_code == 502


# Refusals

UNSUPPORTED: list[dict[str, Any]] = [
    {"n": 2},
    {"logprobs": True},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": 5}}}},
    {"response_format": {"type": "grammar"}},
    {"tool_choice": "required", "tools": [LOOK]},
    {"tools": [{"type": "custom", "custom": {"name": "grammar"}}]},
    {"modalities": ["audio"]},
    {"tools": [{"type": "function", "function": {"name": "look_up", "parameters": {}}}]},
    {"messages": [{"role": "user", "content": ["see", {"type": "image_url"}]}]},
]


@pytest.mark.parametrize("options", UNSUPPORTED, ids=lambda one: "-".join(one))
def test_what_is_not_supported_is_an_error(client: OpenAI, options: Any) -> None:
    asked: dict[str, Any] = {"model": "support", "messages": [user("hello")], **options}
    with pytest.raises(openai.BadRequestError, match=next(iter(options))):
        client.chat.completions.create(**asked)


def test_a_part_that_cannot_be_read_is_an_error(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match=r"input\[0\]\.content\[0\]"):
        respond(client, [{"role": "user", "content": [{"type": "input_image", "image_url": 5}]}])


def test_other_settings_are_the_agents(client: OpenAI) -> None:
    raw = client.chat.completions.with_raw_response
    made = raw.create(model="support", messages=[user("hello")], temperature=0.1, max_tokens=5, n=1, seed=7)
    assert (
        made.headers["quire-ignored"] == "max_tokens, seed, temperature"
        and made.headers["quire-conversation"]
    )
    assert raw.create(model="support", messages=[user("hello")]).headers.get("quire-ignored") is None


def test_what_does_not_exist(client: OpenAI, served: Served) -> None:
    for ask in (
        lambda: client.responses.create(model="nobody", input="hello"),
        lambda: client.chat.completions.create(model="nobody", messages=[user("hello")]),
        lambda: client.responses.retrieve("resp_nothing"),
        lambda: respond(client, "hello", previous_response_id="resp_nothing"),
    ):
        with pytest.raises(openai.NotFoundError):
            ask()
    with pytest.raises(openai.BadRequestError, match="not both"):
        respond(client, "hello", previous_response_id="resp_nothing", conversation="c")


def test_keys_and_their_scopes() -> None:
    (one, row), (other, second) = new_key("one"), new_key("other")
    keys = Keys.read(f"{row}{second}".encode())
    with (
        serving(app(support_node(answer=answers), keys=keys)) as served,
        client_of(served, one) as mine,
        client_of(served, other) as theirs,
        client_of(served, "wrong") as nobodys,
    ):
        with pytest.raises(openai.AuthenticationError):
            respond(nobodys, "hello")
        first = respond(mine, "secret", conversation="c")
        assert respond(theirs, "hello", conversation="c").output_text.endswith("the last of 1.")
        with pytest.raises(openai.NotFoundError):
            theirs.responses.retrieve(first.id)
        with pytest.raises(openai.NotFoundError):
            respond(theirs, "so?", previous_response_id=first.id)


NAMES = st.text(max_size=12) | st.sampled_from(["~recalled", "a/b", "..", "support", "\x00", "é" * 300])


@settings(max_examples=settings().max_examples // 2)
@given(NAMES, NAMES, NAMES, st.integers())
def test_names_and_ids_that_a_client_made_up(
    served: Served, agent: str, conversation: str, job: str, version: int
) -> None:
    made_up = json.dumps([agent or "support", conversation, job, version, 0])
    response_id = f"resp_{base64.urlsafe_b64encode(made_up.encode()).decode().rstrip('=')}"
    asked = {"model": "support", "input": "hello"}
    sent = [
        served.client.get(f"/v1/responses/{response_id}"),
        served.client.get(f"/v1/responses/{quote(job, safe='') or '-'}", params={"stream": "true"}),
        served.client.post("/v1/responses", json={**asked, "previous_response_id": response_id}),
        served.client.post("/v1/responses", json={**asked, "model": agent}),
        served.client.post("/v1/responses", json={**asked, "conversation": conversation}),
    ]
    assert [answer.status_code in (400, 404) for answer in sent[:4]] == [True] * 4 or agent == "support"
    assert all(answer.status_code < 500 for answer in sent), [answer.text for answer in sent]
