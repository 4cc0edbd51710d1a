"""Streams: laws for all wires, and what services really send, each row with its source."""

from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from quire.errors import Damaged, WrongType
from quire.items import Message, Reasoning, ToolCall
from quire.providers import Parsed, provider_for
from tests.providers.replies import MODELS, WIRES, Call, Json, Reply, drawn_replies, events, plain, whole


def read(wire: str, given_events: list[Any], model: str | None = None) -> tuple[Parsed, str]:
    """A stream's answer, and the text that was heard on the way."""
    stream = provider_for(wire).stream(model=model)
    text = "".join([stream.feed(event) for event in given_events])
    return stream.close(), text


FULL = Reply("hm", "Well, I look. 😀", (Call("c0", "look", {"q": "x"}), Call("c1", "find", {})))


@pytest.mark.parametrize("wire", WIRES)
@given(reply=drawn_replies, size=st.integers(1, 9))
@example(reply=FULL, size=1)
def test_a_stream_cut_into_any_pieces_is_the_whole_reply(wire: str, reply: Reply, size: int) -> None:
    parsed, text = read(wire, events(wire, reply, size))
    expected = provider_for(wire).parse(whole(wire, reply))
    assert plain(parsed.items) == plain(expected.items)
    assert parsed[1:] == expected[1:]
    assert text == reply.text


@pytest.mark.parametrize("wire", WIRES)
@given(reply=drawn_replies, size=st.integers(1, 9), data=st.data())
def test_a_stream_broken_at_any_event_is_a_valid_interrupted_history(
    wire: str, reply: Reply, size: int, data: st.DataObject
) -> None:
    provider, model, all_events = provider_for(wire), MODELS[wire], events(wire, reply, size)
    kept = all_events[: data.draw(st.integers(0, len(all_events) - 1))]
    question = [Message("user", "Go.")]
    stream = provider.stream(sent=provider.render(question, model=model))
    text = "".join([stream.feed(event) for event in kept])
    parsed = stream.close()
    said = [item for item in parsed.items if isinstance(item, Message)]
    assert "".join(item.text for item in said) == text
    made = {(call.name, call.arguments) for call in parsed.items if isinstance(call, ToolCall)}
    assert made <= {
        (call.name, call.arguments)
        for call in provider.parse(whole(wire, reply)).items
        if isinstance(call, ToolCall)
    }
    rendered = provider.render([*question, *parsed.items, Message("user", "Go on.")], model=model)
    assert provider.check(rendered.payload, model) == []


@pytest.mark.parametrize("wire", WIRES)
def test_the_last_message_of_a_broken_stream_is_interrupted(wire: str) -> None:
    parsed, text = read(wire, events(wire, Reply(text="Well, now"))[:3])
    said = [item for item in parsed.items if isinstance(item, Message)]
    assert said[-1].interrupted
    assert text == said[-1].text != ""
    assert parsed.finish == "other"
    assert parsed.error is None


@pytest.mark.parametrize("wire", WIRES)
def test_thoughts_alone_lose_their_state(wire: str) -> None:
    parsed, _ = read(wire, events(wire, Reply(thought="hm", text="Well"), 99)[:2])
    thoughts = [item for item in parsed.items if isinstance(item, Reasoning)]
    assert all(item.state is None for item in thoughts if len(thoughts) == len(parsed.items))


@pytest.mark.parametrize("wire", WIRES)
def test_closing_twice_gives_the_same_answer(wire: str) -> None:
    stream = provider_for(wire).stream()
    for event in events(wire, FULL):
        stream.feed(event)
    assert stream.close() is stream.close()


@pytest.mark.parametrize("wire", WIRES)
def test_an_error_in_a_stream_keeps_what_came_before(wire: str) -> None:
    broken = [
        *events(wire, Reply(text="Well"), 9)[:3],
        {"type": "error", "error": {"type": "overloaded_error", "message": "Later."}},
    ]
    parsed, text = read(wire, broken)
    assert parsed.error == "overloaded_error: Later."
    assert parsed.finish == "other"
    assert "".join(item.text for item in parsed.items if isinstance(item, Message)) == text


