"""Rules survive: what a summary or a cut takes out of view is still in the request if it is a rule."""

import tomllib
from pathlib import Path

import pytest

from quire import Agent, Message, Session
from quire.compactors import Compactor, Summarize, TruncateOldest
from quire.context import Context
from quire.memory.wish import wishes_in
from quire.models import Scripted
from quire.stores import MemoryStore

_SAID = tomllib.loads(Path(__file__).with_name("rules.toml").read_text("utf-8"))
CONVERSATIONS = [
    *(("user", rule, around) for rule, around in _SAID["user"]),
    *(("system", rule, "") for rule in _SAID["system"]),
]
FORGETFUL = Summarize(floor=4, ceiling=8, size=16)


def held(role: str, rule: str, around: str, compactor: Compactor) -> tuple[Session, Context]:
    """What an agent sees after a conversation in which a rule was given early and the summary dropped it."""
    model = Scripted(["They talked about pens."], repeat=True)
    session = Session.open("ana/pens", store=MemoryStore())
    agent = Agent(session, model=model, instructions="You help.", compactor=compactor)
    session.append(Message(role, f"{around} {rule}".strip(), id="rule"))  # type: ignore[arg-type]
    session.assistant("All right.")
    for number in range(5):
        session.user(f"And what about pen {number}?")
        session.assistant("It is blue.")
    agent.ask_sync("And the last one?")
    return session, agent.preview_sync()


@pytest.mark.parametrize("compactor", [FORGETFUL, TruncateOldest(unit="messages", floor=4, ceiling=8)])
def test_no_rule_is_lost_under_a_summariser_that_drops_them_all(compactor: Compactor) -> None:
    lost = list[str]()
    for role, rule, around in CONVERSATIONS:
        session, context = held(role, rule, around, compactor)
        fate = session.view().fate("rule").state
        assert fate == ("shown" if role == "system" else "summarised" if compactor is FORGETFUL else "hidden")
        if not any(rule in getattr(item, "text", "") for item in context.items):
            lost.append(rule)
    assert lost == []


@pytest.mark.parametrize(
    "said",
    ["Don't worry about it.", "Never mind!", "No problem.", "Can you not?", "> never do this", "Do it."],
)
def test_what_forbids_nothing_is_no_rule(said: str) -> None:
    assert not any(wishes_in(said))
