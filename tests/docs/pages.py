"""Running the Python blocks of a page of the documentation."""

import ast
import re
from pathlib import Path

DOCS = Path(__file__).parent.parent.parent / "docs"
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
NEEDS = {
    "integrations/claude-agent.md": "claude_agent_sdk",
    "integrations/google-adk.md": "google.adk",
    "integrations/hermes.md": "agent.context_engine",
    "integrations/strands.md": "strands",
}
"""Pages about frameworks that cannot be installed beside the others. `make integrations` runs them."""


def run_page(page: Path) -> None:
    """Run the blocks of a page one after the other; later ones know the names of earlier ones."""
    names: dict[str, object] = {"__name__": "__main__"}
    text = page.read_text()
    for block in BLOCK.finditer(text):
        tree = ast.parse(block[1])
        ast.increment_lineno(tree, text[: block.start(1)].count("\n"))
        exec(compile(tree, str(page), "exec"), names)
