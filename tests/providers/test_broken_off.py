"""An answer that its service ends by a word of its own keeps no call that is half."""

from typing import Any

import pytest

from quire.items import Message, ToolCall
from quire.models.whole import unfinished
from quire.providers import PROVIDERS, Parsed
from tests.providers.feeding import fed

Json = dict[str, Any]
FAILURES = ("error", "network_error", "network-error", "insufficient_system_resource", "abort")
HALF, WHOLE = '{"amount": 1', '{"amount": 1}'


def chat(reason: str | None, *given: str, whole: bool = False, **beside: Any) -> Parsed:
    calls = [
        {"index": at, "id": f"c{at}", "function": {"name": "pay", "arguments": text}}
        for at, text in enumerate(given)
    ]
    said: Json = {"role": "assistant", "content": "I pay.", "tool_calls": calls}
    if whole:
        return PROVIDERS["openai"].parse({"choices": [{"finish_reason": reason, "message": said}], **beside})
    ends: Json = {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], **beside}
    return fed(PROVIDERS["openai"], [{"choices": [{"index": 0, "delta": said}]}, ends])


def responses(status: str | None, *given: str, whole: bool = False, **beside: Any) -> Parsed:
    calls: list[Json] = [
        {"type": "function_call", "id": f"f{at}", "call_id": f"c{at}", "name": "pay", "arguments": text}
        for at, text in enumerate(given)
    ]
    text: Json = {"type": "output_text", "text": "I pay.", "annotations": []}
    output: list[Json] = [{"type": "message", "role": "assistant", "content": [text]}, *calls]
    body: Json = {"status": status, "output": output, **beside}
    wire = PROVIDERS["openai-responses"]
    return wire.parse(body) if whole else fed(wire, [{"type": "response.incomplete", "response": body}])


def anthropic(reason: str | None, *given: str, whole: bool = False) -> Parsed:
    said: Json = {"type": "text", "text": "I pay."}
    use: Json = {"type": "tool_use", "name": "pay", "input": {}}
    uses: list[Json] = [{**use, "id": f"c{at}"} for at in range(len(given))]
    if whole:
        told = [{**one, "input": text} for one, text in zip(uses, given, strict=True)]
        return PROVIDERS["anthropic"].parse({"stop_reason": reason, "content": [said, *told]})
    events: list[Json] = [{"type": "content_block_start", "index": 0, "content_block": said}]
    for at, text in enumerate(given):
        delta = {"type": "input_json_delta", "partial_json": text}
        events.append({"type": "content_block_start", "index": at + 1, "content_block": uses[at]})
        events.append({"type": "content_block_delta", "index": at + 1, "delta": delta})
        events.append({"type": "content_block_stop", "index": at + 1})
    ends: list[Json] = [{"type": "message_delta", "delta": {"stop_reason": reason}}, {"type": "message_stop"}]
    return fed(PROVIDERS["anthropic"], [*events, *ends])


def gemini(reason: str | None, *given: Any, whole: bool = False) -> Parsed:
    calls = [{"functionCall": {"id": f"c{at}", "name": "pay", "args": one}} for at, one in enumerate(given)]
    content = {"role": "model", "parts": [{"text": "I pay."}, *calls]}
    body = {"candidates": [{"content": content, "finishReason": reason}]}
    return PROVIDERS["gemini"].parse(body) if whole else fed(PROVIDERS["gemini"], [body])


WIRES: list[Any] = [chat, responses, anthropic, gemini]


def called(answer: Parsed) -> list[str]:
    assert isinstance(answer.items[0], Message) and answer.items[0].text == "I pay."
    return [item.call_id for item in answer.items if isinstance(item, ToolCall)]


def broke_off(answer: Parsed) -> bool:
    return isinstance(answer.items[0], Message) and answer.items[0].interrupted


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("reason", [*FAILURES, "some_word"])
def test_a_half_call_is_left_out_and_is_an_error(wire: Any, reason: str, whole: bool) -> None:
    answer = wire(reason, WHOLE, HALF, whole=whole)
    assert called(answer) == ["c0"]
    assert answer.finish == "other" and answer.error is not None and broke_off(answer)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("reason", FAILURES)
