"""A child without a past in common: what it did comes, what it was told stays behind."""

import pytest
from msgspec.structs import replace

from quire.errors import DuplicateId
from quire.items import JSON, ConfigChange, Item, Mask, Message, Span, Summary, ToolCall, ToolResult
from quire.state import Transcript, brief, config_at, merge_all, merge_result, plan_summary
from quire.state.merge import own_items

pytestmark = pytest.mark.usefixtures("lineage")


def shown(transcript: Transcript) -> str:
    return " ".join(item.id for item in transcript.view)


def asked_parent() -> Transcript:
    parent = Transcript([Message("system", "Be brief.", id="rules"), Message("user", "How low?", id="asked")])
    parent.append(ConfigChange(tools=("delegate",), id="tools"))
    return parent


def checker() -> Transcript:
    child = brief("You check figures.", "Is 17 % low?")
    child.extend([ToolCall("c", "look", id="call"), ToolResult("c", "look", "18 %", id="result")])
    child.append(Message("assistant", "It is.", id="answer"))
    return child


def read_again(transcript: Transcript) -> Transcript:
    return Transcript(JSON.decode(JSON.encode(transcript.recorded())))


@pytest.mark.parametrize("stored", [False, True])
def test_a_brief_does_not_replace_what_the_parent_was_told(stored: bool) -> None:
    parent, child = asked_parent(), checker()
    if stored:
        parent, child = read_again(parent), read_again(child)
    merge_all(parent, child, agent_id="checker")
    assert shown(parent) == "rules asked tools call result answer"
    assert config_at(parent.view) == ("Be brief.", ("delegate",))
    last = parent.view.log.last_user(parent.view.end)
    assert last is not None and parent.view.log.item(last).id == "asked"
    assert merge_all(parent, child, agent_id="checker") == []


def test_what_it_is_told_later_stays_behind_each_time() -> None:
    parent, child = asked_parent(), checker()
    merge_result(parent, child)
    merge_all(parent, child)
    child.append(ConfigChange("Check twice.", tools=("look",)))
    child.append(Message("developer", "And be quick."))
    child.append(Message("user", "And 16 %?", id="more"))
    child.append(Message("assistant", "Too.", id="too"))
    assert [item.id for item in merge_all(parent, child)] == ["more", "too"], "somebody spoke while it worked"
    assert config_at(parent.view) == ("Be brief.", ("delegate",))


def test_a_summary_over_its_task_still_comes_along() -> None:
    parent, child = asked_parent(), checker()
    child.append(Message("user", "And 16 %?", id="more"))
    child.append(Message("assistant", "Too.", id="too"))
    first = child.recorded()[1].id
    child.append(Summary("17 % is low.", (Span(first, "answer"),), id="gist"))
    assert [item.id for item in merge_all(parent, child)][-1] == "gist"
    assert shown(parent) == "rules asked tools gist more too"
    child.append(Mask(child.recorded()[1].id, "[cleared]"))
    assert merge_all(parent, child) == []


def test_the_task_is_told_to_whoever_summarises() -> None:
    parent, child = asked_parent(), checker()
    plan = plan_summary(parent, child)
    assert plan is not None
    assert [item.text for item in plan.items if isinstance(item, Message)] == [
        *("You check figures.", "Is 17 % low?", "It is.")
    ]


@pytest.mark.parametrize(
    "told",
    [ConfigChange("Answer in Latin.", tools=("shout",)), Message("system", "Answer in Latin.")],
    ids=["configuration", "instructions"],
)
def test_what_a_fork_was_told_stays_behind_as_well(told: Item) -> None:
    parent = asked_parent()
    child = parent.fork()
    child.extend([told, Message("assistant", "Sure.", id="said")])
    assert [item.id for item in merge_all(parent, child)] == ["said"]
    assert config_at(parent.view) == ("Be brief.", ("delegate",))
    assert merge_all(parent, child) == []


def test_of_another_conversation_all_but_its_configuration_comes() -> None:
    words: list[Item] = [
        Message("system", "Be long.", id="o1"),
        Message("user", "hello", id="o2"),
        Message("assistant", "Hello!", id="o3"),
    ]
    parent = asked_parent()
    assert [item.id for item in merge_all(parent, Transcript(words))] == ["o2", "o3"]
    assert config_at(parent.view).instructions == "Be brief."
    empty, other = Transcript(), Transcript(words)
    merge_all(empty, other)
    assert shown(empty) == "o2 o3", "one rule, whatever the parent has"
    assert config_at(empty.view).instructions is None


def test_what_a_newer_version_made_is_no_witness_of_a_common_past() -> None:
    parent = Transcript([Message("system", "Parent rules."), Message("user", "q")])
    child = brief("Child rules.", "task")
    child.append(JSON.decode(b'[{"kind":"dream","id":"d1","created_at":5.0}]')[0])
    child.append(Message("assistant", "done"))
    assert len(merge_all(parent, child)) == 2
    assert merge_all(parent, child) == []
    assert config_at(parent.view).instructions == "Parent rules."


def test_a_result_whose_time_was_changed_is_the_one_it_was() -> None:
    given = ToolResult("c1", "look", "rain", created_at=5)
    said = Message("user", "And now?")
    parent, child = Transcript([given]), Transcript([replace(given, created_at=7), said])
    assert own_items(parent, child) == [said]
    other = Transcript([replace(given, created_at=7, content="sun")])
    with pytest.raises(DuplicateId):
        own_items(parent, other)


def test_what_is_noted_beside_a_call_makes_no_other_call_of_it() -> None:
    call = ToolCall("c1", "look", '{"q": 1}', created_at=5)
    noted = replace(call, created_at=7, agent_id="sub", extras={"videosdk": {"created_at": 5}})
    assert own_items(Transcript([call]), Transcript([noted])) == []
    with pytest.raises(DuplicateId):
        own_items(Transcript([call]), Transcript([replace(noted, arguments="{}")]))
