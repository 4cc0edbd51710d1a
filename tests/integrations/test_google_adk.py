"""Google ADK with a scripted model: sessions keep ADK's own rules, and requests are views of them."""

# pyright: basic, reportMissingImports=false

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from quire.items import ToolCall, ToolResult
from quire.providers import check
from quire.stores import MemoryStore
from tests.docs.pages import DOCS, run_page
from tests.integrations.killed import handle_in, look_up, run_killed

pytest.importorskip("google.adk", reason="run by `make integrations`, in an environment of its own")

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.errors import StaleSessionError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event, EventActions
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, InMemorySessionService, Session
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types
from pydantic import Field

from quire.integrations.google_adk import QuirePlugin, QuireSessionService

ANN: dict[str, Any] = {"app_name": "shop", "user_id": "ann/1"}
MARCH = 1_800_000_000.0

READ_BACK = "READ_BACK"
"""Stands for a call that reads the result whose stub came last."""

Answer = str | tuple[str, dict[str, Any]] | list[Any]
"""A text, or the name and the arguments of a tool to call; a list comes as several contents."""


# --- sessions: what ADK's own services do, ours does --------------------------------------------------------


@pytest.fixture(params=["memory", "sqlite", "quire-memory", "quire-sqlite", "quire-jsonl"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> BaseSessionService:
    match request.param:
        case "memory":
            return InMemorySessionService()
        case "sqlite":
            return SqliteSessionService(str(tmp_path / "adk.db"))
        case "quire-memory":
            return QuireSessionService("memory:")
        case "quire-sqlite":
            return QuireSessionService(tmp_path / "quire.db")
        case _:
            return QuireSessionService(tmp_path / "quire.jsonl")


def event(number: int, text: str = "", **delta: Any) -> Event:
    content = types.Content(role="user", parts=[types.Part(text=text)]) if text else None
    changed = EventActions(state_delta={key.replace("__", ":"): value for key, value in delta.items()})
    return Event(id=f"e{number}", author="user", timestamp=MARCH + number, content=content, actions=changed)


async def filled(service: BaseSessionService, count: int = 3) -> Session:
    session = await service.create_session(**ANN, session_id="s-1", state={"step": 0})
    session.last_update_time = MARCH
    for number in range(count):
        await service.append_event(session, event(number, f"message {number}", step=number + 1))
    return session


async def loaded(service: BaseSessionService, session_id: str = "s-1", **config: Any) -> Session:
    found = await service.get_session(
        **ANN, session_id=session_id, config=GetSessionConfig(**config) if config else None
    )
    assert found is not None
    return found


async def test_events_come_back_as_they_were(service: BaseSessionService) -> None:
    picture = types.Part(inline_data=types.Blob(data=b"\xfb\xff\xfe", mime_type="image/png"))
    call = types.FunctionCall(id="adk-1", name="look", args={"order": "A1"})
    said = types.Content(
        role="model", parts=[picture, types.Part(function_call=call, thought_signature=b"\xfb\xff")]
    )

    session = await filled(service)
    await service.append_event(session, Event(author="ann", timestamp=MARCH + 9, content=said))
    again = await loaded(service)
    assert [one.model_dump() for one in again.events] == [one.model_dump() for one in session.events]
    assert again.state == {"step": 3}
    assert again.last_update_time == MARCH + 9


async def test_state_is_of_the_session_the_user_or_the_app(service: BaseSessionService) -> None:
    given = {"app:tax": 0.1, "user:name": "Ann", "step": None, "temp:x": 1}
    session = await service.create_session(**ANN, session_id="s-1", state=given)
    session.last_update_time = MARCH
    changed = event(1, user__name="Bea", user__age=7, app__tax=0.2, temp__y=2, step={"at": None})
    await service.append_event(session, changed)
    assert session.state["temp:y"] == 2
    other = await service.create_session(**ANN, session_id="s-2")
    assert other.state == {"app:tax": 0.2, "user:name": "Bea", "user:age": 7}
    bob = await service.create_session(app_name="shop", user_id="bob", session_id="s-1")
    assert bob.state == {"app:tax": 0.2}
    assert (await loaded(service)).state == {**other.state, "step": {"at": None}}
    assert await service.get_user_state(**ANN) == {"name": "Bea", "age": 7}
    assert await service.get_user_state(app_name="shop", user_id="nobody") == {}


async def test_sessions_are_listed_and_deleted(service: BaseSessionService) -> None:
    async def names(**whose: Any) -> list[str]:
        return [one.id for one in (await service.list_sessions(**whose)).sessions]

    session = await filled(service)
    second = await service.create_session(**ANN, session_id="s-2")
    second.last_update_time = MARCH
    await service.append_event(second, event(10))
    await service.append_event(session, event(11))
    await service.create_session(app_name="shop", user_id="bob", session_id="s-3")
    await service.create_session(app_name="bank", user_id="ann/1", session_id="s-4")
    assert await names(**ANN) == ["s-2", "s-1"]
    assert sorted(await names(app_name="shop")) == ["s-1", "s-2", "s-3"]
    listed = (await service.list_sessions(**ANN)).sessions[-1]
    assert listed.state == {"step": 3} and listed.events == []
    await service.delete_session(**ANN, session_id="s-1")
    assert await names(**ANN) == ["s-2"]
    assert await service.get_session(**ANN, session_id="s-1") is None
    assert (await service.create_session(**ANN, session_id="s-1")).state == {}


# --- sessions: what ours does besides -----------------------------------------------------------------------


async def test_a_session_that_another_has_written_to_is_stale(tmp_path: Path) -> None:
    one, other = QuireSessionService(tmp_path / "q.db"), QuireSessionService(tmp_path / "q.db")
    session = await filled(one)
    again = await loaded(other)
    await other.append_event(again, event(3, user__name="Bea"))
    with pytest.raises(StaleSessionError):
        await one.append_event(session, event(4, user__name="Ann"))
    fresh = await loaded(one)
    assert [found.id for found in fresh.events] == ["e0", "e1", "e2", "e3"]
    assert fresh.state["user:name"] == "Bea"
    await one.append_event(fresh, event(4))


async def test_events_of_one_session_side_by_side_are_all_kept() -> None:
    service = QuireSessionService("memory:")
    session = await filled(service, 0)
    await asyncio.gather(*(service.append_event(session, event(number)) for number in range(20)))
    assert {one.id for one in (await loaded(service)).events} == {f"e{number}" for number in range(20)}


async def test_an_event_of_a_session_that_is_gone_is_refused() -> None:
    service = QuireSessionService("memory:")
    session = await filled(service)
    await service.delete_session(**ANN, session_id="s-1")
    with pytest.raises(SessionNotFoundError):
        await service.append_event(session, event(4))


# --- requests -----------------------------------------------------------------------------------------------


class Scripted(BaseLlm):  # type: ignore[misc]
    """Answers by a script, and remembers what it was sent."""

    answers: list[Any]
    sent: list[list[types.Content]] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.sent.append(list(llm_request.contents))
        answer = self.answers.pop(0)
        if answer == READ_BACK:
            answer = ("read_back", {"handle": handle_in(self.sent[-1])})
        used = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=100, candidates_token_count=10, cached_content_token_count=60
        )
        for one in answer if isinstance(answer, list) else [answer]:
            part = (
                types.Part(text=one)
                if isinstance(one, str)
                else types.Part.from_function_call(name=one[0], args=one[1])
            )
            yield LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=used)


