"""What the documentation promises of each section, and of content that becomes items."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from quire.errors import InvalidValue, WrongType
from quire.items import (
    Hide,
    Image,
    Item,
    Mask,
    Message,
    Note,
    Pin,
    Reasoning,
    Span,
    ToolCall,
    ToolResult,
)
from quire.sections import (
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
    items_of,
    settings_of,
)
from quire.state import Pool, Transcript
from quire.testing.sections import INBOX
from quire.testing.templates import items_from
from quire.tokens import Definition, Share
from tests.sections.asking import asked

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


def is_reply(item: Item) -> bool:
    return isinstance(item, Message) and item.role == "assistant"


def test_a_limited_or_filtered_history_has_whole_groups() -> None:
    rows = {
        "s u2 a2 c2 r2": History(messages=1),
        "s a1 u2 a2 c2 r2": History(messages=5),
        "s c1 r1 a1 u2 a2 c2 r2": History(messages=6),
        "s u1 a1 u2": History(where=lambda item: not isinstance(item, ToolCall | ToolResult)),
        "a1 u2": History(where=is_reply),
        "s u2": History(where=lambda item: item.id != "r2", turns=1),
        "s u1 a1 u2 a2 c2 r2": History(transform=lambda item: None if item.id == "r1" else item),
        "u1 c1 r1 a1 u2 a2 c2 r2": History(transform=lambda item: None if item.id == "s" else item),
        "s u1 c1 r1 a1 u2": History(transform=lambda item: ToolCall("o", "x") if item.id == "c2" else item),
    }
    assert [" ".join(ids(history, talk())) for history in rows.values()] == list(rows)


def test_a_filter_sees_what_was_added_and_what_was_edited() -> None:
    transcript, seen = talk(), list[str]()

    def is_wanted(item: Item) -> bool:
        seen.append(item.id)
        return item.id != "r3"

    history = History(where=is_wanted)
    assert len(ids(history, transcript)) == len(seen) == 9
    transcript.extend([ToolCall("c3", "look", id="c3"), Message("user", "Third?", id="u3")])
    assert ids(history, transcript)[-2:] == ["c3", "u3"] and len(seen) == 11
    transcript.append(ToolResult("c3", "look", "late", id="r3"))
    assert ids(history, transcript)[-2:] == ["r2", "u3"] and len(seen) == 12, "the call goes with its result"
    transcript.append(Hide((Span("u1", "u1"),)))
    assert ids(history, transcript)[:2] == ["s", "c1"] and ids(history, transcript.fork())[0] == "s"
    transcript.append(Mask("r1", "[cut]"))
    seen.clear()
    assert ids(history, transcript)[:3] == ["s", "c1", "r1"] and seen == ["r1"]


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


def test_instructions_are_the_same_in_every_turn_and_run() -> None:
    section = Instructions("Be brief.")
    assert asked(section, Ask()) is asked(section, Ask(scope="other")) and section.stability == "static"
    assert items_from(Instructions("Be brief."), Ask()) == items_from(section, Ask())
    own = Message("developer", "Mine.")
    assert items_from(Instructions([own, {"role": "system", "content": "Theirs."}]), Ask())[0] is own


def test_a_guide_lists_the_tools_and_stays_the_same_while_they_do() -> None:
    guide = ToolGuide()
    assert items_from(guide, Ask()) == []
    first = asked(guide, Ask(tools=[LOOK, ADD, SEARCH]))
    assert texts(first) == [
        "You may use these tools:\n<tools>\n- add\n- look: Look it up.\n- web_search\n</tools>"
    ]
    assert asked(guide, Ask(tools=[SEARCH, dict(ADD), LOOK])) == first
    assert asked(guide, Ask(tools=[LOOK])) != first

    async def describe(tools: Any) -> str:
        return f"There are {len(tools)}."

    assert texts(items_from(ToolGuide(describe), Ask(tools=[ADD, LOOK]))) == ["There are 2."]
    assert items_from(ToolGuide(describe), Ask()) == []


def test_a_function_may_be_async_and_set_parameters() -> None:
    async def preferences(ask: Ask) -> list[dict[str, Any]]:
        await asyncio.sleep(0)
        ask.parameters["currency"] = "EUR"
        return [{"role": "system", "content": {"text": f"{ask.scope}: EUR", "type": "text"}}]

    section, ask = Custom("preferences", preferences), Ask(scope="ana")
    content = asyncio.run(section.items(ask))
    assert texts(items_of(content, "preferences")) == ["ana: EUR"] and ask.parameters == {"currency": "EUR"}
    custom = Custom("time", lambda ask: [{"role": "user", "content": f"{ask.now:g}"}])
    assert texts(items_from(custom, Ask(now=7))) == ["7"] and section.stability == "volatile"


def test_the_inbox_is_by_priority_then_age_and_the_input_is_itself() -> None:
    assert texts(items_from(Inbox("us"), Ask(inbox=INBOX, now=5.0))) == ["first", "soon", "whenever"]
    assert texts(items_from(Inbox("us"), Ask(inbox=INBOX, now=4.9)))[0] == "late"
    assert len(items_from(Inbox(), Ask(inbox=INBOX, now=5.0))) == 4
    message = Message("user", "And now?")
    assert items_from(Input(), Ask(input=message)) == [message] and items_from(Input(), Ask()) == []
    assert items_from(Input(), Ask(input=ToolResult("c", "ask_user", "yes"))) == []


def test_a_catalogue_and_notes_by_key_or_selector() -> None:
    (catalogue,) = items_from(Catalogue(), Ask(pool=POOL))
    assert texts([catalogue])[0].splitlines()[2:-1] == ["- [q3] revenue of Q3", "- [q2]", "- [q3-draft]"]
    assert items_from(Catalogue(), Ask()) == []

    def keys(section: Pooled, pool: Pool = POOL) -> list[str | None]:
        return [item.key for item in items_from(section, Ask(pool=pool)) if isinstance(item, Note)]

    assert keys(Pooled()) == ["q3", "q2", "q3-draft"] and keys(Pooled(), Pool()) == []
    assert keys(Pooled(["q2", "gone", "q3", "q2"])) == ["q2", "q3"]
    assert keys(Pooled(lambda catalogue, ask: ("q3", "lost"))) == ["q3"]


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


def test_wrong_content_names_the_section_and_the_index() -> None:
    call: dict[str, Any] = {"id": "c", "function": {"name": "n", "arguments": {}}}
    wrong: dict[str, Any] = {
        "section 's' must return a list of items, not NoneType": None,
        r"section 's', \[0\]: expected an item or a dictionary with a role, not int": [3],
        r"section 's', \[1\]: .* `role`": [Note(1), {"content": "x"}],
        r"\[0\]: content must be a text": [{"role": "user"}],
        "the content must not be an empty list": [{"role": "user", "content": []}],
        "'image_url' must be given as an Image": [{"role": "user", "content": [{"type": "image_url"}]}],
        "Pin is recorded in a transcript": [Pin("x")],
        "only a message of the assistant": [
            {"role": "user", "content": "x", "tool_calls": [{**call, "function": {"name": "n"}}]}
        ],
        r"tool_calls\[0\].function.arguments": [{"role": "assistant", "tool_calls": [call]}],
    }
    for fault, content in wrong.items():
        with pytest.raises((WrongType, InvalidValue), match=fault):
            items_of(content, "s")


def test_a_section_may_have_its_settings_as_attributes() -> None:
    plain = settings_of(SimpleNamespace(name="mine", items=asked))
    assert (plain.name, plain.enabled, plain.required, plain.stability) == ("mine", True, True, "volatile")
    said = SimpleNamespace(name="m", items=asked, enabled=False, stability="slow", share=Share(minimum=3))
    assert vars(settings_of(said)) == vars(
        Settings("m", enabled=False, stability="slow", share=Share(minimum=3))
    )
