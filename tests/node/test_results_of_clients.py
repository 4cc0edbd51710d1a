"""Jobs with results of tools that the client runs."""

from typing import Any

import pytest

from quire import Agent, Node, Session, ToolCall, ToolResult
from quire.models import Scripted
from quire.session import Job

LOOK: dict[str, Any] = {
    "name": "look",
    "description": "Look.",
    "parameters": {"type": "object", "properties": {}},
}
HERE: dict[str, Any] = {"scope": "ana", "conversation": "one"}


@pytest.mark.parametrize("is_streamed", [True, False])
async def test_a_job_offers_tools_and_another_brings_the_results(is_streamed: bool) -> None:
    node = Node()
    node.add("help", lambda session: Agent(session, model=Scripted([ToolCall("l1", "look"), "It is open."])))
    session = node.session("help", **HERE)
    asked = Job.of("Is it open?", tools=[LOOK], is_streamed=is_streamed)
    await session.jobs.submit(asked)
    outcome = await node.run("help", asked.id, **HERE)
    assert outcome.stop == "waiting" and outcome.waiting == ("l1",)
    seen = Job.of(results=(ToolResult("l1", "look", "open"),), tools=[LOOK], is_streamed=is_streamed)
    await session.jobs.submit(seen)
    outcome = await node.run("help", seen.id, **HERE)
    assert outcome.stop == "done" and session.view()[-1].text == "It is open."  # type: ignore[union-attr]


async def test_a_job_goes_on_after_its_results_were_recorded() -> None:
    node, result = Node(), ToolResult("l1", "look", "open")
    replies: list[Any] = [[ToolCall("l1", "look"), ToolCall("l2", "look")], ConnectionError(), "It is open."]

    def made(session: Session) -> Agent:
        return Agent(session, model=Scripted(replies))

    node.add("help", made)
    session = node.session("help", **HERE)
    asked = Job.of("Is it open?", tools=[LOOK])
    await session.jobs.submit(asked)
    await node.run("help", asked.id, **HERE)
    seen = Job.of(results=(result, ToolResult("l2", "look", "ajar")))
    await session.jobs.submit(seen)
    with pytest.raises(ConnectionError):  # as if the process had ended there
        await node.run("help", seen.id, **HERE, raises=(ConnectionError,))
    assert (await node.run("help", seen.id, **HERE)).stop == "done"
    assert [one.text for one in session.view() if isinstance(one, ToolResult)] == ["open", "ajar"]


async def test_results_that_no_call_waits_for_end_the_job_as_failed() -> None:
    node = Node()
    node.add("help", lambda session: Agent(session, model=Scripted(["Hello."])))
    session = node.session("help", **HERE)
    for job in (Job.of("Hello!"), Job.of(results=(ToolResult("l9", "look", "open"),))):
        await session.jobs.submit(job)
        outcome = await node.run("help", job.id, **HERE)
    assert outcome.stop == "failed" and "'l9'" in outcome.error
