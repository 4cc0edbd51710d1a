"""Hermes Agent: its context is shortened, and the log keeps all that was said."""

# pyright: basic, reportMissingImports=false

import importlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from quire.items import ToolResult
from quire.providers import check
from quire.stores import MemoryStore
from tests.clients.scenes import Exchange, Scene, Stage, stage
from tests.clients.speaking import says
from tests.docs.pages import DOCS, run_page
from tests.integrations import killed

pytest.importorskip("agent.context_engine", reason="run by `make integrations`, in an environment of its own")

from quire.integrations.hermes import QuireEngine

WINDOW = 4_000


def engine(store: Any, window: int = WINDOW) -> QuireEngine:
    made = QuireEngine(store)
    made.update_model("gpt-5.6", window)
    made.on_session_start("s-1", platform="cli")
    return made


def turn(number: int, text: str = "It waits for the warehouse. " * 10) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return [
        {"role": "user", "content": f"Is A{number} open?"},
        {"role": "assistant", "content": "", "tool_calls": [call], "finish_reason": "tool_calls"},
        {"role": "tool", "tool_call_id": f"c{number}", "name": "look", "content": f"A{number}: {text}"},
        {"role": "assistant", "content": f"A{number} is.", "_db_persisted": True},
    ]


def turns(start: int, end: int) -> list[dict[str, Any]]:
    return [message for number in range(start, end) for message in turn(number)]


def faults(messages: list[dict[str, Any]]) -> list[Any]:
    fields = ("role", "content", "tool_calls", "tool_call_id")
    plain = [{name: one[name] for name in fields if name in one} for one in messages]
    return list(check({"model": "gpt-5.6", "messages": plain}, "openai"))


def results(made: QuireEngine) -> list[str]:
    """The orders in the results that the log holds, in order, also those that are not shown."""
    found = [item for item in made.session.view().recorded() if isinstance(item, ToolResult)]
    return [item.text.partition(":")[0] for item in found]


def test_the_log_goes_on_where_hermes_goes_on_with_the_shorter_list() -> None:
    made, history = engine(MemoryStore()), turns(0, 60)
    assert made.should_compress(5_000) and not made.should_compress(100)
    short = made.compress(history, current_tokens=5_000)
    assert short == history[-len(short) :] and not faults(short) and history == turns(0, 60)
    made.on_session_start("s-1", boundary_reason="compression", old_session_id="s-1")
    again = made.compress([*short, *turns(60, 110)])
    assert len(again) < 200 and not faults(again)
    made.on_session_end("s-1", [*again, *turns(110, 112)])
    assert results(made) == [f"A{number}" for number in range(112)]
    assert len(made.session.view()) == 4 * 112


def test_a_result_without_room_is_a_stub_that_can_be_read() -> None:
    made = engine(MemoryStore(), 8_000)
    short = made.compress(turn(1, "\n".join(f"line {number} of many" for number in range(5_000))))
    (stub,) = [one["content"] for one in short if one["role"] == "tool"]
    assert "read_back" in stub and len(stub) < 200
    (schema,) = made.get_tool_schemas()
    read = made.handle_tool_call(schema["name"], {"handle": killed.handle_in(stub)})
    assert "line 7 of many" in json.loads(read)["output"]
    assert "error" in json.loads(made.handle_tool_call("other", {}))


def test_the_messages_of_one_request_are_selected() -> None:
    made = engine(MemoryStore())
    system = {"role": "system", "content": "You look after orders."}
    selected = made.select_context([system, *turns(0, 60)], budget_tokens=2_000)
    assert selected is not None and selected[0] == system
    assert len(selected) < 100 and not faults(selected)
    made.update_from_response({"prompt_tokens": 1_000, "completion_tokens": 5, "cache_read_tokens": 900})
    assert made.session.spending.usage.cache_read == 900
    assert made.get_status()["last_prompt_tokens"] == 1_000
    made.on_session_reset()
    assert made.last_prompt_tokens == 0


def answer(exchange: Exchange) -> None:
    """Call a tool when asked to, and answer everything else."""
    if exchange.body["messages"][-1]["content"] == "Read it back.":
        says("openai", calls=[("read_back", {"handle": "output-1"})])(exchange)
    else:
        says("openai", "It is open.")(exchange)


def converse(
    home: Path, server: Stage, question: str, history: list[dict[str, Any]] | None = None
) -> tuple[Any, Scene]:
    """Ask an agent of Hermes that has the engine; without a history, it goes on with what it has kept."""
    plugin = home / "plugins" / "quire"
    plugin.mkdir(parents=True, exist_ok=True)
    (plugin / "__init__.py").write_text("from quire.integrations.hermes import register\n")
    (plugin / "plugin.yaml").write_text("name: quire\nversion: '1'\ndescription: Quire\n")
    (home / "config.yaml").write_text(
        "context: {engine: quire}\nplugins: {enabled: [quire]}\nmodel: {context_length: 64000}\n"
    )
    scene = server.scene(answer)
    kept = importlib.import_module("hermes_state").SessionDB(home / "state.db")
    host = importlib.import_module("run_agent").AIAgent(
        base_url=f"{scene.base_url}/v1",
        api_key="none",
        model="scripted",
        quiet_mode=True,
        enabled_toolsets=["context_engine"],
        skip_context_files=True,
        skip_memory=True,
        session_id="s-1",
        session_db=kept,
    )
    known = kept.get_messages_as_conversation("s-1") if history is None else history
    done = host.run_conversation(question, conversation_history=known)
    assert done["final_response"] == "It is open."
    return host.context_compressor, scene


def lose(home: str) -> None:
    """Ask an agent of Hermes that is killed in the middle of a tool."""
    os.environ["HERMES_HOME"] = home
    QuireEngine.handle_tool_call = lambda *_, **__: killed.die()  # type: ignore[assignment,method-assign]
    with stage() as server:
        converse(Path(home), server, "Read it back.", turns(0, 900))


@pytest.mark.filterwarnings("ignore")
def test_an_agent_of_hermes_that_was_killed_in_a_tool_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed.run_killed(__name__, f"lose({str(tmp_path)!r})")
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    with stage() as server:
        made, scene = converse(tmp_path, server, "And now?")
    sent = scene.requests[-1].body["messages"]
    assert not faults(sent) and "Read it back." in str(sent)
    made.on_session_start("s-1")
    assert results(made)[:900] == [f"A{number}" for number in range(900)]


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(DOCS / "integrations" / "hermes.md")
