"""Law 13 where there is much of a kind: calls in parallel, tools, images, bytes."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from quire.errors import Downgraded, InvalidValue
from quire.items import File, Image, Item, Message, Part, ToolCall, ToolResult
from quire.providers import PROVIDERS
from quire.state import Transcript
from tests.providers.conversations import MODELS, PNG

pytestmark = pytest.mark.laws

WIRES = st.sampled_from([(wire, model) for wire, models in MODELS.items() for model in models])
FEW = settings(max_examples=30, deadline=None)
MB = 1_000_000
CLAUDES = [None, "claude-sonnet-4-5", "claude-opus-4-8", "claude-next-9", "some-proxy/name"]
ANTHROPIC = PROVIDERS["anthropic"]


def photo(megabytes: float) -> Image:
    return Image(data=PNG + b"\0" * int(megabytes * MB))


def pdf(megabytes: float) -> File:
    return File(data=b"%PDF-1.7" + b"\0" * int(megabytes * MB), name="a.pdf")


@FEW
@given(WIRES, st.integers(1, 400), st.sampled_from(["all", "some", "media"]), st.booleans(), st.booleans())
def test_any_number_of_calls_at_once(
    wire: tuple[str, str | None], count: int, answered: str, speaks: bool, goes_on: bool
) -> None:
    provider, model = PROVIDERS[wire[0]], wire[1]
    items: list[Item] = [Message("user", "Go.")]
    items += [Message("assistant", "Looking.")] if speaks else []
    items += [ToolCall(f"c{n}", "look_up", "{}") for n in range(count)]
    for n in range(0, count, 1 if answered != "some" else 3):
        items.append(ToolResult(f"c{n}", "look_up", ("seen", photo(0)) if answered == "media" else "seen"))
    items += [Message("user", "And?"), ToolCall("z", "look_up", "{}")] if goes_on else []
    for given_items in (items, Transcript(items).view):
        rendered = provider.render(given_items, model=model)
        assert provider.check(rendered.payload, model) == []
        assert str(rendered.payload).count("Looking.") == speaks


def test_calls_beyond_a_message_are_in_the_next_with_their_results() -> None:
    items: list[Item] = [Message("user", "Go."), *(ToolCall(f"c{n}", "look_up", "{}") for n in range(300))]
    items += [ToolResult(f"c{n}", "look_up", str(n)) for n in range(300)]
    sent = PROVIDERS["openai"].render(items, strict=True).payload["messages"]
    calls = [len(message["tool_calls"]) for message in sent if "tool_calls" in message]
    assert calls == [128, 128, 44]
    assert [message["content"] for message in sent if message["role"] == "tool"] == [*map(str, range(300))]
    again = PROVIDERS["openai"].render(PROVIDERS["openai"].read_history(sent)).payload["messages"]
    assert again == sent


@pytest.mark.parametrize(("wire", "most"), [("openai", 128), ("gemini", 512)])
def test_more_tools_than_a_wire_takes_are_an_error_that_names_the_limit(wire: str, most: int) -> None:
    tools: list[dict[str, Any]] = [{"name": f"t{n}"} for n in range(most + 1)]
    rendered = PROVIDERS[wire].render([Message("user", "Go.")], tools=tools[:most])
    assert PROVIDERS[wire].check(rendered.payload) == []
    for _ in range(2):
        with pytest.raises(InvalidValue, match=f"{most + 1} .* at most {most}"):
            PROVIDERS[wire].render(Transcript([Message("user", "Go.")]).view, tools=tools)


@pytest.mark.parametrize("model", CLAUDES)
@pytest.mark.parametrize(
    "parts", [(photo(8),), (pdf(40),), (photo(3.5),) * 8, (pdf(9),) * 4, (photo(0),) * 650]
)
def test_media_beyond_the_limits_of_anthropic_are_noted_or_refused(
    model: str | None, parts: tuple[Part, ...]
) -> None:
    for items in heavy(parts):
        rendered = ANTHROPIC.render(items, model=model)
        assert ANTHROPIC.check(rendered.payload, model) == []
        assert "media_as_text" in {downgrade.change for downgrade in rendered.downgrades}
        with pytest.raises(Downgraded):
            ANTHROPIC.render(items, model=model, strict=True)


def heavy(parts: tuple[Part, ...]) -> list[list[Item]]:
    """The same media at once, one by one, and from a tool."""
    alone: list[Item] = [Message("user", ("See:", part)) for part in parts]
    call = ToolCall("c1", "look_up", "{}")
    tool: list[Item] = [Message("user", "Go."), call, ToolResult("c1", "look_up", parts)]
    return [[Message("user", ("See:", *parts))], alone, tool]


@pytest.mark.parametrize("name", [None, "claude-next-9"])
def test_what_is_rendered_for_no_known_model_is_taken_by_any(name: str | None) -> None:
    items: list[Item] = [Message("user", ("See:", *(photo(0),) * 150))]
    payload = ANTHROPIC.render(items, model=name).payload
    for model in CLAUDES:
        assert ANTHROPIC.check(payload, model) == []


def test_the_newest_media_are_those_that_stay() -> None:
    parts: list[Part] = [photo(3.5), pdf(3.5)] * 4
    items: list[Item] = [Message("user", (str(n), part)) for n, part in enumerate(parts)]
    (turn,) = ANTHROPIC.render(items, model="claude-opus-4-8").payload["messages"]
    kinds = [block["type"] for block in turn["content"][1::2]]
    assert kinds == ["text", "text", "text", "document", "image", "document", "image", "document"]
    assert turn["content"][3]["text"] == "[file a.pdf]"


@FEW
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=9), st.sampled_from(CLAUDES))
def test_any_sum_of_media_is_within_a_request(sizes: list[tuple[bool, int]], model: str | None) -> None:
    items: list[Item] = [Message("user", ("See:", (photo if seen else pdf)(size))) for seen, size in sizes]
    rendered = ANTHROPIC.render(items, model=model)
    assert ANTHROPIC.check(rendered.payload, model) == []
