"""Parts of a page that belong to one script: what stands between its marks is put there by it alone."""

import re
from pathlib import Path


def write(page: Path, name: str, text: str) -> None:
    """Put a text between the marks of a name."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    whole = page.read_text(encoding="utf-8")
    if begin not in whole or end not in whole:
        raise SystemExit(f"{page} has no {begin} and {end}")
    found = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    page.write_text(found.sub(lambda _: f"{begin}\n{text}\n{end}", whole), encoding="utf-8")
