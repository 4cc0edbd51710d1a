"""Messages: blocks that are kept as they came are weighed, counted, checked and settled as all others are."""

from base64 import b64encode
from typing import Any

import pytest

from quire.errors import Downgraded
from quire.items import File, Item, Message
from quire.providers import Anthropic, Rendered
from tests.providers.anthropic.histories import BOUND
from tests.providers.anthropic.test_writing import TOOL, assistant, result, text, use

WIRE = Anthropic()
NEWER, SMALL = "claude-opus-4-8", "claude-sonnet-4-5"
PNG = b"\x89PNG\r\n\x1a\n"
Json = dict[str, Any]


def picture(data: bytes = PNG, kind: str = "image/png") -> Json:
    source = {"type": "base64", "media_type": kind, "data": b64encode(data).decode()}
    return {"type": "image", "source": source}


def holding(*parts: Json) -> Json:
    return {"type": "document", "source": {"type": "content", "content": list(parts)}}


def said(*blocks: Json) -> list[Json]:
    return [{"role": "user", "content": [*blocks, text("Go.")]}]


def given(*blocks: Json) -> list[Json]:
    return [
        {"role": "user", "content": [text("Go.")]},
        assistant(use("t1")),
        {"role": "user", "content": [result("t1", list(blocks))]},
    ]


def rendered(history: list[Json], model: str = NEWER, *more: Item, **options: Any) -> Rendered:
    items = [*WIRE.read_history(history, model=model), *more]
    made = WIRE.render(items, model=model, tools=[TOOL], **options)
    assert WIRE.check(made.payload, model) == []
    return made


def changes(made: Rendered) -> list[str]:
    return [downgrade.change for downgrade in made.downgrades]


@pytest.mark.parametrize("place", [said, given])
def test_documents_of_pictures_are_weighed(place: Any) -> None:
    heavy = holding(*[picture(PNG + b"\0" * 3_500_000)] * 4)
    assert changes(rendered(place(heavy, heavy), SMALL)) == ["media_as_text"]


@pytest.mark.parametrize("place", [said, given])
def test_pictures_in_documents_are_counted(place: Any) -> None:
    many = holding(*[picture()] * 60)
    made = rendered(place(many, many), SMALL)
    assert str(made.payload).count("'image'") == 60
    assert changes(made) == ["media_as_text"]


@pytest.mark.parametrize("place", [said, given])
@pytest.mark.parametrize(
    "part",
    [
        picture(b"BM", "image/bmp"),
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "@@@"}},
        {"type": "image", "source": {"type": "url", "url": "ftp://x"}},
        picture(PNG + b"\0" * 9_000_000),
    ],
)
def test_a_document_with_a_picture_that_is_refused_is_put_in_words(place: Any, part: Json) -> None:
    history = place(holding(text("Rain."), part))
    assert "media_as_text" in changes(rendered(history))
    with pytest.raises(Downgraded):
        rendered(history, strict=True)


@pytest.mark.parametrize("place", [said, given])
def test_the_bytes_of_pictures_that_are_refused_are_no_words(place: Any) -> None:
    strange = holding(*[picture(b"BM" + b"\0" * 5_000_000, "image/bmp")] * 4)
    assert len(str(rendered(place(strange)).payload)) < 10_000


@pytest.mark.parametrize("place", [said, given])
def test_words_between_pictures_are_told_where_no_document_is_read(place: Any) -> None:
    held = {**holding(text("Rain."), picture(), text("Snow.")), "title": "Weather"}
    made = rendered(place(held), "deepseek-v4-pro")
    assert "[Weather]\\nRain.\\n[image]\\nSnow." in str(made.payload["messages"])
    assert changes(made) == ["media_as_text"]


@pytest.mark.parametrize("place", [said, given])
def test_what_libraries_leave_in_a_block_is_not_sent(place: Any) -> None:
    odd = {"index": 0, "extras": {"a": 1}, "id": "lc_1"}
    made = rendered(place({**FOUND, **odd}, {**holding(text("Rain.")), **odd}), strict=True)
    assert made.payload["messages"] == place(FOUND, holding(text("Rain.")))


