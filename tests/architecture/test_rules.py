"""The tests of the design find what they are there to find, and nothing else."""

import pytest

from tests.architecture.floors import FLOOR, PURE, going_down
from tests.architecture.purity import untouched
from tests.architecture.shapes import few_verbs, honest_names, is_unused, small, told
from tests.architecture.source import Rule, source

UPWARD = [
    ("items/kinds.py", "from quire.state import Transcript"),
    ("items/kinds.py", "import quire.state.view"),
    ("items/kinds.py", "from quire import state"),
    ("items/kinds.py", "from quire import Transcript"),
    ("items/kinds.py", "import quire"),
    ("items/kinds.py", "from ..state import view"),
    ("items/kinds.py", "from .. import state"),
    ("items/kinds.py", "def late():\n    from quire.tokens import Budget"),
    ("items/kinds.py", "if TYPE_CHECKING:\n    from quire.tokens import Budget"),
    ("providers/names.py", "from quire.sections import Section"),
    ("providers/gemini/writing.py", "from ...context import fit"),
    ("errors.py", "from quire.items import Item"),
    ("attic/things.py", ""),
]
REACHING = [
    *("import asyncio", "import threading", "import socket", "import urllib.request", "import ctypes"),
    *("import pathlib", "from pathlib import Path", "import io", "import sqlite3", "import codecs"),
    *("import os", "import os.path", "from os import getenv", "import time", "import datetime"),
    *("import random", "import uuid", "import secrets", "import requests", "import pydantic"),
    *("import pydantic_core", "import pytest", "import splintr", "import numpy", "import sys"),
    *("import collections.abc, shutil", "import logging.handlers", "from logging import handlers"),
    *("from json import tool", "import importlib", "import importlib.util", "from importlib import util"),
    *("import builtins", "from builtins import open", "from json import codecs"),
    *("def late():\n    import socket", "if TYPE_CHECKING:\n    import socket"),
    *("try:\n    import socket\nexcept ImportError:\n    pass", "__import__('os')", "f = __import__"),
    *("importlib.import_module('os')", "sys.modules['os']", "logging.sys.modules", "re.enum.sys"),
    *("open('x')", "f = open", "builtins.open('x')", "codecs.open('x')", "x.y.open", "map(open, x)"),
    *("__builtins__['open']", "print(1)", "input()", "exec('1')", "eval('1')", "breakpoint()"),
    *("logging.os.getpid()", "logging.FileHandler('x')", "logging.basicConfig()"),
]
TOUCHING_NOTHING = [
    *("import re", "import collections.abc", "from collections import abc, deque", "import msgspec"),
    *("from msgspec import json, structs", "import msgspec.structs", "from typing import Any"),
    *("from quire.errors import WrongType", "from . import kinds", "re.compile('x')", "opened = 1"),
    *("class Usage:\n    input: int = 0", "usage.input", "note.time", "reopen(x)", "'open'", "# open('x')"),
    *("def modules(): ...", "x.modules", "openly.closed"),
]
LONG = "\n".join(f"    x = {number}" for number in range(40))
LARGE = [
    "\n" * 301,
    f"def long():\n{LONG}",
    f"async def long():\n{LONG}",
    f"class Inner:\n    def long(self):\n        if True:\n{LONG.replace('    ', '            ')}",
    "f = lambda x: [\n    x,\n    x,\n    x,\n]",
    "g = sorted(x, key=lambda y: (\n    y\n    +\n    y\n))",
]
SMALL = ["\n" * 299, f"def long():\n{LONG.partition(chr(10))[2]}", "f = lambda x: [\n    x,\n]"]
DISHONEST = [
    *("class SessionManager: ...", "class EventHandler: ...", "class BaseStore: ...", "class StoreBase: ..."),
    *("class Store_v2: ...", "class StoreV2: ...", "class Base: ...", "class Text_Processor: ..."),
    *("def handler(): ...", "def _helper(): ...", "async def base(): ...", "def base_of(): ..."),
    *("def write_v2(): ...", "def to_base(): ...", "class A:\n    def error_handler(self): ..."),
    "def outer():\n    def inner_helper(): ...",
]
HONEST = [
    *(
        "class Database: ...",
        "def base64_of(): ...",
        "def _to_base64(): ...",
        "class Basement: ...",
        "base = 1",
    ),
    *("def based(): ...", "def handle(): ...", "def help(): ...", "class HandledAt: ...", "class Based: ..."),
]
VERBS = "\n".join(f"    def verb{number}(self): ..." for number in range(13))


