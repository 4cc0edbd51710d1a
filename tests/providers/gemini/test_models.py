"""What a Gemini model takes is a fact of the table, whatever name the model goes by."""

from typing import Any

import pytest

from quire.items import File, Image, Message
from quire.providers import PROVIDERS, check
from quire.tokens import facts_for

WIRE = PROVIDERS["gemini"]
BOTH: list[dict[str, Any]] = [{"name": "f"}, {"google_search": {}}]
MOVING = {
    "gemini-pro-latest": "gemini-3.1-pro",
    "gemini-flash-latest": "gemini-3.8-flash",
    "gemini-flash-lite-latest": "gemini-3.5-flash-lite",
}
SPELLINGS = ["{}", "models/{}", "google/{}", "gemini:{}"]
ON_VERTEX = [
    "vertex_ai/{}",
    "publishers/google/models/{}",
    "projects/p/locations/l/publishers/google/models/{}",
]
UNSIGNED: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "x"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
]


def changes(model: str) -> list[str]:
    parts = (
        Image(url="https://example.com/a.png", media_type="image/png"),
        File(url="https://example.com/a.pdf", media_type="application/pdf"),
    )
    rendered = WIRE.render([Message("user", ("Look.", *parts))], model=model, tools=BOTH)
    assert check(rendered.payload, "gemini", model=model) == []
    return sorted(note.change for note in rendered.downgrades)


@pytest.mark.parametrize(("alias", "model"), MOVING.items())
@pytest.mark.parametrize("spelling", [*SPELLINGS, *ON_VERTEX])
def test_a_name_that_moves_on_is_taken_for_what_it_stands_for(alias: str, model: str, spelling: str) -> None:
    alias, model = spelling.format(alias), spelling.format(model)
    assert facts_for(alias) is facts_for(model)
    assert changes(alias) == changes(model)
    ended = [*UNSIGNED, {"role": "model", "parts": [{"text": "So."}]}]
    for history in (UNSIGNED, ended):
        assert check(history, "gemini", model=alias) == check(history, "gemini", model=model) != []


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(
    "model", ["gemini-3-pro", "gemini-3.1-pro-preview", "gemini-10-pro", "gemini-4-argon"]
)
def test_the_newer_ones_fetch_and_mix(model: str, spelling: str) -> None:
    assert changes(spelling.format(model)) == []


@pytest.mark.parametrize("spelling", ON_VERTEX)
def test_on_vertex_they_do_not_mix(spelling: str) -> None:
    model = spelling.format("gemini-3-pro")
    assert changes(model) == ["tools_left_out"]
    mixed: dict[str, Any] = {
        "contents": "Hi.",
        "config": {
            "tools": [{"function_declarations": [{"name": "f"}]}, {"google_search": {}}],
            "tool_config": {"include_server_side_tool_invocations": True},
        },
    }
    assert [fault.rule for fault in check(mixed, "gemini", model=model)] == ["tools_mixed"]
    assert check(mixed, "gemini", model="gemini-3-pro") == []


@pytest.mark.parametrize(
    ("model", "lost"),
    [
        ("gemini-2.5-pro", ["tools_left_out"]),
        ("gemini-2.5-computer-use-preview", ["tools_left_out"]),
        ("gemini-2.0-flash", ["media_as_text", "media_as_text", "tools_left_out"]),
        ("gemini-1.5-pro", ["media_as_text", "media_as_text", "tools_left_out"]),
        ("gemini-pro", ["media_as_text", "media_as_text", "tools_left_out"]),
    ],
)
def test_the_older_ones_do_less(model: str, lost: list[str]) -> None:
    assert changes(model) == lost


@pytest.mark.parametrize("model", ["tunedModels/x", "gemma-3-27b-it", "my-proxy"])
def test_a_name_that_is_not_known_is_given_the_benefit(model: str) -> None:
    assert changes(model) == []
