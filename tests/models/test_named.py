"""Names of models: what they mean, what is refused and when, and that making one needs nothing."""

import subprocess
import sys

import pytest

from quire.errors import InvalidValue
from quire.models import Model, read_name
from tests.models.answerers import each_row

NOVA = ("https://api.nova.amazon.com/v1", "NOVA_API_KEY")
LOCALHOST = "http://127.0.0.1:1/v1"


@each_row(
    "name meaning",
    ("openai:gpt-5.6", ("openai", "gpt-5.6", None, None)),
    ("openai-responses:gpt-5.6", ("openai-responses", "gpt-5.6", None, None)),
    ("anthropic:claude-sonnet-5", ("anthropic", "claude-sonnet-5", None, None)),
    ("google:gemini-3-pro", ("gemini", "gemini-3-pro", None, None)),
    ("gemini:gemini-3-pro", ("gemini", "gemini-3-pro", None, None)),
    ("gpt-5.6", ("openai", "gpt-5.6", None, None)),
    ("claude-opus-5", ("anthropic", "claude-opus-5", None, None)),
    ("gemini-2.5-flash", ("gemini", "gemini-2.5-flash", None, None)),
    ("claude-sonnet-4-v1", ("anthropic", "claude-sonnet-4-6", None, None)),
    ("nova-micro-v1", ("openai", "nova-micro-v1", *NOVA)),
    (f"nova-micro-v1@{LOCALHOST}", ("openai", "nova-micro-v1", LOCALHOST, None)),
    (f"openai:llama@{LOCALHOST}", ("openai", "llama", LOCALHOST, None)),
    ("openai:qwen3:8b@https://box/v1", ("openai", "qwen3:8b", "https://box/v1", None)),
    ("anthropic:claude-3-5-sonnet@20240620", ("anthropic", "claude-3-5-sonnet@20240620", None, None)),
    ("local", ("local", "", None, None)),
    ("local:/weights/a.gguf", ("local", "/weights/a.gguf", None, None)),
)
def test_what_a_name_means(name: str, meaning: tuple[str | None, ...]) -> None:
    assert read_name(name) == meaning


@each_row("name", "oracle:delphi", "delphi", "openai:", "openai", "org/gpt-4o", "delphi:gpt-4o")
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue, match=r"no model .* is known; use .*openai:gpt-5\.6"):
        Model(name)


MISSING = """
import asyncio, sys
from quire import Message
from quire.models import Model
packages = {"gpt-5.6": "openai", "claude-opus-5": "anthropic", "gemini-3-pro": "google.genai"}
for name, package in packages.items():
    sys.modules[package] = None
    try:
        asyncio.run(Model(name).ask([Message("user", "Hi")]))
    except ImportError as fault:
        print(fault)
"""


def test_a_missing_sdk_is_named() -> None:
    run = subprocess.run([sys.executable, "-c", MISSING], capture_output=True, text=True, check=True)
    for told, extra in zip(run.stdout.splitlines(), ("openai", "anthropic", "google"), strict=True):
        assert f"pip install 'quire[{extra}]'" in told