@pytest.mark.parametrize("wire", WIRES)
def test_events_of_another_wire_are_an_error(wire: str) -> None:
    other = {"openai": "anthropic", "anthropic": "gemini", "gemini": "openai-responses"}.get(wire, "openai")
    parsed, text = read(wire, events(other, Reply(text="Well")))
    assert parsed.items == ()
    assert parsed.error is not None
    assert text == ""


@pytest.mark.parametrize("wire", WIRES)
def test_keep_alive_events_say_nothing(wire: str) -> None:
    given_events = [{"type": "ping"}, *events(wire, Reply(text="Well")), {"type": "keepalive"}]
    parsed, _ = read(wire, given_events)
    assert (parsed.error, parsed.finish) == (None, "stop")


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("event", ["text", 5, [1]])
def test_an_event_of_a_wrong_type_is_refused(wire: str, event: Any) -> None:
    with pytest.raises(WrongType):
        provider_for(wire).stream().feed(event)


@pytest.mark.parametrize("wire", WIRES)
def test_half_a_character_waits_for_its_other_half(wire: str) -> None:
    given_events = [
        event
        for one in ("a\ud83d", "\ude00b")
        for event in events(wire, Reply(text=one), 9)
        if _has_text(event)
    ]
    stream = provider_for(wire).stream()
    heard = [stream.feed(event) for event in given_events[:2]]  # elie222/rakazo#416
    assert [piece for piece in heard if piece] == ["a", "😀b"]


def _has_text(event: Json) -> bool:
    text = str(event)
    return (
        ("\\ud83d" in ascii(text) or "\\ude00" in ascii(text))
        and ".done" not in text
        and "completed" not in text
    )


# --- what services send on OpenAI's wire


def chunk(*calls: Json, reason: str | None = None, **delta: Any) -> Json:
    more = {"tool_calls": list(calls)} if calls else {}
    return {"choices": [{"index": 0, "delta": {**delta, **more}, "finish_reason": reason}]}


def piece(arguments: Any = None, **fields: Any) -> Json:
    function = {"name": fields.pop("name")} if "name" in fields else {}
    return {**fields, "function": {**function, **({} if arguments is None else {"arguments": arguments})}}


END = chunk(reason="tool_calls")
CALLS: list[tuple[str, list[Json], list[tuple[str, str]]]] = [
    (
        "one index for all calls (ollama/ollama#15457)",
        [
            chunk(piece('{"a":1}', index=0, id="a", name="f")),
            chunk(piece('{"b":2}', index=0, id="b", name="g")),
        ],
        [("f", '{"a":1}'), ("g", '{"b":2}')],
    ),
    (
        "no index (ollama/ollama#7881)",
        [
            chunk(piece('{"a":', id="a", name="f")),
            chunk(piece("1}", id="a")),
            chunk(piece("{}", id="b", name="f")),
        ],
        [("f", '{"a":1}'), ("f", "{}")],
    ),
    (
        "neither index nor id",
        [chunk(piece('{"a":', name="f")), chunk(piece("1}")), chunk(piece("{}", name="g"))],
        [("f", '{"a":1}'), ("g", "{}")],
    ),
    (
        "an empty object first (microsoft/autogen#6843)",
        [chunk(piece("{}", index=0, id="a", name="f")), chunk(piece('{"a":1}', index=0))],
        [("f", '{"a":1}')],
    ),
    (
        "all arguments again (mudler/cogito#66)",
        [chunk(piece('{"a":1}', index=0, id="a", name="f")), chunk(piece('{"a": 1}', index=0))],
        [("f", '{"a": 1}')],
    ),
    (
        "arguments as an object (can1357/oh-my-pi#1779)",
        [chunk(piece({"a": 1}, index=0, id="a", name="f"))],
        [("f", '{"a":1}')],
    ),
    (
        "one id for two calls (HKUDS/nanobot#3943)",
        [chunk(piece("{}", index=0, id="a", name="f"), piece('{"b":2}', index=1, id="a", name="g"))],
        [("f", "{}"), ("g", '{"b":2}')],
    ),
    (
        "the name with each piece",
        [chunk(piece('{"a":', index=0, id="a", name="f")), chunk(piece("1}", index=0, id="a", name="f"))],
        [("f", '{"a":1}')],
    ),
    (
        "parallel calls in turns",
        [
            chunk(piece('{"a":', index=0, id="a", name="f"), piece('{"b":', index=1, id="b", name="g")),
            chunk(piece("1}", index=0), piece("2}", index=1)),
        ],
        [("f", '{"a":1}'), ("g", '{"b":2}')],
    ),
    (
        "the word null for an id, as Mistral writes it",
        [chunk(piece("{}", index=0, id="null", name="f"))],
        [("f", "{}")],
    ),
    (
        "the form before calls had ids",
        [chunk(function_call={"name": "f", "arguments": '{"a":'}), chunk(function_call={"arguments": "1}"})],
        [("f", '{"a":1}')],
    ),
]


