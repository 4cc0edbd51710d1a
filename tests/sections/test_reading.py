"""Dictionaries with a role and content as items, and sections of people who inherit nothing."""

from types import SimpleNamespace
from typing import Any

import pytest

from quire.errors import InvalidValue, WrongType
from quire.items import Image, Message, Note, Pin, ToolCall, ToolResult
from quire.sections import Instructions, Settings, items_of, settings_of
from quire.tokens import Share


def contents(*content: Any) -> list[Any]:
    items = items_of([{"role": "user", "content": one, "phase": "x"} for one in content], "s")
    return [item.content for item in items if isinstance(item, Message)]


def test_content_in_all_the_shapes_people_write_it_in() -> None:
    picture = Image(url="https://example.com/a.png")
    part = {"text": "hi", "type": "text"}
    assert contents("hi", part, [part], ["hi"], {"text": "hi"}) == ["hi"] * 5
    assert contents([part, picture, "more"], picture) == [("hi", picture, "more"), (picture,)]


def test_the_same_content_is_the_same_item_and_what_comes_again_is_numbered() -> None:
    entry = {"role": "system", "content": "Be brief."}
    once, again = items_of([entry], "a"), items_of([dict(entry)], "a")
    assert once == again and once[0].created_at == 0.0
    assert once[0].id.startswith("a/") and items_of([entry], "b")[0].id.startswith("b/")
    first, second = items_of([entry, entry], "a")
    assert first == once[0] and second.id == f"{first.id}#2"
    others = [
        {**entry, "role": "user"},
        {**entry, "content": ["Be", "brief."]},
        {**entry, "content": "\ud800"},
    ]
    assert len({item.id for item in items_of([entry, *others], "a")}) == 4


def test_items_stay_as_they_are() -> None:
    note, message = Note(1, key="k"), Message("user", "hi")
    assert items_of((note, message), "s") == (note, message)
    assert items_of([note, {"role": "user", "content": "x"}], "s")[0] is note
    assert items_of(iter([message]), "s") == (message,) and items_of([], "s") == ()


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


WRONG: list[tuple[Any, str]] = [
    (None, "section 's' gives a list of items, not NoneType"),
    ("text", "gives a list of items, not str"),
    ({"role": "user", "content": "x"}, "gives a list of items, not dict"),
    (Message("user", "x"), "gives a list of items, not Message"),
    ([3], r"section 's', \[0\]: expected an item or a dictionary with a role, not int"),
    ([Note(1), {"content": "x"}], r"section 's', \[1\]: the role is none of system"),
    ([{"role": ["user"], "content": "x"}], "the role is none of"),
    ([{"role": "user"}], r"\[0\]: content is a text, .* not nothing"),
    ([{"role": "user", "content": []}], "the content is an empty list"),
    ([{"role": "user", "content": {"type": "text"}}], "the text of a part is a text, not nothing"),
    ([{"role": "user", "content": [{"type": "image_url"}]}], "'image_url' is given as an Image"),
    ([{"role": "user", "content": b"x"}], "not bytes"),
    ([Pin("x")], "Pin is recorded in a transcript"),
    ([{"role": "tool", "content": "x"}], "tool_call_id is a text"),
    ([{"role": "user", "content": "x", "tool_calls": [{}]}], "belong to the role assistant"),
    ([{"role": "assistant", "content": "x", "tool_calls": "c"}], "tool_calls is a list"),
    ([{"role": "assistant", "content": "x", "tool_calls": [1]}], "a tool call is a dictionary"),
    ([{"role": "assistant", "tool_calls": [{"id": "c", "function": 1}]}], "function of a tool call"),
    ([{"role": "assistant", "tool_calls": [{"id": "c", "name": "n", "arguments": {}}]}], "JSON text"),
]


@pytest.mark.parametrize(("content", "fault"), WRONG)
def test_wrong_shapes_name_the_section_and_the_place(content: object, fault: str) -> None:
    with pytest.raises((WrongType, InvalidValue), match=fault):
        items_of(content, "s")


async def nothing(ask: object) -> list[object]:
    return []


def test_a_section_says_what_it_is_by_attributes_or_not_at_all() -> None:
    plain = settings_of(SimpleNamespace(name="mine", items=nothing))
    assert (plain.name, plain.enabled, plain.required, plain.stability) == ("mine", True, True, "volatile")
    said = SimpleNamespace(name="m", items=nothing, enabled=False, stability="slow", share=Share(minimum=3))
    assert vars(settings_of(said)) == vars(
        Settings("m", enabled=False, stability="slow", share=Share(minimum=3))
    )
    own = Instructions("x")
    assert settings_of(own) is own and repr(own) == "<Instructions 'instructions'>"


@pytest.mark.parametrize(
    ("attributes", "fault"),
    [
        ({"items": nothing}, "a section has a name and items"),
        ({"name": "x"}, "a section has a name and items"),
        ({"name": "x", "items": []}, "a section has a name and items"),
        ({"name": "", "items": nothing}, "the name of a section is empty"),
        ({"name": 3, "items": nothing}, "the name of a section is a text"),
        ({"name": "x", "items": nothing, "enabled": "yes"}, "enabled is true or false, not str"),
        ({"name": "x", "items": nothing, "required": None}, "required is true or false"),
        ({"name": "x", "items": nothing, "stability": "firm"}, "static, slow or volatile"),
        ({"name": "x", "items": nothing, "keeps": "last"}, "keeps the first or the newest"),
        ({"name": "x", "items": nothing, "share": 0.3}, "is a Share, not float"),
    ],
)
def test_a_section_that_says_it_wrongly_is_refused(attributes: dict[str, Any], fault: str) -> None:
    with pytest.raises((WrongType, InvalidValue), match=fault):
        settings_of(SimpleNamespace(**attributes))
