"""Rules survive: what a summary or a cut takes out of view is still in the request if it is a rule."""

import tomllib
from pathlib import Path

import pytest

from quire import Agent, Budget, Message, Session, Template
from quire.compactors import Compactor, Summarize, TruncateOldest
from quire.context import Context
from quire.memory import Wishes
from quire.models import Scripted
from quire.sections import History
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


def opened(turns: int, rule: str = "Don't touch the blue pen.") -> Session:
    session = Session.open("ana/pens", store=MemoryStore())
    session.append(Message("user", f"{rule} Can you help?", id="rule"))
    for number in range(turns):
        session.assistant("It is blue.")
        session.user(f"And what about pen {number}? {'Tell me all. ' * 20}")
    return session


TEMPLATE = Template(Wishes(scope=False), History(), budget=Budget(window=1_000), model="gpt-5.6")


def shown(session: Session) -> str:
    return "\n".join(getattr(item, "text", "") for item in session.build(TEMPLATE).items)


def test_a_cut_loses_none_and_nothing_is_added_while_all_is_shown() -> None:
    context = opened(2).build(TEMPLATE)
    assert context.tokens["wishes"] == 0 and context.items[0].id == "rule"
    long = opened(40)
    context = long.build(TEMPLATE)
    assert context.explain("rule").fate == "left out" and "| Don't touch the blue pen." in shown(long)
    assert "Can you help" not in shown(long) and context.receipt.tokens <= 1_000


def test_what_a_person_took_back_or_forgot_is_shown_no_more() -> None:
    session = opened(40)
    shown(session)
    session.hide("rule")
    assert "blue pen" not in shown(session)
    other = opened(40)
    shown(other)
    other.forget("rule")
    assert "blue pen" not in shown(other)


@pytest.mark.parametrize(
    "said",
    ["Don't worry about it.", "Never mind!", "No problem.", "Can you not?", "> never do this", "Do it."],
)
def test_what_forbids_nothing_is_no_rule(said: str) -> None:
    assert said not in shown(opened(40, said))