@pytest.mark.parametrize(("chunks", "expected"), [row[1:] for row in CALLS], ids=[row[0] for row in CALLS])
def test_calls_of_services_on_openais_wire(chunks: list[Json], expected: list[tuple[str, str]]) -> None:
    parsed, _ = read("openai", [*chunks, END])
    calls = [item for item in parsed.items if isinstance(item, ToolCall)]
    assert [(call.name, call.arguments) for call in calls] == expected
    assert len({call.call_id for call in calls}) == len(calls)
    assert (parsed.finish, parsed.error) == ("calls", None)


def test_a_piece_of_no_call_is_damage() -> None:
    with pytest.raises(Damaged, match="index or an id"):
        provider_for("openai").stream().feed(chunk(piece("{}")))


THOUGHTS: list[tuple[str, list[Json], str]] = [
    ("reasoning_content", [chunk(reasoning_content="h"), chunk(reasoning_content="m")], "hm"),
    ("reasoning", [chunk(reasoning="h"), chunk(reasoning="m")], "hm"),
    (
        "reasoning_details beside reasoning (OpenRouter)",
        [
            chunk(reasoning="h", reasoning_details=[{"type": "reasoning.text", "text": "h", "index": 0}]),
            chunk(reasoning="m", reasoning_details=[{"type": "reasoning.text", "text": "m", "index": 0}]),
            chunk(reasoning_details=[{"type": "reasoning.text", "signature": "s", "index": 0}]),
        ],
        "hm",
    ),
    (
        "chunks of the content (Mistral)",
        [
            chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "h"}]}]),
            chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "m"}]}]),
        ],
        "hm",
    ),
]


@pytest.mark.parametrize(
    ("chunks", "thought"), [row[1:] for row in THOUGHTS], ids=[row[0] for row in THOUGHTS]
)
def test_thoughts_of_services_on_openais_wire(chunks: list[Json], thought: str) -> None:
    parsed, text = read("openai", [*chunks, chunk(content="Well"), chunk(reason="stop")], "some/model")
    reasoning, message = parsed.items
    assert isinstance(reasoning, Reasoning)
    assert (reasoning.text, text) == (thought, "Well")
    assert isinstance(message, Message)
    assert message.text == "Well"


def test_pieces_of_one_block_of_thoughts_go_back_as_one_block() -> None:
    provider, model = provider_for("openai"), "openrouter/anthropic/claude-sonnet-4.5"
    question = [Message("user", "Go.")]
    stream = provider.stream(sent=provider.render(question, model=model))
    for event in [*THOUGHTS[2][1], chunk(piece("{}", index=0, id="a", name="f")), END]:
        stream.feed(event)
    rendered = provider.render([*question, *stream.close().items], model=model)
    block = {"type": "reasoning.text", "text": "hm", "index": 0, "signature": "s"}
    assert rendered.payload["messages"][1]["reasoning_details"] == [block]


