"""The files of the page."""

from pathlib import Path

PAGE = Path(__file__).with_name("page")


def modules() -> dict[str, Path]:
    """The modules of the page by the names under which they import each other."""
    own = {f"quire/{path.name}": path for path in sorted(PAGE.glob("*.js"))}
    return {"preact": PAGE / "vendor" / "preact.js", **own}