def look(order: str) -> str:
    """Look up an order."""
    return look_up(order)


def scripted(answers: Sequence[Answer]) -> Scripted:
    return Scripted(model="scripted", answers=list(answers))


def talk(
    store: Any, model: Scripted, *questions: str, window: int = 8_000, agents: Sequence[Any] = ()
) -> tuple[Session, QuirePlugin]:
    service, plugin = QuireSessionService(store), QuirePlugin(window, store)
    agent = LlmAgent(
        name="support",
        model=model,
        instruction="You look after orders.",
        tools=[look],
        sub_agents=list(agents),
    )

    async def run() -> Session:
        app = App(name="shop", root_agent=agent, plugins=[plugin])
        runner = Runner(app=app, session_service=service, auto_create_session=True)
        for question in questions:
            said = types.Content(role="user", parts=[types.Part(text=question)])
            async for _ in runner.run_async(user_id="ann/1", session_id="s-1", new_message=said):
                pass
        return await loaded(service)

    return asyncio.run(run()), plugin


def faults(contents: list[types.Content]) -> list[Any]:
    request = {"contents": [one.model_dump(mode="json", exclude_none=True) for one in contents]}
    return list(check(request, "gemini"))


def test_a_run_with_a_tool_is_kept_and_explained(tmp_path: Path) -> None:
    model = scripted([("look", {"order": "A1"}), "It is open.", "Yes."])
    session, plugin = talk(tmp_path / "q.db", model, "Is A1 open?", "Really?")
    assert len(session.events) == 6
    kept = plugin.session(session, "support")
    assert [len(one) for one in model.sent] == [1, 3, 5] and not any(map(faults, model.sent))
    assert len(kept.receipts) == 3 and kept.spending.usage.cache_read == 180
    pair = [item for item in kept.view() if isinstance(item, ToolCall | ToolResult)]
    assert pair[0].call_id == pair[1].call_id


