"""Tools as any provider's clients are given them, on every wire."""

import json
from typing import Any

import pytest

from quire.errors import InvalidValue, WrongType
from quire.items import Message
from quire.providers import PROVIDERS, CachePlan, definitions
from quire.state import Transcript

ASKED = [Message("user", "look")]
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}


@pytest.mark.parametrize("field", ["function_declarations", "functionDeclarations"])
@pytest.mark.parametrize("wire", PROVIDERS)
def test_functions_in_one_entry_are_tools_of_every_wire(wire: str, field: str) -> None:
    functions: list[dict[str, Any]] = [{"name": "look", "parameters": SCHEMA}, {"name": "leave"}]
    rendered = PROVIDERS[wire].render(ASKED, tools=[{field: functions}])
    apart = PROVIDERS[wire].render(ASKED, tools=functions)
    assert rendered.payload == apart.payload and rendered.downgrades == ()
    assert '"look"' in json.dumps(rendered.payload) and '"leave"' in json.dumps(rendered.payload)
    assert PROVIDERS[wire].check(rendered.payload) == []


@pytest.mark.parametrize("wire", PROVIDERS)
def test_one_name_twice_is_refused_also_across_entries(wire: str) -> None:
    twice: list[dict[str, Any]] = [{"functionDeclarations": [{"name": "look"}]}, {"name": "look"}]
    with pytest.raises(InvalidValue, match="two tools are called 'look'"):
        PROVIDERS[wire].render(ASKED, tools=twice)


@pytest.mark.parametrize("wrong", ["look", {"name": "look"}, [["look"]], [{"functionDeclarations": "look"}]])
def test_what_is_no_list_of_definitions_is_refused(wrong: object) -> None:
    with pytest.raises(WrongType):
        PROVIDERS["openai"].render(ASKED, tools=wrong)  # type: ignore[arg-type]  # pyright: ignore


def definition(**properties: Any) -> list[dict[str, Any]]:
    return [{"name": "look", "parameters": {"type": "object", "properties": {"q": properties}}}]


ALL = [(wire, None) for wire in PROVIDERS] + [("anthropic", "claude-fable-5-1")]


@pytest.mark.parametrize(("wire", "model"), ALL)
def test_a_definition_that_is_changed_later_changes_nothing_that_was_handed_out(
    wire: str, model: str | None
) -> None:
    provider, transcript, tools = PROVIDERS[wire], Transcript(ASKED), definition(type="string")
    first = provider.render(transcript.view, model=model, tools=tools)
    before = json.dumps(first.payload)
    tools[0]["parameters"]["properties"]["q"]["type"] = "integer"
    assert json.dumps(first.payload) == before
    going_on = provider.render(transcript.view, model=model, tools=tools)
    anew = provider.render(list(transcript.view), model=model, tools=tools)
    assert json.dumps(going_on.payload) == json.dumps(anew.payload)
    assert '"integer"' in json.dumps(going_on.payload)
    assert going_on.prefix == anew.prefix


@pytest.mark.parametrize(("wire", "model"), ALL)
@pytest.mark.parametrize(("one", "other"), [(0, False), (1, True), (1, 1.0)])
def test_what_python_takes_for_the_same_is_told_apart(
    wire: str, model: str | None, one: Any, other: Any
) -> None:
    provider, transcript = PROVIDERS[wire], Transcript(ASKED)
    provider.render(transcript.view, model=model, tools=definition(default=one))
    going_on = provider.render(transcript.view, model=model, tools=definition(default=other))
    anew = provider.render(list(transcript.view), model=model, tools=definition(default=other))
    assert json.dumps(going_on.payload) == json.dumps(anew.payload)
    assert going_on.prefix == anew.prefix


def deep(levels: int) -> Any:
    schema: Any = {}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("value", [{1, 2}, float("nan"), float("inf"), object(), {1: "a"}, deep(3_000)])
def test_what_is_no_json_is_refused_by_the_name_of_the_tool(wire: str, value: Any) -> None:
    with pytest.raises(InvalidValue, match="the tool 'look' is not JSON"):
        PROVIDERS[wire].render(ASKED, tools=definition(default=value))