def test_a_word_for_a_failure_is_an_error(wire: Any, reason: str, whole: bool) -> None:
    answer = wire(reason, whole=whole)
    assert answer.finish == "other" and broke_off(answer)
    assert answer.error is not None and answer.error.startswith("server_error")


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_whole_calls_stay_under_a_word_that_nobody_knows(wire: Any, whole: bool) -> None:
    answer = wire("some_word", WHOLE, whole=whole)
    assert called(answer) == ["c0"] and not broke_off(answer)
    assert (answer.finish, answer.error) == ("other", None)


@pytest.mark.parametrize("reason", [*FAILURES, "some_word"])
def test_a_call_to_which_no_arguments_came_may_have_been_cut_off(reason: str) -> None:
    assert called(anthropic(reason, WHOLE, "")) == called(chat(reason, WHOLE, "")) == ["c0"]
    assert anthropic(reason, "").error is not None
    assert called(anthropic(None, "")) == ["c0"]  # it came to its end, and nobody says why


@pytest.mark.parametrize("wire", [anthropic, gemini])
def test_of_an_object_nobody_can_tell_whether_there_was_more(wire: Any) -> None:
    assert called(wire("error", {"amount": 1}, {"amount": 1}, whole=True)) == ["c0"]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("reason", ["tool_calls", "stop", "eos", "end_turn", "tool_use", "STOP", "COMPLETE"])
def test_malformed_arguments_of_an_answer_that_is_done_are_for_the_model_to_hear_of(
    reason: str, whole: bool
) -> None:
    answer = chat(reason, HALF, whole=whole)
    assert (called(answer), answer.finish, answer.error) == (["c0"], "calls", None)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        *((word, "stop") for word in ("eos", "eos_token", "stop_sequence", "end_turn", "COMPLETE")),
        *((word, "length") for word in ("model_length", "max_tokens", "MAX_TOKENS")),
        *((word, "refused") for word in ("sensitive", "refusal", "SAFETY")),
    ],
)
def test_other_words_for_known_ends(reason: str, finish: str, whole: bool) -> None:
    answer = chat(reason, whole=whole)
    assert (answer.finish, answer.error) == (finish, None) and not broke_off(answer)
    if finish == "length":
        assert called(chat(reason, WHOLE, HALF, whole=whole)) == ["c0"]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("reason", ["error", "tool_calls", None])
def test_an_error_beside_the_answer_is_told_by_its_own_words(reason: str | None, whole: bool) -> None:
    answer = chat(reason, WHOLE, HALF, whole=whole, error={"code": 502, "message": "gone"})
    assert (called(answer), answer.finish, answer.error) == (["c0"], "other", "502: gone")


def test_why_a_response_is_incomplete_may_be_a_word_of_its_service() -> None:
    cut = responses("incomplete", HALF, incomplete_details={"reason": "some_word"})
    assert cut.error == "a call did not come whole"
    assert responses("failed", error={"message": "no"}).error == "no"
    assert called(responses(None, HALF, whole=True)) == ["c0"]  # no status is none that says that it failed
    assert called(responses(None, WHOLE, HALF)) == ["c0"]  # but its event may say that it is incomplete


def test_what_an_event_says_went_wrong_is_said_rather_than_that_the_response_failed() -> None:
    error = {"type": "error", "message": "gone"}
    ended: Json = {"type": "response.failed", "response": {"status": "failed", "output": []}}
    assert fed(PROVIDERS["openai-responses"], [error, ended]).error == "gone"


@pytest.mark.parametrize("reason", FAILURES)
def test_it_is_worth_another_try(reason: str) -> None:
    failure = unfinished(chat(reason), "m")
    assert failure is not None and failure.again


def test_a_call_of_gemini_that_was_to_go_on_is_missed() -> None:
    begun = {"name": "pay", "partialArgs": [{"jsonPath": "$.amount", "numberValue": 1}], "willContinue": True}
    parts = [{"text": "I pay."}, {"functionCall": begun}]

    def answer(reason: str | None) -> Parsed:
        return fed(
            PROVIDERS["gemini"], [{"candidates": [{"content": {"parts": parts}, "finishReason": reason}]}]
        )

    assert (called(answer("STOP")), answer("STOP").error) == ([], "a call did not come whole")
    assert answer("MAX_TOKENS").error is answer(None).error is None
