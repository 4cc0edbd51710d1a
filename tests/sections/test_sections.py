"""What the documentation promises of each section, and of content that becomes items."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from quire.errors import InvalidLimit, InvalidValue, UnknownKey, WrongType
from quire.items import Hide, Image, Item, Message, Note, Pin, Reasoning, Span, Summary, ToolCall, ToolResult
from quire.sections import (
    Additional,
    Ask,
    Catalogue,
    Custom,
    History,
    Inbox,
    Input,
    Instructions,
    Pooled,
    Settings,
    ToolGuide,
    choosing,
    items_of,
    settings_of,
)
from quire.state import Pool, Transcript, View, is_user_message
from quire.tokens import Definition, Share
from tests.sections.asking import INBOX, asked, items_from

LOOK: Definition = {"name": "look", "description": "Look it up.\nSlowly."}
ADD: Definition = {"type": "function", "function": {"name": "add"}}
SEARCH: Definition = {"type": "web_search"}
POOL = Pool(
    [Note("up", key="q3", description="revenue\nof Q3"), Note("flat", key="q2"), Note("x", key="q3-draft")]
)


def talk(*extra: Item) -> Transcript:
    items: list[Item] = [
        Message("system", "Be brief.", id="s"),
        Message("user", "First?", id="u1"),
        ToolCall("c1", "look", id="c1"),
        ToolResult("c1", "look", "seen", id="r1"),
        Message("assistant", "So.", id="a1"),
        Message("user", "Second?", id="u2"),
        Message("assistant", "Let me see.", id="a2"),
        ToolCall("c2", "look", id="c2"),
        ToolResult("c2", "look", "seen too", id="r2"),
    ]
    return Transcript([*(replace(item, created_at=0.0) for item in items), *extra])


def ids(history: History, transcript: Transcript, input_id: str | None = None) -> list[str]:
    view = transcript.view
    given = None if input_id is None else view.get(input_id)
    return [item.id for item in items_from(history, Ask(views={"main": view}, input=given))]


def texts(items: Any) -> list[str]:
    return [item.text for item in items if isinstance(item, Message)]


def test_a_whole_history_is_the_view_itself() -> None:
    view = talk().view
    for history in (History(), History(messages=100), History(turns=2)):
        assert asked(history, Ask(views={"main": view})) is view
    assert asked(History("side"), Ask(views={"side": view, "main": talk().view})) is view


def is_reply(item: Item) -> bool:
    return isinstance(item, Message) and item.role == "assistant"


@pytest.mark.parametrize(
    ("history", "shown"),
    [
        (History(messages=1), "s u2 a2 c2 r2"),
        (History(messages=5), "s a1 u2 a2 c2 r2"),
        (History(messages=6), "s c1 r1 a1 u2 a2 c2 r2"),
        (History(where=lambda item: not isinstance(item, ToolCall | ToolResult)), "s u1 a1 u2"),
        (History(where=is_reply), "a1 u2"),
        (History(where=lambda item: item.id != "r2", turns=1), "s u2"),
        (History(transform=lambda item: None if item.id == "r1" else item), "s u1 a1 u2 a2 c2 r2"),
        (History(transform=lambda item: None if item.id in ("c2", "r2") else item), "s u1 c1 r1 a1 u2 a2"),
        (History(transform=lambda i: ToolCall("o", "x") if i.id == "c1" else i), "s u1 a1 u2 a2 c2 r2"),
    ],
)
def test_a_limited_or_filtered_history_has_whole_groups(history: History, shown: str) -> None:
    assert " ".join(ids(history, talk())) == shown


def test_the_last_turns_with_pins_summaries_and_pending_calls() -> None:
    transcript = talk(
        Pin("a1"),
        ToolCall("c3", "slow", id="c3"),
        Message("user", "Third?", id="u3"),
        Message("assistant", "a"),
    )
    assert ids(History(turns=1), transcript)[:-1] == ["s", "a1", "c3", "u3"]
    transcript.append(ToolResult("c3", "slow", "at last", id="r3"))
    assert ids(History(turns=1), transcript)[:4] == ["s", "a1", "c3", "u3"]
    transcript.append(Message("user", "Fourth?", id="u4"))
    assert ids(History(turns=1), transcript) == ["s", "a1", "u4"]
    transcript.append(Summary("gist", (Span("u1", "r1"),), id="gist"))
    assert ids(History(turns=1), transcript) == ["s", "gist", "a1", "u4"]


def test_a_transform_keeps_ids_and_times() -> None:
    def louder(item: Item) -> Item | None:
        if isinstance(item, Reasoning):
            return None
        return Message(item.role, item.text.upper()) if isinstance(item, Message) else item

    transcript = talk(Reasoning("hm", id="t"), Message("assistant", "Done.", id="a3"))
    view = transcript.view
    items = items_from(History(transform=louder), Ask(views={"main": view}))
    assert [item.id for item in items] == [item.id for item in view if item.id != "t"]
    last = items[-1]
    assert isinstance(last, Message) and last.content == "DONE." and last.created_at == view[-1].created_at


def test_the_input_is_left_out_while_nothing_follows_it() -> None:
    history, transcript = History().without_input(), talk(Message("user", "Third?", id="u3"))
    view = transcript.view
    content = asked(history, Ask(views={"main": view}, input=view[-1]))
    assert isinstance(content, View) and list(content) == view[:-1] and len(view) == 10
    transcript.append(ToolCall("c3", "look", id="c3"))
    assert ids(history, transcript, "u3")[-2:] == ["u3", "c3"]
    assert ids(history, transcript)[-1] == "c3"


def test_the_input_is_left_out_after_an_edit_and_of_what_is_cut() -> None:
    transcript = talk(ToolCall("c3", "slow", id="c3"), Message("user", "Third?", id="u3"))
    content = asked(
        History().without_input(), Ask(views={"main": transcript.view}, input=transcript.get("u3"))
    )
    assert isinstance(content, View) and [call.id for call in content.pending()] == ["c3"]
    assert ids(History(turns=1).without_input(), transcript, "u3") == ["s", "c3"]
    assert ids(History(turns=2).without_input(), transcript, "u3") == ["s", "u2", "a2", "c2", "r2", "c3"]
    transcript.append(Hide((Span("u1", "r1"),)))
    assert ids(History().without_input(), transcript, "u3") == ["s", "a1", "u2", "a2", "c2", "r2", "c3"]
    assert ids(History(where=is_user_message).without_input(), transcript, "u3") == ["u2"]
    assert ids(History(where=is_reply).without_input(), transcript, "u3") == ["a1"]


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: History(messages=1, turns=1), InvalidValue),
        (lambda: History(messages=0), InvalidLimit),
        (lambda: History(keeps="first"), InvalidValue),
        (lambda: History(where=cast(Any, "user")), WrongType),
        (lambda: asked(History("side"), Ask(views={"main": talk().view})), UnknownKey),
        (
            lambda: asked(History(transform=cast(Any, lambda i: "x")), Ask(views={"main": talk().view})),  # pyright: ignore
            WrongType,
        ),
        (lambda: asked(History(transform=lambda i: Pin("s")), Ask(views={"main": talk().view})), WrongType),
        (lambda: Instructions(" \n"), InvalidValue),
        (lambda: Instructions(cast(Any, 3)), WrongType),
        (lambda: Input(required=False), InvalidValue),
        (lambda: Inbox("us", limit=0), InvalidLimit),
        (lambda: Catalogue(role=cast(Any, "assistant")), InvalidValue),
        (lambda: Pooled(["q2"], select=lambda catalogue, ask: []), InvalidValue),
        (lambda: Pooled("q2"), WrongType),
        (lambda: Custom("time", cast(Any, "now")), WrongType),
        (lambda: ToolGuide(cast(Any, 3)), WrongType),
        (lambda: asked(Additional(cast(Any, lambda *_: None)), Ask()), WrongType),  # pyright: ignore
        (lambda: Ask(views=cast(Any, {"main": []})), WrongType),
        (lambda: settings_of(SimpleNamespace(name="x")), WrongType),
        (lambda: settings_of(SimpleNamespace(name="", items=asked)), InvalidValue),
        (lambda: Settings("x", stability=cast(Any, "firm")), InvalidValue),
        (lambda: Settings("x", keeps=cast(Any, "last")), InvalidValue),
        (lambda: Settings("x", share=cast(Any, 0.3)), WrongType),
    ],
)
def test_wrong_arguments_are_refused(wrong: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        wrong()


def test_instructions_are_the_same_in_every_turn_and_run() -> None:
    section = Instructions("Be brief.")
    assert asked(section, Ask()) is asked(section, Ask(scope="other")) and section.stability == "static"
    (item,) = items_from(section, Ask())
    assert isinstance(item, Message) and (item.role, item.text) == ("system", "Be brief.")
    assert items_from(Instructions("Be brief."), Ask()) == [item] and item.id.startswith("instructions/")
    own = Message("developer", "Mine.")
    assert items_from(Instructions([own, {"role": "system", "content": "Theirs."}]), Ask())[0] is own


def test_a_guide_lists_the_tools_and_stays_the_same_while_they_do() -> None:
    guide = ToolGuide()
    assert items_from(guide, Ask()) == []
    first = asked(guide, Ask(tools=[LOOK, ADD, SEARCH]))
    assert texts(first) == ["You may use these tools:\n- add\n- look: Look it up.\n- web_search"]
    assert asked(guide, Ask(tools=[SEARCH, dict(ADD), LOOK])) is first
    assert asked(guide, Ask(tools=[LOOK])) is not first
    assert texts(items_from(ToolGuide("With care."), Ask(tools=[ADD]))) == ["With care."]
    called: list[int] = []

    async def describe(tools: Any) -> str:
        called.append(len(tools))
        return f"There are {len(tools)}."

    own = ToolGuide(describe)
    assert [texts(items_from(own, Ask(tools=[ADD, LOOK]))) for _ in range(3)] == [["There are 2."]] * 3
    assert called == [2]


def test_additions_are_constant_or_the_result_of_a_function() -> None:
    static = Additional("Closed today.")
    assert static.stability == "static" and asked(static, Ask()) is asked(static, Ask())

    async def preferences(scope: str, conversation: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        await asyncio.sleep(0)
        parameters["currency"] = "EUR"
        return [{"role": "system", "content": {"text": f"{scope}: EUR", "type": "text"}}]

    section, ask = Additional(preferences, "preferences"), Ask(scope="ana", conversation="q3")
    assert texts(asyncio.run(section.items(ask))) == ["ana: EUR"] and ask.parameters == {"currency": "EUR"}
    custom = Custom("time", lambda ask: [{"role": "user", "content": f"{ask.now:g}"}])
    assert texts(items_from(custom, Ask(now=7))) == ["7"] and section.stability == "volatile"


def test_the_inbox_is_by_priority_then_age_and_the_input_is_itself() -> None:
    assert texts(items_from(Inbox("us"), Ask(inbox=INBOX, now=5.0))) == ["first", "soon", "whenever"]
    assert texts(items_from(Inbox("us"), Ask(inbox=INBOX, now=4.9)))[0] == "late"
    assert texts(items_from(Inbox("us", limit=1), Ask(inbox=INBOX, now=60.0))) == ["first"]
    assert len(items_from(Inbox(), Ask(inbox=INBOX, now=5.0))) == 4
    message = Message("user", "And now?")
    assert items_from(Input(), Ask(input=message)) == [message] and items_from(Input(), Ask()) == []
    assert items_from(Input(), Ask(input=ToolResult("c", "ask_user", "yes"))) == []


def test_a_catalogue_and_notes_by_key_or_selector() -> None:
    (catalogue,) = items_from(Catalogue(), Ask(pool=POOL))
    assert texts([catalogue])[0].splitlines()[1:] == ["- [q3] revenue of Q3", "- [q2]", "- [q3-draft]"]
    assert items_from(Catalogue(), Ask()) == []

    def keys(section: Pooled, pool: Pool = POOL) -> list[str | None]:
        return [item.key for item in items_from(section, Ask(pool=pool)) if isinstance(item, Note)]

    assert keys(Pooled()) == ["q3", "q2", "q3-draft"] and keys(Pooled(), Pool()) == []
    assert keys(Pooled(["q2", "gone", "q3", "q2"])) == ["q2", "q3"]
    assert keys(Pooled(select=lambda catalogue, ask: ("q3", "lost"))) == ["q3"]


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ("q2\nq3\n", ["q2", "q3"]),
        ("- q2\n* `q3`", ["q2", "q3"]),
        ("1. q2\n2) q3", ["q2", "q3"]),
        ("Q3; Q2.", ["q3", "q2"]),
        ('["q2", "q3-draft", "other"]', ["q2", "q3-draft"]),
        ('```json\n["q2"]\n```', ["q2"]),
        ("[q3-draft] and [q2]", ["q3-draft", "q2"]),
        ("q3: it has the revenue\nq2 (to compare)", ["q3", "q2"]),
        ("I would look at q3-draft before q2 I think", ["q3-draft", "q2"]),
        ("none", []),
        ("", []),
        ("q33 and xq2", []),
    ],
)
def test_a_model_chooses_notes_from_the_catalogue(answer: str, named: list[str]) -> None:
    prompts: list[str] = []

    async def model(prompt: str) -> str:
        prompts.append(prompt)
        return answer

    ask = Ask(pool=POOL, input=Message("user", "How was {catalogue} Q3?"))
    notes = asked(Pooled(select=choosing(model)), ask)
    assert [note.key for note in notes] == named
    assert POOL.catalogue() in prompts[0] and "How was {catalogue} Q3?" in prompts[0]
    assert len(asked(Pooled(select=choosing(model, limit=1)), ask)) <= 1


def test_content_in_all_its_shapes_becomes_messages() -> None:
    picture, part = Image(url="https://example.com/a.png"), {"text": "hi", "type": "text"}
    shapes: list[Any] = ["hi", part, [part], ["hi"], {"text": "hi"}, [part, picture, "more"], picture]
    items = items_of([{"role": "user", "content": one} for one in shapes], "s")
    found = [item.content for item in items if isinstance(item, Message)]
    assert found == ["hi"] * 5 + [("hi", picture, "more"), (picture,)]
    note = Note(1, key="k")
    assert items_of(iter([note]), "s") == (note,) and items_of([], "s") == ()


def test_the_same_content_is_the_same_item() -> None:
    entry = {"role": "system", "content": "Be brief."}
    first, second = items_of([entry, entry], "a")
    assert items_of([dict(entry)], "a") == (first,) and second.id == f"{first.id}#2"
    others = [{**entry, "role": "user"}, {**entry, "content": ["Be", "brief."]}]
    assert len({item.id for item in (*items_of([entry, *others], "a"), *items_of([entry], "b"))}) == 4


def test_calls_and_results_in_dictionaries() -> None:
    call: dict[str, Any] = {
        "id": "c1",
        "type": "function",
        "function": {"name": "look", "arguments": '{"a":1}'},
    }
    entries: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": {"text": "seen", "type": "text"}},
        {"role": "assistant", "content": "So.", "tool_calls": []},
    ]
    items = items_of(entries, "s")
    assert [type(item) for item in items] == [ToolCall, ToolResult, Message]
    assert isinstance(items[0], ToolCall) and items[0].arguments == '{"a":1}'
    assert isinstance(items[1], ToolResult) and (items[1].name, items[1].content) == ("look", "seen")


@pytest.mark.parametrize(
    ("content", "fault"),
    [  # pyright: ignore
        (None, "section 's' must return a list of items, not NoneType"),
        ([3], r"section 's', \[0\]: expected an item or a dictionary with a role, not int"),
        ([Note(1), {"content": "x"}], r"section 's', \[1\]: the role must be"),
        ([{"role": "user"}], r"\[0\]: content must be a text"),
        ([{"role": "user", "content": []}], "the content is an empty list"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "'image_url' must be given as an Image"),
        ([Pin("x")], "Pin is recorded in a transcript"),
        ([{"role": "tool", "content": "x"}], "tool_call_id must be a non-empty text"),
        ([{"role": "user", "content": "x", "tool_calls": [{}]}], "in a message of the assistant"),
        ([{"role": "assistant", "content": "x", "tool_calls": "c"}], "tool_calls must be a list"),
        ([{"role": "assistant", "tool_calls": [{"id": "c", "function": 1}]}], "a tool call must be"),
        ([{"role": "assistant", "tool_calls": [{"id": "c", "name": "n", "arguments": {}}]}], "JSON text"),
    ],
)
def test_wrong_content_names_the_section_and_the_index(content: object, fault: str) -> None:
    with pytest.raises((WrongType, InvalidValue), match=fault):
        items_of(content, "s")


def test_a_section_may_have_its_settings_as_attributes() -> None:
    plain = settings_of(SimpleNamespace(name="mine", items=asked))
    assert (plain.name, plain.enabled, plain.required, plain.stability) == ("mine", True, True, "volatile")
    said = SimpleNamespace(name="m", items=asked, enabled=False, stability="slow", share=Share(minimum=3))
    assert vars(settings_of(said)) == vars(
        Settings("m", enabled=False, stability="slow", share=Share(minimum=3))
    )