def test_usage_of_a_stream_is_where_services_put_it() -> None:
    events_with_usage: tuple[Json, ...] = (
        {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3, "cached_tokens": 4}},
        {
            "choices": [],
            "x_groq": {"usage": {"prompt_tokens": 9, "completion_tokens": 3, "prompt_cache_hit_tokens": 4}},
        },
        {
            "choices": [
                {
                    "index": 0,
                    "delta": {},
                    "usage": {
                        "prompt_tokens": 9,
                        "completion_tokens": 3,
                        "prompt_tokens_details": {"cached_tokens": 4},
                    },
                }
            ]
        },
    )
    for event in events_with_usage:
        usage = read("openai", [chunk(content="Well"), event, chunk(reason="stop")])[0].usage
        assert usage is not None
        assert (usage.input, usage.output, usage.cache_read) == (9, 3, 4)


def test_events_of_the_client_beside_its_chunks_are_skipped() -> None:
    given_events = [
        {"type": "chunk", "chunk": chunk(content="Well")},
        {"type": "content.delta", "delta": "Well", "snapshot": "Well"},
        {"type": "chunk", "chunk": chunk(reason="stop")},
        {"type": "content.done", "content": "Well"},
    ]
    parsed, text = read("openai", given_events)
    assert (text, parsed.finish) == ("Well", "stop")


# --- the other wires


def test_a_final_response_without_output_loses_nothing() -> None:
    given_events = events("openai-responses", FULL)
    given_events[-1]["response"]["output"] = []  # bytedance/deer-flow#1928
    parsed, _ = read("openai-responses", given_events)
    assert plain(parsed.items) == plain(
        provider_for("openai-responses").parse(whole("openai-responses", FULL)).items
    )


def test_a_final_response_alone_is_the_answer() -> None:
    parsed, _ = read("openai-responses", events("openai-responses", FULL)[-1:])
    assert plain(parsed.items) == plain(
        provider_for("openai-responses").parse(whole("openai-responses", FULL)).items
    )


def test_items_are_told_apart_by_their_ids_where_no_index_is_sent() -> None:
    given_events = [
        {name: value for name, value in event.items() if name != "output_index"}
        for event in events("openai-responses", FULL)
    ]
    parsed, text = read("openai-responses", given_events)
    assert text == FULL.text
    assert plain(parsed.items) == plain(
        provider_for("openai-responses").parse(whole("openai-responses", FULL)).items
    )


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("arguments", ['{"q": ', '{"q": "x'])
def test_half_a_call_is_left_out_and_is_an_error(wire: str, arguments: str) -> None:
    given_events = [*events(wire, Reply(text="Well"), 9)]
    half: dict[str, list[Json]] = {
        "openai": [chunk(piece(arguments, index=0, id="a", name="f"))],
        "openai-responses": [
            {
                "type": "response.output_item.added",
                "output_index": 1,
                "item": {"type": "function_call", "id": "fc", "call_id": "a", "name": "f"},
            },
            {
                "type": "response.function_call_arguments.delta",
                "output_index": 1,
                "item_id": "fc",
                "delta": arguments,
            },
        ],
        "anthropic": [
            {
                "type": "content_block_start",
                "index": 1,
                "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": {}},
            },
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "input_json_delta", "partial_json": arguments},
            },
        ],
        "gemini": [
            {
                "candidates": [
                    {
                        "content": {
                            "parts": [
                                {
                                    "functionCall": {
                                        "name": "f",
                                        "willContinue": True,
                                        "partialArgs": [
                                            {
                                                "jsonPath": "$.q",
                                                "stringValue": arguments,
                                                "willContinue": True,
                                            }
                                        ],
                                    }
                                }
                            ]
                        }
                    }
                ]
            }
        ],
    }
    broken, _ = read(wire, [*given_events[:-2], *half[wire]])
    assert not any(isinstance(item, ToolCall) for item in broken.items)
    ended, _ = read(
        wire,
        [*given_events[:-1], *half[wire], *given_events[-1:]]
        if wire != "openai"
        else [*given_events[:-2], *half[wire], chunk(reason="weird")],
    )
    assert not any(isinstance(item, ToolCall) for item in ended.items)
    assert ended.error is not None


