"""Which conversation a request continues: what is shown there is what the program sent."""

import json
from itertools import count

import pytest
from hypothesis import given, strategies as st

from tests.proxy.programs import Json, Watched, brief_messages, calls, result, said, system, user

LONG = "The build fails because the lock file is older than the manifest, so I update it and run the tests."


def test_a_history_that_grows_is_one_conversation() -> None:
    watched, history = Watched(), [system("Be brief."), user("hi")]
    turns = (said("hello"), user("more")), (calls("c1"), result("c1", "7")), (said("done"), user("x"))
    for answer, new in turns:
        watched.ask(history, answer)
        history += [answer, new]
        watched.restart() if answer == said("hello") else None
    watched.ask(history, None)
    ((_, session),) = watched.sessions().items()
    assert watched.shown() == {session.place.conversation: brief_messages(history[1:])}
    assert len(session.receipts) == 4 and session.spending.requests == 3


def test_the_answer_is_known_however_the_program_repeats_it() -> None:
    watched, history = Watched(), [user("hi")]
    watched.ask(history, {"role": "assistant", "content": "hello ", "refusal": None, "annotations": []})
    watched.ask([*history, said("hello"), user("more")], said("ok"))
    (shown,) = watched.shown().values()
    assert shown == ["user: hi", "assistant: hello ", "user: more", "assistant: ok"]


def test_an_edited_question_is_a_branch() -> None:
    watched, past = Watched(), [user("hi"), said("hello")]
    watched.ask(past[:1], past[1])
    watched.ask([*past, user("one")], said("1"))
    watched.ask([*past, user("two")], said("2"))
    watched.ask([*past, user("one"), said("1"), user("three")], said("3"))
    first, fork = watched.shown().values()
    assert first == brief_messages([*past, user("one"), said("1"), user("three"), said("3")])
    assert fork == brief_messages([*past, user("two"), said("2")])


def test_agents_beside_each_other_are_conversations_of_their_own() -> None:
    watched, past = Watched(), [user("hi"), said("hello")]
    first, second = watched.begin(past[:1]), watched.begin(past[:1])
    watched.end(first, past[1])
    watched.end(second, said("good day"))
    left = watched.begin([*past, user("one")])
    right = watched.begin([*past, user("two")])
    watched.end(left, said("1"))
    watched.end(right, said("2"))
    watched.ask([user("hi"), said("good day"), user("three")], said("3"))
    wanted = [[*past, user("one"), said("1")], [*past, user("two"), said("2")]]
    wanted.append([user("hi"), said("good day"), user("three"), said("3")])
    assert sorted(watched.shown().values()) == sorted(map(brief_messages, wanted))


@pytest.mark.parametrize("status", [429, 500])
def test_another_try_is_the_same_request(status: int) -> None:
    watched, history = Watched(), [user("hi")]
    watched.end(watched.begin(history), None, status)
    watched.end(watched.begin(history), said("hello"))
    ((_, session),) = watched.sessions().items()
    assert len(session.receipts) == 2 and session.spending.requests == 1


def test_what_the_program_cleared_or_compacted_is_hidden() -> None:
    watched = Watched()
    history = [user("fix it"), calls("call_0001"), result("call_0001", "x" * 500), calls("call_0002")]
    history += [result("call_0002", "fine"), said(LONG), user("go on")]
    for at in (1, 3, 5, 7):
        watched.ask(history[:at], history[at] if at < 7 else said("ok"))
    cleared = [*history[:2], result("call_0001", "[cleared]"), *history[3:], said("ok"), user("and?")]
    watched.ask(cleared, said("done"))
    (shown,) = watched.shown().values()
    assert shown == brief_messages([*cleared, said("done")])
    tail = [user("Of what was before: it is fixed."), *cleared[3:], said("done"), user("thanks")]
    watched.ask(tail, said("bye"))
    (shown,) = watched.shown().values()
    assert shown == brief_messages([*tail, said("bye")])
    ((_, session),) = watched.sessions().items()
    assert sum("x" * 500 in str(item) for item in session.view().recorded()) == 1, "the past is kept"


