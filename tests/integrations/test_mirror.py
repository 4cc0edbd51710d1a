"""A mirror follows any list of messages, sends what providers take, and loses nothing."""

from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire import Budget, Session, Template
from quire.compactors import Offload, Summarize
from quire.errors import InvalidValue
from quire.integrations.mirror import Mirror, Mirrors
from quire.items import Item, Message, Summary, ToolCall, ToolResult
from quire.memory import Recall
from quire.models import Scripted
from quire.providers import check, content_for_model
from quire.sections import Custom, History
from quire.stores import MemoryStore
from quire.tokens import Usage

Chat = dict[str, Any]


class ChatCodec:
    """Messages as dictionaries of the Chat Completions API, with texts alone."""

    def read(self, message: Chat) -> Sequence[Item]:
        if message["role"] == "tool":
            return [ToolResult(message["tool_call_id"], "look", message["content"])]
        said = [Message(message["role"], message["content"])] if message["content"] else []
        calls = message.get("tool_calls", ())
        return [*said, *(ToolCall(one["id"], "look", one["function"]["arguments"]) for one in calls)]

    def write(self, items: Sequence[Item], origin: Chat | None) -> Chat:
        first = items[0]
        if isinstance(first, ToolResult):
            return {"role": "tool", "tool_call_id": first.call_id, "content": str(first.content)}
        texts = [str(content_for_model(one)) for one in items if isinstance(one, Message | Summary)]
        role = first.role if isinstance(first, Message) else "user"
        ids = {one.call_id for one in items if isinstance(one, ToolCall)}
        calls = [one for one in (origin or {}).get("tool_calls", ()) if one["id"] in ids]
        message = {"role": role, "content": "\n".join(texts)}
        return {**message, "tool_calls": calls} if calls else message

    def identity(self, message: Chat) -> Any:
        return message


def user(text: str) -> Chat:
    return {"role": "user", "content": text}


def said(text: str) -> Chat:
    return {"role": "assistant", "content": text}