def test_neighbouring_contents_of_the_model_are_one_reply() -> None:
    store, model = MemoryStore(), scripted([["I look.", ("look", {"order": "A1"})], "It is open.", "Bye."])
    session, plugin = talk(store, model, "Where is A1?", "Thanks.")
    groups = plugin.session(session, "support").view().groups()
    assert [len(group.items) for group in groups] == [1, 3, 1, 1]


def test_a_result_without_room_is_a_stub_that_can_be_read() -> None:
    model = scripted([("look", {"order": "all"}), READ_BACK, "There are many."])
    session, _ = talk(MemoryStore(), model, "Which are open?")
    stub, piece = (answer(one) for one in model.sent[2] if answer(one))
    assert "read_back" in stub and len(stub) < 200 and "A0 is open" in piece
    assert "A1999 is open" in str(session.events[2].content)


def answer(content: types.Content) -> str:
    """The text of the results in a content."""
    found = [part.function_response for part in content.parts or ()]
    return "".join(str(one.response) for one in found if one)


def test_a_session_that_was_killed_in_a_tool_goes_on(tmp_path: Path) -> None:
    store = str(tmp_path / "q.db")
    asked = f"""talk({store!r}, scripted([("look", {{"order": "A13"}})]), "Is A13 open?")"""
    run_killed(__name__, asked)
    model = scripted(["I could not look."])
    session, _ = talk(store, model, "And now?")
    assert [one.author for one in session.events] == ["user", "support", "user", "support"]
    assert session.events[1].get_function_calls()[0].args == {"order": "A13"}
    assert not faults(model.sent[0])
    assert [part.text for part in model.sent[0][0].parts or ()] == ["Is A13 open?"]


def test_each_agent_has_its_own_view(tmp_path: Path) -> None:
    model = scripted([("transfer_to_agent", {"agent_name": "billing"}), "Paid.", "Yes."])
    billing = LlmAgent(name="billing", model=model, instruction="You look after bills.")
    session, plugin = talk(tmp_path / "q.db", model, "Is it paid?", "Sure?", agents=[billing])
    assert len(plugin.session(session, "support").receipts) == 1
    assert len(plugin.session(session, "billing").receipts) == 2
    assert not any(map(faults, model.sent))

    async def delete() -> Any:
        service = QuireSessionService(tmp_path / "q.db")
        await service.delete_session(**ANN, session_id="s-1")
        return (await service.list_sessions(**ANN)).sessions

    assert asyncio.run(delete()) == []
    assert len(QuirePlugin(8_000, tmp_path / "q.db").session(session, "billing").receipts) == 0


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(DOCS / "integrations" / "google-adk.md")