def fetched(number: int, size: int = 13_000_000) -> Json:
    call_id = f"srvtoolu_{number}"
    source = {
        "type": "base64",
        "media_type": "application/pdf",
        "data": b64encode(b"%PDF" + b"\0" * size).decode(),
    }
    page = {
        "type": "web_fetch_result",
        "url": "https://a.test",
        "content": {"type": "document", "source": source},
    }
    return assistant(
        {"type": "server_tool_use", "id": call_id, "name": "web_fetch", "input": {"url": "https://a.test"}},
        {"type": "web_fetch_tool_result", "tool_use_id": call_id, "content": page},
        "Read.",
    )


@pytest.mark.parametrize("model", [NEWER, SMALL, BOUND])
def test_what_a_tool_of_the_provider_gave_is_weighed_and_the_oldest_goes(model: str) -> None:
    go = {"role": "user", "content": [text("Go.")]}
    made = rendered([go, fetched(1), go, fetched(2), go], model)
    turns = made.payload["messages"]
    assert turns[1] == assistant("[web_fetch]", "[web_fetch_tool_result]", "Read.")
    assert [block["type"] for block in turns[3]["content"]][:2] == [
        "server_tool_use",
        "web_fetch_tool_result",
    ]
    assert changes(made) == ["media_as_text"]
    assert changes(rendered([go, fetched(1, 1000), go], model)) == []


@pytest.mark.parametrize(
    "block", [{"type": "container_upload", "file_id": "f"}, {"type": "tool_reference", "tool_name": "gone"}]
)
def test_what_a_result_may_not_hold_is_put_in_words_and_that_is_noted(block: Json) -> None:
    made = rendered(given(block))
    assert isinstance(made.payload["messages"][2]["content"][0]["content"], str)
    assert changes(made) == ["media_as_text"]
    with pytest.raises(Downgraded, match="put in words"):
        rendered(given(block), strict=True)


def test_a_reference_to_a_tool_goes_back_in_a_result_that_is_no_error() -> None:
    history = given({"type": "tool_reference", "tool_name": TOOL["name"]})
    assert rendered(history, strict=True).payload["messages"] == history
    history[2]["content"][0]["is_error"] = True
    made = rendered(history)
    assert isinstance(made.payload["messages"][2]["content"][0]["content"], str)
    assert changes(made) == ["media_as_text"]


CITED: Json = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "Rain."},
    "citations": {"enabled": True},
}
PLAIN: Json = {name: value for name, value in CITED.items() if name != "citations"}
FOUND: Json = {"type": "search_result", "source": "s", "title": "t", "content": [text("Rain.")]}


def test_settings_of_documents_in_results_go_back() -> None:
    history = [*said(CITED), *given(text("Look:"), {**CITED, "context": "of today"})[1:]]
    made = rendered(history, strict=True)
    assert made.payload["messages"] == history
    assert made.downgrades == ()


@pytest.mark.parametrize(("first", "second"), [(CITED, PLAIN), (PLAIN, CITED)])
def test_citations_are_as_the_first_document_has_them(first: Json, second: Json) -> None:
    made = rendered([*said(first), *given(second)[1:]])
    settled = made.payload["messages"][2]["content"][0]["content"][0]["citations"]
    assert settled == {"enabled": first is CITED}
    assert made.payload["messages"][0]["content"][0] == first
    assert changes(made) == ["fields_left_out"]


def test_a_document_that_comes_later_changes_nothing_before_it() -> None:
    late = Message("user", ("See:", File(data=b"%PDF-1.7", name="b.pdf")))
    before, after = rendered(said(CITED)), rendered(said(CITED), NEWER, Message("assistant", "Ok."), late)
    assert after.payload["messages"][:1] == before.payload["messages"]


def test_search_results_are_settled_apart_from_documents() -> None:
    made = rendered(said(CITED, FOUND, {**FOUND, "citations": {"enabled": True}}))
    found = [block.get("citations") for block in made.payload["messages"][0]["content"][:3]]
    assert found == [{"enabled": True}, None, {"enabled": False}]