def called(*ids: str) -> Chat:
    calls = [{"id": i, "type": "function", "function": {"name": "look", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def found(call_id: str, text: str = "three orders") -> Chat:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


TURN = [user("Which orders are open?"), called("c1"), found("c1"), said("Three are.")]


def mirror_of(store: Any, window: int = 32_000, **options: Any) -> Mirror[Chat]:
    session = Session.open("acme/one", store=store, **options)
    return Mirror(session, Template(History(), budget=Budget(window=window)), ChatCodec())


def test_threads_share_nothing_but_the_scope_that_a_function_gives_them() -> None:
    quoting, store = Template(History(), Recall(), budget=Budget(window=2_000)), MemoryStore()
    of_each = Mirrors(ChatCodec(), quoting, store)
    of_users = Mirrors(ChatCodec(), quoting, store, scope=lambda run: run["user"])
    of_each.of("ana/1").fit([user("My PIN is 4711.")])
    of_users.of("one", run={"user": "ana"}).fit([user("My PIN is 4712.")])
    for mirror, told in [
        (of_each.of("ana/2"), ""),
        (of_each.of("ana"), ""),
        (of_each.of("ana/1", "helper"), "4711"),
        (of_users.of("two", run={"user": "bob"}), ""),
        (of_users.of("two", run={"user": "ana"}), "4712"),
        (of_users.of("two", scope="ana"), "4712"),
    ]:
        shown = str(mirror.fit([user("What is my PIN?")]).messages)
        assert [pin for pin in ("4711", "4712") if pin in shown] == ([told] if told else [])
    with pytest.raises(InvalidValue, match="name the scope"):
        of_users.of("two")
    with pytest.raises(InvalidValue):
        of_users.of("1", run={"user": "/ana%2F1"})


def faults(messages: list[Chat]) -> list[Any]:
    return list(check({"model": "gpt-5.6", "messages": messages}, "openai"))


def test_the_answer_is_recorded_with_what_it_used() -> None:
    mirror = mirror_of("memory:")
    mirror.fit(TURN[:1])
    mirror.record([TURN[1]], Usage(input=100, output=20, cache_read=60))
    mirror.fit(TURN)
    assert mirror.session.spending.usage.cache_read == 60
    assert len(mirror.session.view()) == len(TURN)


def test_what_is_over_the_budget_is_left_out_and_explained() -> None:
    mirror = mirror_of("memory:", window=400)
    long = [message for n in range(60) for message in (user(f"Question {n}?"), said(f"Answer {n}."))]
    shown = mirror.fit([*long, user("The last one?")], instructions="Be brief.")
    assert 0 < len(shown.messages) < 60 and shown.messages[-1] == user("The last one?")
    assert shown.context.receipt.tokens <= 400
    assert mirror.session.receipts[-1].entries[1].fate == "left out"


def test_items_of_other_sections_are_written() -> None:
    session = Session.open("acme/one", store="memory:")
    clock = Custom("clock", lambda ask: [Message("user", "It is noon.")])
    mirror = Mirror(session, Template(History(), clock, budget=Budget(window=1_000)), ChatCodec())
    assert mirror.fit(TURN).messages == [*TURN, user("It is noon.")]


def test_what_was_redacted_is_not_sent() -> None:
    from msgspec.structs import replace

    def redact(item: Any) -> Any:
        return replace(item, content="[secret]") if isinstance(item, Message) else item

    assert mirror_of("memory:", redact=redact).fit([user("My key is 42.")]).messages == [user("[secret]")]


def test_what_summaries_of_summaries_tell_can_be_taken_back() -> None:
    gist = Scripted(["So far: orders."] * 40)
    mirror = mirror_of("memory:", compactor=Summarize(floor=4, ceiling=8), model=gist)
    chat = [message for n in range(20) for message in (user(f"Question {n}?"), said(f"Answer {n}."))]
    for stop in range(1, len(chat), 4):
        mirror.fit(chat[:stop])
    assert any(isinstance(item, Summary) for item in mirror.session.view())
    corrected = [user("Another beginning."), *chat[1:]]
    assert mirror.fit(corrected).context.explain(mirror.session.view()[-1]).fate == "shown"
    mirror.follow([])
    assert not [item for item in mirror.session.view() if not isinstance(item, Message)]


def test_a_message_that_was_changed_in_place_is_recorded_as_it_is_sent() -> None:
    mirror = mirror_of("memory:")
    chat = [user("My card is 4111."), said("Thanks.")]
    mirror.fit([*chat, user("Is it valid?")])
    chat[0]["content"] = "My card is ****."
    sent = mirror.fit([*chat, user("Is it valid?")]).messages
    shown = [str(getattr(item, "content", "")) for item in mirror.session.receipts[-1].items]
    assert sent[0]["content"] == "My card is ****." and "My card is ****." in shown
    assert "My card is 4111." not in shown


def test_a_piece_that_is_read_back_fits_a_small_window() -> None:
    mirror = mirror_of("memory:", window=800, compactor=Offload())
    chat = [user("Which?"), called("c1"), found("c1", "three orders " * 2_000)]
    stub = mirror.fit(chat).messages[-1]["content"]
    handle = next(word for word in stub.replace(",", " ").split() if word.startswith("output-"))
    piece = mirror.read_back(handle)
    sent = mirror.fit([*chat, called("c2"), found("c2", piece)]).messages
    assert sent[-1]["content"] == piece
    wrong: Any = None
    assert "handle" in mirror.read_back(wrong) and "output-1" in mirror.read_back("output-1")


@st.composite
def histories(draw: st.DrawFn) -> list[list[Chat]]:
    """Lists that a framework has one after the other: they grow, are cut, and are rewritten."""
    number = count()
    chat: list[Chat] = []
    lists: list[list[Chat]] = []
    for _ in range(draw(st.integers(1, 6))):
        match draw(st.integers(0, 5)):
            case 0:
                del chat[draw(st.integers(0, len(chat))) :]
            case 1 if chat:
                chat[draw(st.integers(0, len(chat) - 1))] = user(f"edited {next(number)}")
            case 2:
                ids = [f"c{next(number)}" for _ in range(draw(st.integers(1, 3)))]
                chat += [called(*ids), *(found(one) for one in ids if draw(st.booleans()))]
            case 3:
                chat += [said(f"answer {next(number)}")]
            case _:
                chat += [user(f"question {next(number)}"), said(f"answer {next(number)}")]
        chat += [user(f"and {next(number)}?")]
        lists.append(list(chat))
    return lists


@pytest.mark.laws
@given(lists=histories(), reopens=st.lists(st.booleans(), min_size=6, max_size=6))
def test_any_list_is_followed(lists: list[list[Chat]], reopens: list[bool]) -> None:
    """What is sent is valid, shows what the list shows, and the log holds all that ever was in a list."""
    store = MemoryStore()
    mirror = mirror_of(store)
    for messages, reopened in zip(lists, reopens, strict=False):
        mirror = mirror_of(store) if reopened else mirror
        sent = mirror.fit(messages).messages
        assert not faults(sent)
        if not faults(messages):
            assert sent == messages
        texts = [one["content"] for one in messages if one["role"] == "user"]
        assert [one["content"] for one in sent if one["role"] == "user"] == texts
    recorded = {str(getattr(item, "content", "")) for item in mirror.session.view().recorded()}
    assert {one["content"] for messages in lists for one in messages} - recorded <= {""}