def test_a_summary_that_the_model_wrote_continues_its_conversation() -> None:
    watched, past = Watched(), [user("fix it"), said("It is fixed.")]
    watched.ask(past[:1], past[1])
    watched.ask([*past, user("Summarise.")], said(LONG * 3))
    watched.ask([user(f"This continues a session. {LONG * 3}"), user("go on")], said("ok"))
    (shown,) = watched.shown().values()
    assert shown[-1] == "assistant: ok" and len(shown) == 3


@pytest.mark.parametrize("has_restart", [False, True])
def test_responses_that_name_the_one_before(has_restart: bool) -> None:
    watched = Watched()
    path = "/v1/responses"

    def ask(text: str, own_id: str, before: str | None) -> None:
        body = {"model": "gpt-5.6", "input": text} | ({"previous_response_id": before} if before else {})
        number = watched.begin([], path, **body)
        content: list[Json] = [{"type": "output_text", "text": f"{text}!", "annotations": []}]
        message = {"type": "message", "id": f"m{own_id}", "role": "assistant", "status": "completed"}
        answer = {"id": own_id, "object": "response", "status": "completed", "model": "gpt-5.6"}
        watched.answer(number, answer | {"output": [message | {"content": content}]})

    ask("one", "resp_1", None)
    if has_restart:
        watched.restart()
    ask("two", "resp_2", "resp_1")
    ask("three", "resp_3", "resp_2")
    ask("other", "resp_4", "resp_1")
    main = [text for word in ("one", "two", "three") for text in (f"user: {word}", f"assistant: {word}!")]
    assert list(watched.shown().values()) == [main, [*main[:2], "user: other", "assistant: other!"]]


OFTEN = ["ask", "ask", "ask", "call", "call"]
ACTIONS = [*OFTEN, "edit", "clear", "drop", "compact", "retry", "fork", "restart", "fail"]


@pytest.mark.laws
@given(st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 9)), max_size=14))
def test_whatever_a_program_does_what_it_sent_is_shown_once(actions: list[tuple[str, int]]) -> None:
    watched, numbers = Watched(), count(1)
    history: list[Json] = [system("Be brief."), user("begin")]

    def next_words(kind: str) -> str:
        return f"{kind} {next(numbers)} {LONG}"

    def exchange(sent: list[Json], answer: Json | None) -> None:
        number = watched.begin(sent)
        assert brief_messages(sent) in watched.shown().values()
        watched.end(number, answer, 200 if answer else 500)
        sent += [answer] if answer else []

    exchange(history, said(next_words("answer")))
    for action, place in actions:
        asked = [n for n, one in enumerate(history) if one["role"] == "user"]
        results = [n for n, one in enumerate(history) if one["role"] == "tool"]
        match action:
            case "restart":
                watched.restart()
                continue
            case "edit":
                del history[asked[place % len(asked)] :]
            case "clear" if results:
                at = results[place % len(results)]
                history[at] = {**history[at], "content": f"[cleared {next(numbers)}]"}
            case "drop":
                history[1 : asked[min(place, len(asked) - 1)]] = []
            case "compact":
                summary = user(f"Before: {next_words('summary')}")
                history[1:] = [summary, *(one for one in history[-1:] if one["role"] != "user")]
            case "fork":
                exchange([*history, user(next_words("aside"))], said(next_words("beside")))
                continue
            case _:
                pass
        history.append(user(next_words("question")))
        if action == "call":
            ids = [f"call_{next(numbers):08}" for _ in range(1 + place % 3)]
            exchange(history, calls(*ids))
            history += [result(one, f"result {next(numbers)}") for one in ids]
        if action in ("retry", "fail"):
            exchange(history, None)
        if action != "fail":
            exchange(history, said(next_words("answer")))
    for session in watched.sessions().values():
        for kept in session.receipts:
            json.dumps(kept.payload().payload)  # what was sent can be rendered again
