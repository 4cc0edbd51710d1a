"""The page of errors has the tree of `quire.errors`, and a row for each error: when, and what to do."""

import re
from pathlib import Path

from quire import errors

PAGE = (Path(__file__).parent.parent.parent / "docs" / "reference" / "errors.md").read_text()
LINE = re.compile(r"^( *)(\w+)(?: \((\w+(?:, \w+)*)\))?$", re.MULTILINE)


def drawn() -> dict[str, set[str]]:
    """The parents of each error in the page's tree: the less indented line above it, and the builtins."""
    above: list[str] = []
    found: dict[str, set[str]] = {}
    block = re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert block
    for spaces, name, others in LINE.findall(block[1]):
        above = above[: len(spaces) // 2]
        found[name] = {*above[-1:], *filter(None, others.split(", "))}
        above.append(name)
    return found


def declared() -> dict[str, set[str]]:
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and not kind.__name__.startswith("_")
    ]
    return {kind.__name__: parents(kind) for kind in kinds}


def parents(kind: type) -> set[str]:
    bases = [base for base in kind.__bases__ if base is not Exception]
    named = {base.__name__ for base in bases if not base.__name__.startswith("_")}
    return named.union(*(parents(base) for base in bases if base.__name__.startswith("_")))


def test_the_tree_is_that_of_the_package() -> None:
    assert drawn() == declared()


def test_each_error_says_when_and_what_to_do() -> None:
    rows = {cells[1].strip(" `"): cells for line in PAGE.splitlines() if len(cells := line.split("|")) == 5}
    for name in declared().keys() - {"QuireError", "CodecError", "StoreError"}:
        assert name in rows, f"no row for {name}"
        assert all(cell.strip() for cell in rows[name][1:4]), f"the row of {name} has an empty cell"
