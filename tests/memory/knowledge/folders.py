"""What the tests of documents share: a folder of files, and every store."""

from pathlib import Path

from hypothesis import settings

from quire.memory.knowledge import Knowledge
from tests.stores.keeping import NAMES

STORES = [name for name in NAMES if name != "postgres"]
"""The server has tests of its own: each example would make a database."""

FEW = settings(max_examples=max(5, settings().max_examples // 10))


def written(folder: Path, **files: str) -> Path:
    """A folder with some Markdown files."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    return folder


def guide(*words: str) -> str:
    """A document with a section for each word."""
    return "\n\n".join(f"# Part {word}\n\nAbout {word}, and {word} alone." for word in words)


def all_said(knowledge: Knowledge) -> dict[str, list[str]]:
    """The texts of each source."""
    return {one.name: [chunk.text for chunk in knowledge.chunks(one.name)] for one in knowledge.sources()}
