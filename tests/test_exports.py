"""The public names are those that the reference lists, room by room, and the root stays small and light."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import quire

REFERENCE = Path(__file__).parent.parent / "docs" / "reference" / "api.md"
ROOMS = [
    *("quire", "quire.errors", "quire.items", "quire.tokens", "quire.state", "quire.providers"),
    *("quire.compactors", "quire.sections", "quire.context", "quire.models", "quire.stores", "quire.session"),
    "quire.memory",
    *("quire.agent", "quire.agent.builtin", "quire.programs", "quire.node"),
    "quire.bridges.videosdk",
    *("quire.bridges.pygents", "quire.bridges.a1", "quire.bridges.autonomy", "quire.bridges.loom"),
]


def documented(room: str) -> set[str]:
    """The names in the first column of the table under a room's heading."""
    text = REFERENCE.read_text()
    section = re.search(rf"^## `{re.escape(room)}`\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section, f"docs/reference/api.md has no section for {room}"
    rows = [line.split("|")[1] for line in section[1].splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)", row)}


def exported(room: str) -> set[str]:
    module = import_module(room)
    if hasattr(module, "__all__"):
        return set(module.__all__)
    return {
        name for name, value in vars(module).items() if isinstance(value, type) and not name.startswith("_")
    }


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_are_the_documented_ones(room: str) -> None:
    assert exported(room) == documented(room)


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_is_there(room: str) -> None:
    module = import_module(room)
    for name in exported(room):
        assert getattr(module, name) is not None


def test_the_root_is_small() -> None:
    assert len(quire.__all__) <= 30
    assert set(quire.__all__) <= set(dir(quire))
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        quire.Nonsense  # noqa: B018  # pyright: ignore[reportUnusedExpression]


def test_importing_the_root_loads_nothing_heavy() -> None:
    heavy = "('msgspec', 'splintr', 'pydantic')"
    code = f"import sys, quire; print([m for m in sys.modules if m.split('.')[0] in {heavy}])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