@pytest.mark.parametrize("wire", PROVIDERS)
def test_tuples_and_halves_of_pairs_are_mended(wire: str) -> None:
    tools = definition(enum=("a", "b"), description="half \ud83d")
    tools[0]["description"] = "half \ud800"
    payload = PROVIDERS[wire].render(ASKED, tools=tools).payload
    assert '["a","b"]' in json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode().decode()
    assert PROVIDERS[wire].check(payload) == []


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_tool_has_a_name(wire: str) -> None:
    with pytest.raises(InvalidValue, match="a tool's name is empty"):
        PROVIDERS[wire].render(ASKED, tools=[{"name": ""}])


@pytest.mark.parametrize("wire", PROVIDERS)
def test_properties_that_are_no_object_are_mended(wire: str) -> None:
    tools: list[dict[str, Any]] = [{"name": "look", "parameters": {"type": "object", "properties": []}}]
    rendered = PROVIDERS[wire].render(ASKED, tools=tools)
    assert [downgrade.change for downgrade in rendered.downgrades] == ["schema_mended"]
    assert '"properties": []' not in json.dumps(rendered.payload)
    assert PROVIDERS[wire].check(rendered.payload) == []


SEARCHES: list[dict[str, Any]] = [
    {"type": "web_search"},
    {"type": "web_search_20250305", "name": "web_search"},
]


@pytest.mark.parametrize("wire", PROVIDERS)
def test_tools_of_two_services_may_be_called_alike(wire: str) -> None:
    rendered = PROVIDERS[wire].render(ASKED, tools=SEARCHES)
    assert PROVIDERS[wire].check(rendered.payload) == []
    own = 1 if wire in ("openai-responses", "anthropic") else 0
    assert len(rendered.payload.get("tools", ())) == own
    assert [downgrade.change for downgrade in rendered.downgrades] == ["tools_left_out"] * (2 - own)


def test_in_one_request_no_two_tools_are_called_alike() -> None:
    with pytest.raises(InvalidValue, match="two tools are called 'web_search'"):
        PROVIDERS["anthropic"].render(ASKED, tools=[SEARCHES[1], {"name": "web_search"}])


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_model_has_a_name_or_is_left_out(wire: str) -> None:
    with pytest.raises(InvalidValue, match="the name of the model is empty"):
        PROVIDERS[wire].render(ASKED, model="")
    with pytest.raises(WrongType):
        PROVIDERS[wire].render(ASKED, model=5)  # type: ignore[arg-type]  # pyright: ignore


@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
def test_the_key_of_a_cache_can_be_written(wire: str) -> None:
    for key in ("half \ud800", "half \ud800" * 20):
        payload = PROVIDERS[wire].render(ASKED, model="gpt-5.6", plan=CachePlan(key=key)).payload
        assert len(payload["prompt_cache_key"].encode()) <= 64
    with pytest.raises(WrongType):
        CachePlan(key=5)  # type: ignore[arg-type]  # pyright: ignore


@pytest.mark.parametrize("wire", PROVIDERS)
def test_definitions_that_stay_the_same_are_read_once(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counting(given: Any) -> list[definitions.Tool]:
        read.append(len(given))
        return read_tools(given)

    read_tools = definitions.read_tools
    monkeypatch.setattr(definitions, "read_tools", counting)
    transcript = Transcript(ASKED)
    for _ in range(3):
        PROVIDERS[wire].render(transcript.view, tools=[*definition(type="string"), {"name": "leave"}])
        transcript.append(Message("user", "more"))
    assert read == [2]
    PROVIDERS[wire].render(transcript.view, tools=[{"name": "leave"}])
    assert read == [2, 1]


ALIKE: list[tuple[Any, Any]] = [(0, False), (1, 1.0), ([1], (1,)), (None, float("nan")), (["a"], {"a"})]


@pytest.mark.parametrize(("one", "other"), [*ALIKE, *[(b, a) for a, b in ALIKE]])
@pytest.mark.parametrize("wire", PROVIDERS)
def test_definitions_that_only_look_the_same_are_read_anew(wire: str, one: Any, other: Any) -> None:
    transcript = Transcript(ASKED)
    for default in (one, other):
        tools = definition(default=default)
        assert _outcome(wire, transcript.view, tools) == _outcome(wire, ASKED, tools)


def _outcome(wire: str, items: Any, tools: list[dict[str, Any]]) -> str:
    try:
        return json.dumps(PROVIDERS[wire].render(items, tools=tools).payload)
    except InvalidValue as fault:
        return str(fault)