def test_blocks_of_messages_without_a_start_or_a_stop_are_read() -> None:
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Well"}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    parsed, text = read("anthropic", [delta, end, {"type": "message_stop"}])
    assert (text, parsed.finish, [item.text for item in parsed.items if isinstance(item, Message)]) == (
        "Well",
        "stop",
        ["Well"],
    )


def test_an_event_of_a_block_without_an_index_is_damage() -> None:
    with pytest.raises(Damaged, match="index"):
        provider_for("anthropic").stream().feed(
            {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}}
        )


def test_citations_of_a_stream_go_back_with_their_text() -> None:
    citation = {
        "type": "char_location",
        "cited_text": "a",
        "document_index": 0,
        "start_char_index": 0,
        "end_char_index": 1,
    }
    given_events = events("anthropic", Reply(text="Well"), 9)
    given_events.insert(
        3,
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "citations_delta", "citation": citation},
        },
    )
    provider, model = provider_for("anthropic"), MODELS["anthropic"]
    question = [Message("user", "Go.")]
    stream = provider.stream(sent=provider.render(question, model=model))
    for event in given_events:
        stream.feed(event)
    rendered = provider.render([*question, *stream.close().items, Message("user", "And?")], model=model)
    assert rendered.payload["messages"][1]["content"] == [
        {"type": "text", "text": "Well", "citations": [citation]}
    ]


def test_arguments_of_gemini_that_come_with_paths_are_put_together() -> None:
    def call(more: bool, *values: tuple[str, Any], **fields: Any) -> Json:
        given_values = [
            {"jsonPath": path, ("stringValue" if isinstance(value, str) else "numberValue"): value}
            for path, value in values
        ]
        function = {**fields, "partialArgs": given_values, "willContinue": more}
        return {"candidates": [{"content": {"parts": [{"functionCall": function}]}}]}

    parsed, _ = read(
        "gemini",
        [
            call(True, ("$.q", "a"), name="look", id="c"),
            call(True, ("$.q", "b"), ("$.list[0]['k.l']", 1)),
            call(False, ("$.list[1]", "z")),
            {"candidates": [{"finishReason": "STOP"}]},
        ],
    )
    [made] = parsed.items
    assert isinstance(made, ToolCall)
    assert (made.call_id, made.name, made.arguments) == ("c", "look", '{"q":"ab","list":[{"k.l":1},"z"]}')


@pytest.mark.parametrize("given_back", [None, "", "{}"])
def test_arguments_that_only_the_events_of_responses_hold_are_those_of_the_call(
    given_back: str | None,
) -> None:
    given_events = events("openai-responses", Reply(calls=(Call("a", "f", {"q": "x"}),)))
    for event in given_events:
        if event["type"] == "response.output_item.done":
            event["item"] = {**event["item"], "arguments": given_back}
    given_events[-1]["response"]["output"] = []
    [made] = read("openai-responses", given_events)[0].items
    assert isinstance(made, ToolCall)
    assert made.arguments == '{"q": "x"}'


def test_texts_of_responses_without_index_and_id_go_on_in_their_order() -> None:
    deltas = [{"type": "response.output_text.delta", "delta": text} for text in ("We", "ll")]
    parsed, text = read("openai-responses", [*deltas, {"type": "response.completed", "response": {}}])
    assert [item.text for item in parsed.items if isinstance(item, Message)] == ["Well"] == [text]
