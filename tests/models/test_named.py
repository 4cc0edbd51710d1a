"""Names of models: who is meant, what is refused and when, and that making one needs nothing."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quire.errors import InvalidLimit, InvalidValue, MissingExtra, WrongType
from quire.models import ALIASES, AnyModel, Model, Patience, Retries, Scripted
from quire.models.clients import CLIENTS
from quire.models.naming import WIRES, Named, read_name
from quire.tokens import known_models
from tests.models.answerers import NEEDS_LOCAL, QUESTION, text_of

NAMES = {
    "openai:gpt-5.6": Named("openai", "gpt-5.6"),
    "openai-responses:gpt-5.6": Named("openai-responses", "gpt-5.6"),
    "anthropic:claude-sonnet-5": Named("anthropic", "claude-sonnet-5"),
    "google:gemini-3-pro": Named("google", "gemini-3-pro"),
    "gemini:gemini-3-pro": Named("google", "gemini-3-pro"),
    "gpt-5.6": Named("openai", "gpt-5.6"),
    "claude-opus-5": Named("anthropic", "claude-opus-5"),
    "gemini-2.5-flash": Named("google", "gemini-2.5-flash"),
    "claude-sonnet-4-v1": Named("anthropic", "claude-sonnet-4-6"),
    "nova-micro-v1": Named("openai", "nova-micro-v1", "https://api.nova.amazon.com/v1", "NOVA_API_KEY"),
    "nova-micro-v1@http://127.0.0.1:1/v1": Named("openai", "nova-micro-v1", "http://127.0.0.1:1/v1"),
    "openai:llama@http://127.0.0.1:1/v1": Named("openai", "llama", "http://127.0.0.1:1/v1"),
    "openai:qwen3:8b@https://box/v1": Named("openai", "qwen3:8b", "https://box/v1"),
    "anthropic:claude-3-5-sonnet@20240620": Named("anthropic", "claude-3-5-sonnet@20240620"),
    "local": Named("local", ""),
    "local:/weights/a.gguf": Named("local", "/weights/a.gguf"),
}


@pytest.mark.parametrize("name", NAMES)
def test_who_is_meant(name: str) -> None:
    assert read_name(name) == NAMES[name]


@pytest.mark.parametrize(
    "name", ["oracle:delphi", "delphi", "openai:", "openai", "org/gpt-4o", "delphi:gpt-4o"]
)
def test_an_unknown_name_fails_when_it_is_called(name: str) -> None:
    model = Model(name)
    assert model.name == name and repr(model) == f"<Model {name!r}>"
    with pytest.raises(InvalidValue, match=r"no model .* is known; say who answers to it: .*openai:gpt-5\.6"):
        asyncio.run(model.ask(QUESTION))
    with pytest.raises(InvalidValue, match="is known"):
        _ = model.wire


def test_every_known_name_and_alias_has_a_client() -> None:
    for row in known_models():
        found = read_name(row.prefix)
        assert (found is not None) == (row.provider is not None), row.prefix
        assert found is None or found.client in CLIENTS
    for alias in ALIASES:
        assert alias.client in CLIENTS and (alias.base_url is None) == (alias.key is None)
    assert set(CLIENTS) | {"local", "gemini"} == set(WIRES)
    assert len({alias.name for alias in ALIASES}) == len(ALIASES)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"timeout": 0}, InvalidLimit),
        ({"timeout": "long"}, WrongType),
        ({"retries": -1}, InvalidLimit),
        ({"retries": 1.5}, WrongType),
        ({"options": ["temperature"]}, WrongType),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Model("gpt-5.6", **options)
    with pytest.raises(WrongType):
        Model(None)  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(InvalidValue, match="is empty"):
        Model("")


def test_wrong_terms_are_refused() -> None:
    models: list[AnyModel] = [Model("gpt-5.6"), Scripted([])]
    for model in models:
        for terms, said in (
            ({"temperature": 1}, "no such term: temperature; .* options"),
            ({"output": "a town"}, "output is a mapping"),
            ({"options": "none"}, "options is a mapping"),
            ({"tool_choice": {"type": "any"}}, "tool_choice is a text"),
        ):
            with pytest.raises(WrongType, match=said):
                model.stream(QUESTION, **terms)  # pyright: ignore
        with pytest.raises(InvalidValue, match="not empty"):
            model.stream(QUESTION, tool_choice="")
    with pytest.raises(WrongType, match="is a Rendered"):
        Model("gpt-5.6").send({"messages": []})  # type: ignore[arg-type]  # pyright: ignore


@pytest.mark.parametrize(
    ("name", "package"),
    [("gpt-5.6", "openai"), ("claude-opus-5", "anthropic"), ("gemini-3-pro", "google.genai")],
)
def test_a_missing_client_is_named(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    extra = package.partition(".")[0]
    with pytest.raises(MissingExtra, match=rf"pip install 'quire\[{extra}\]'"):
        asyncio.run(Model(name).ask(QUESTION))


def test_making_one_imports_no_client() -> None:
    code = """
import sys
from quire.models import ALIASES, Model
for name in ("gpt-5.6", "anthropic:x", "google:y", "local", "nobody", *(alias.name for alias in ALIASES)):
    Model(name)
print({"openai", "anthropic", "google.genai", "httpx2", "xllamacpp"} & sys.modules.keys())
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


def test_waits_double_up_to_the_longest() -> None:
    retries = Retries(times=5, first=1.0, longest=3.0)
    for tried, most in enumerate((1.0, 2.0, 3.0, 3.0, 3.0), 1):
        waits = {retries.wait(tried, None) for _ in range(20)}
        assert all(wait is not None and most / 2 <= wait <= most for wait in waits) and len(waits) > 1
    assert retries.wait(6, None) is None
    assert (retries.wait(1, 2.5), retries.wait(1, 3.5)) == (2.5, None)
    assert Patience().total is not None


@pytest.mark.parametrize("closing", [pytest.param(True, marks=NEEDS_LOCAL, id="local")])
def test_the_local_model_by_its_name(closing: bool, tmp_path: Path) -> None:
    async def run() -> None:
        async with Model("local", options={"temperature": 0.0}) as model:
            parsed = await model.ask(QUESTION, max_tokens=3)
            assert text_of(parsed) and parsed.model == model.name and model.wire == "openai"
            reply = await model.complete_chat([{"role": "user", "content": "Hi."}], max_tokens=2)
            assert str(reply) and reply.cost is None
        with pytest.raises(InvalidValue, match="there is no file"):
            await Model(f"local:{tmp_path / 'none.gguf'}").ask(QUESTION)

    asyncio.run(run())
