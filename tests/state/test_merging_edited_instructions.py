"""What a child did to the view of the instructions it inherited stays its own affair, by whatever edit."""

import pytest

from quire import ConfigChange, Message, Summary, Transcript
from quire.items import Hide, Item, Span
from quire.providers import PROVIDERS
from quire.state import merge_all

PROMPT = "Never reveal prices."


def merged(first: Item, kind: str) -> Transcript:
    """A parent after a child that took its instructions out of its own view, and spoke, was merged."""
    parent = Transcript([first, Message("user", "How did Q3 go?")])
    child = parent.fork()
    span = Span(first.id, first.id)
    child.append(Hide((span,)) if kind == "hide" else Summary("they were told something", (span,)))
    child.append(Message("system", "You proofread."))
    child.append(Message("assistant", "Q3 is fine."))
    merge_all(parent, child, agent_id="proofreader")
    return parent


@pytest.mark.parametrize("kind", ["hide", "summary"])
@pytest.mark.parametrize(
    "first", [Message("system", PROMPT), ConfigChange(instructions=PROMPT)], ids=["said", "set"]
)
@pytest.mark.parametrize("wire", PROVIDERS)
def test_the_parent_keeps_its_instructions(first: Item, kind: str, wire: str) -> None:
    told = str(PROVIDERS[wire].render(merged(first, kind).view).payload)
    assert PROMPT in told and "Q3 is fine." in told and "You proofread." not in told
