"""Writes the public names of each package, with the first lines of docstrings, into the pages of the API.

They are for readers of the repository: the site hides them, and shows signatures and whole docstrings.
"""

import re
from pathlib import Path
from typing import Any

import griffe

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "reference" / "api"
LIST = re.compile(r'<div class="names">.*?</div>\n\n', re.DOTALL)


def page_texts() -> dict[Path, str]:
    """Each page of the API as it should be."""
    package = griffe.load("quire", search_paths=[ROOT / "src"], resolve_aliases=True)
    texts = {page: page.read_text() for page in sorted(PAGES.glob("*.md")) if page.name != "index.md"}
    return {page: _with_names(text, package) for page, text in texts.items()}


def _with_names(text: str, package: Any) -> str:
    heading, rest = LIST.sub("", text).split("\n\n", 1)
    module = package[heading.removeprefix("# quire.")]
    names = module.exports or [name for name, member in module.members.items() if member.is_public]
    lines = "\n".join(
        _line(module, str(name)) for name in names if f"!^{name}$" not in rest
    )  # the page's filter
    return f'{heading}\n\n<div class="names">\n\n{lines}\n\n</div>\n\n{rest}'


def _line(module: Any, name: str) -> str:
    member = module[name]
    if member.is_module:  # a function in a module of the same name
        member = member[name]
    return f"- `{name}`: {member.docstring.value.splitlines()[0]}"


if __name__ == "__main__":
    for path, new in page_texts().items():
        path.write_text(new)