def finds(rule: Rule, path: str, text: str) -> bool:
    return bool(list(rule(source(path, text))))


@pytest.mark.parametrize(("path", "text"), UPWARD)
def test_imports_that_do_not_go_down_are_found(path: str, text: str) -> None:
    assert finds(going_down, path, text)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "state/view.py",
            "from quire.items import Item\nfrom .log import Log\nfrom ..errors import WrongType",
        ),
        ("cli/main.py", "from quire.bridges import videosdk"),
        ("__init__.py", "from quire.state import Transcript"),
        ("items/kinds.py", "import re"),
    ],
)
def test_imports_that_go_down_are_not(path: str, text: str) -> None:
    assert not finds(going_down, path, text)


@pytest.mark.parametrize("room", sorted(PURE))
@pytest.mark.parametrize("text", REACHING)
def test_what_reaches_for_the_world_is_found_in_every_pure_room(text: str, room: str) -> None:
    assert finds(untouched, "errors.py" if room == "errors" else f"{room}/any.py", text)


@pytest.mark.parametrize("text", TOUCHING_NOTHING)
def test_what_touches_nothing_is_not(text: str) -> None:
    assert not finds(untouched, "items/kinds.py", text)


@pytest.mark.parametrize("room", sorted(set(FLOOR) - PURE))
def test_below_the_line_the_world_is_there(room: str) -> None:
    assert not finds(untouched, f"{room}/any.py", "import asyncio, os\nopen('x')")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("items/clock.py", "import os, time"),
        ("items/foreign.py", "import pydantic_core"),
        ("tokens/exact.py", "from splintr import Tokenizer"),
        ("providers/checking/plugin.py", "import pytest"),
    ],
)
def test_a_module_for_one_file_is_for_no_other(path: str, text: str) -> None:
    assert not finds(untouched, path, text)
    assert finds(untouched, path.replace(".py", "_too.py"), text)
    assert finds(untouched, f"state/{path}", text)


def test_the_clock_opens_nothing() -> None:
    assert finds(untouched, "items/clock.py", "import os\nos.open('x', 0)")


@pytest.mark.parametrize("text", LARGE, ids=range(len(LARGE)))
def test_what_is_too_long_is_found(text: str) -> None:
    assert finds(small, "bridges/any.py", text)


@pytest.mark.parametrize("text", SMALL, ids=range(len(SMALL)))
def test_what_is_short_is_not(text: str) -> None:
    assert not finds(small, "bridges/any.py", text)


@pytest.mark.parametrize("text", DISHONEST)
def test_words_that_are_not_used_are_found_but_in_bridges(text: str) -> None:
    assert finds(honest_names, "cli/any.py", text)
    assert not finds(honest_names, "bridges/any.py", text)


@pytest.mark.parametrize("text", HONEST)
def test_other_words_are_not(text: str) -> None:
    assert not finds(honest_names, "cli/any.py", text)


@pytest.mark.parametrize("path", ["state/utils.py", "helpers/any.py", "state/base.py", "items/codec_v2.py"])
def test_modules_and_folders_are_named_by_the_same_words(path: str) -> None:
    assert finds(honest_names, path, "")
    assert not is_unused("based64")


def test_many_verbs_are_found_but_in_bridges() -> None:
    assert finds(few_verbs, "state/view.py", f"class View:\n{VERBS}")
    assert not finds(few_verbs, "state/view.py", f"class View:\n{VERBS.replace('verb1', '_verb1')}")
    assert not finds(few_verbs, "bridges/view.py", f"class View:\n{VERBS}")


def test_a_module_without_a_docstring_is_found() -> None:
    assert finds(told, "state/view.py", "# a comment is none")
    assert not finds(told, "state/view.py", '"""What it is."""')
