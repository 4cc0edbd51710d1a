"""The server of the Model Context Protocol, asked by the official client in process, on stdio and by HTTP."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from hypothesis import given, strategies as st

pytest.importorskip("mcp", reason="needs the extra quire[mcp]")
pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from mcp import Client, MCPError, StdioServerParameters
from mcp.types import TextContent, TextResourceContents

import quire
from quire import Budget, Template
from quire.items import Message, Span, Summary
from quire.mcp import server
from quire.memory import Knowledge
from quire.sections import History
from quire.session import Session
from quire.stores import MemoryStore, Store
from tests.cli.command_line import refused
from tests.service.serving import free_port
from tests.session.opened import answer as reply, called, send

T = TypeVar("T")

TOOLS = ["list", "show", "recall", "why", "explain", "diff", "check", "fit"]
ADDRESS, SECRET = "ana/trip", "heliotrope"
LONG = "ticket line, " * 1_000


def seeded(store: Store) -> Store:
    """A store with a long result, a request and a summary in one conversation, and one of another scope."""
    session = Session.open(ADDRESS, store=store)
    session.append(Message("system", "Be brief."))
    asked = session.user("Where do I fly? My seat is 14C.")
    session.tool(LONG, call_id=called(session, "look_up").call_id)
    send(session.build(Template(History(), budget=Budget(window=8_000), model="gpt-5.6")))
    session.record(reply("To Oslo."))
    session.user("And when?")
    session.append(Summary("They fly to Oslo.", (Span(asked.id, asked.id),)))
    Knowledge(store, "ana").add_text("Seats are changed at the desk.", source="desk.md")
    Session.open(f"bob/{SECRET}", store=store).user(f"My word is {SECRET}.")
    return store


@pytest.fixture
def store() -> Store:
    return seeded(MemoryStore())


def served(store: Store, use: Callable[[Client], Awaitable[T]], **options: Any) -> T:
    """What a client gets of a server of a store."""
    return asyncio.run(with_client(server(store, **options), use))


async def with_client(place: Any, use: Callable[[Client], Awaitable[T]]) -> T:
    async with Client(place) as client:
        return await use(client)


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    """The structured answer of a tool, which its text has too."""
    result = await client.call_tool(tool, arguments)
    (text,) = result.content
    assert isinstance(text, TextContent) and not result.is_error, text
    assert json.loads(text.text) == result.structured_content
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """The sentence with which a tool refuses."""
    result = await client.call_tool(tool, arguments)
    (text,) = result.content
    assert isinstance(text, TextContent) and result.is_error
    assert "Traceback" not in text.text and "\n" not in text.text and "https:" not in text.text
    return text.text


async def resource(client: Client, address: str) -> Any:
    (content,) = (await client.read_resource(address)).contents
    assert isinstance(content, TextResourceContents) and content.mime_type == "application/json"
    return json.loads(content.text)


async def every_tool(client: Client, *, writes: bool = False) -> None:
    """Use each tool, and each resource that an answer names."""
    listed = await client.list_tools()
    assert [tool.name for tool in listed.tools] == [*TOOLS, *(["undo"] if writes else [])]
    found = await answer(client, "list")
    assert ADDRESS in [row["address"] for row in found["conversations"]] and found["next"] is None
    shown = await answer(client, "show", address=ADDRESS)
    kinds = [row["item"]["kind"] for row in shown["items"]]
    assert kinds == ["message", "summary", "tool_call", "tool_result", "message", "message"]
    assert shown["length"] == 6 and shown["tokens"] > 1_000

    sent = await answer(client, "show", address=ADDRESS, receipt="last")
    assert sent["length"] == 4 and "history" in sent["receipt"] and sent["not_shown"] == []
    asked = sent["items"][1]["item"]
    assert asked["text"] == "Where do I fly? My seat is 14C."
    (why,) = (await answer(client, "why", words="seat 14C", within="ana/"))["found"]
    assert why == await answer(client, "explain", address=ADDRESS, item=asked["id"])
    assert (
        why["entry"]["fate"] == "shown" and why["last"]["version"] == sent["version"] and why["seen_in"] == 1
    )
    fate = await answer(client, "explain", address=ADDRESS, item=asked["id"], budget=8_000)
    assert fate["fate"] == "summarised"

    differing = await answer(client, "diff", address=ADDRESS, before=sent["version"])
    first = differing["items"][0]
    assert first["item"]["id"] == asked["id"] and first["state"] == "summarised"
    assert first["by"] == differing["items"][1]["item"]["id"]
    recalled = await answer(client, "recall", question="Which seat is mine?", scope="ana")
    assert any("14C" in row["text"] for row in recalled["found"])
    assert any(row["source"] == "desk.md" for row in recalled["found"])

    checked = await answer(client, "check", provider="anthropic", address=ADDRESS)
    assert checked["faults"] == [] and checked["more"] == 0
    broken = [{"role": "tool", "tool_call_id": "c1", "content": "42"}]
    checked = await answer(client, "check", provider="openai", history=broken)
    assert [fault["place"] for fault in checked["faults"]] == ["messages[0].tool_call_id"]
    fitted = await answer(client, "fit", address=ADDRESS, budget=500, payload="openai")
    assert fitted["tokens"] <= 500
    assert {group["fate"] for group in fitted["not_shown"]} == {"summarised", "left out"}
    assert [message["role"] for message in fitted["payload"]["messages"]][-1] == "user"

    kept = await resource(client, f"quire://{ADDRESS}/receipts/{sent['version']}")
    assert kept["request"]["messages"][1]["content"] == asked["text"]
    view = await resource(client, f"quire://{ADDRESS}/views/main/{sent['version'] - 1}")
    assert view["length"] == 4 and view["items"][3]["item"]["content"] == LONG
    whole = await resource(client, f"quire://{ADDRESS}/items/{asked['id']}")
    assert whole["content"] == asked["text"]


async def undo_and_redo(client: Client) -> None:
    shown = await answer(client, "show", address=ADDRESS)
    edit = shown["items"][1]["item"]["id"]
    undone = await answer(client, "undo", address=ADDRESS)
    assert undone["undone"] == edit and undone["before"] == undone["shown"] == 6
    shown = await answer(client, "show", address=ADDRESS)
    assert shown["items"][1]["item"]["kind"] == "message"
    assert "is undone" in await refusal(client, "undo", address=ADDRESS, edit=edit)


# Tools and resources


def test_reading_changes_nothing(store: Store) -> None:
    before = {place: store.read(place) for place in store.places()}
    served(store, every_tool)
    assert {place: store.read(place) for place in store.places()} == before


def test_only_a_server_that_writes_can_undo(store: Store) -> None:
    before = store.places()
    assert "Unknown tool" in served(store, lambda client: refusal(client, "undo", address=ADDRESS))
    assert store.places() == before
    served(store, lambda client: every_tool(client, writes=True), write=True)
    served(store, undo_and_redo, write=True)


def test_what_never_changes_may_be_kept_for_an_hour_by_one_client(store: Store) -> None:
    read = served(store, lambda client: client.read_resource(f"quire://{ADDRESS}/views/main/2"))
    assert (read.ttl_ms, read.cache_scope) == (3_600_000, "private")
    templates = served(store, Client.list_resource_templates).resource_templates
    assert all(one.uri_template.startswith("quire://{scope}/{conversation}/") for one in templates)


# Long answers


def test_a_long_text_is_cut_and_says_where_the_rest_is(store: Store) -> None:
    async def read(client: Client) -> tuple[Any, Any]:
        shown = await answer(client, "show", address=ADDRESS)
        item = shown["items"][3]["item"]
        return item, await resource(client, f"quire://{ADDRESS}/items/{item['id']}")

    cut, whole = served(store, read)
    assert (cut["text"], cut["length"], cut["next"]) == (LONG[:2_000], len(LONG), 2_000)
    assert whole["content"] == LONG


def test_pages_have_everything_once() -> None:
    store = MemoryStore()
    session = Session.open("ana/long", store=store)
    said = session.append(*(Message("user", f"{number} " + "word " * 150) for number in range(250)))

    async def walk(client: Client) -> tuple[list[str], list[str], int]:
        found, starts = list[str](), list[Any]([0])
        while starts[-1] is not None:
            page = await answer(client, "show", address="ana/long", start=starts[-1])
            found += [row["item"]["id"] for row in page["items"]]
            starts.append(page["next"])
        read, address = list[str](), "quire://ana/long/views/main/250"
        while address:
            page = await resource(client, address)
            read += [row["item"]["id"] for row in page["items"]]
            address = page["next"]
        last = await answer(client, "show", address="ana/long", start=-2)
        assert [row["item"]["id"] for row in last["items"]] == found[-2:] and last["next"] is None
        return found, read, len(starts)

    found, read, pages = served(store, walk)
    assert found == read == [item.id for item in said] and pages > 10


# Wrong input


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("show", {"address": "ana/nowhere"}, "there is no conversation ana/nowhere here"),
        ("show", {"address": "a/b/c"}, "an address must be scope/conversation"),
        ("show", {"address": "%ff"}, "not UTF-8"),
        ("show", {"address": ADDRESS, "at": 99}, "the versions are 0 to"),
        ("show", {"address": ADDRESS, "transcript": "other"}, "no transcript 'other'"),
        ("show", {"address": ADDRESS, "receipt": "99"}, "no request was kept at version '99'"),
        ("fit", {"budget": "no"}, "address: Field required; budget: Input should be"),
        ("recall", {"question": "What?", "scope": "nobody"}, "there is nothing in the scope 'nobody'"),
        ("recall", {"question": "What?"}, "name a scope: 'ana', 'bob'"),
        ("explain", {"address": ADDRESS, "item": "none"}, "there is no item 'none' here"),
        ("why", {"words": "nobody said this"}, "nothing here has 'nobody said this'"),
        ("diff", {"address": ADDRESS, "before": 3, "after": 2}, "`before` must be the earlier version"),
        ("check", {"provider": "openai"}, "one of the two"),
        ("check", {"provider": "nobody", "address": ADDRESS}, "'openai', 'openai-responses'"),
        ("fit", {"address": ADDRESS, "budget": 0}, "greater than or equal to 1"),
        ("fit", {"address": ADDRESS, "budget": 3}, "tokens"),
    ],
)
def test_wrong_input_is_refused_in_a_sentence(
    tool: str, arguments: dict[str, Any], reason: str, store: Store
) -> None:
    assert reason in served(store, lambda client: refusal(client, tool, **arguments))


def test_a_conversation_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="needs the extra quire[sealed]")
    with Store.open(tmp_path / "chats.db", key=bytes(32)) as store:
        Session.open("ana/sealed", store=store).user("Hello")
    with seeded(Store.open(tmp_path / "chats.db")) as store:
        rows = served(store, lambda client: answer(client, "list"), scope="ana")["conversations"]
    assert [row["address"] for row in rows] == [ADDRESS, "ana/sealed"]  # the latest first
    assert rows[0]["items"] == 6 and "is sealed" in rows[1]["fault"]


# Scopes


ENCODED = st.text("bo%62F2.ana/trip" + SECRET, max_size=30)
NAMES = st.one_of(
    st.text(max_size=20),
    ENCODED,
    st.sampled_from(["bob", "", "ana", "ana/../bob", "%62ob", "bob%2F", "ana%2F..%2Fbob", "BOB", "bob\0"]),
)
ADDRESSES = st.one_of(NAMES, st.builds("{}/{}".format, NAMES, st.sampled_from([SECRET, "trip"]) | NAMES))


@given(st.lists(st.tuples(ADDRESSES, NAMES), min_size=1, max_size=5))
def test_nothing_outside_of_a_scope_can_be_named_or_seen(names: list[tuple[str, str]]) -> None:
    store = seeded(MemoryStore())
    word = Session.open(f"bob/{SECRET}", store=store).view()[0].id

    async def spy(client: Client) -> list[str]:
        heard: list[str] = []
        for address, scope in [*names, (f"bob/{SECRET}", "bob")]:
            calls: list[tuple[str, dict[str, Any]]] = [
                ("list", {}),
                ("show", {"address": address}),
                ("recall", {"question": "What is my word?", "scope": scope}),
                ("explain", {"address": address, "item": word, "budget": 1_000}),
                ("explain", {"address": address, "item": word}),
                ("why", {"words": SECRET, "within": address}),
                ("list", {"after": f"0~{address}"}),
                ("diff", {"address": address, "before": 0}),
                ("check", {"provider": "openai", "address": address or "x"}),
                ("fit", {"address": address, "budget": 1_000, "payload": "openai"}),
                ("undo", {"address": address}),
            ]
            assert {tool for tool, _ in calls} == {tool.name for tool in (await client.list_tools()).tools}
            for tool, arguments in calls:
                result = await client.call_tool(tool, arguments)
                heard.append("" if result.is_error else json.dumps(result.structured_content))
            for path in (f"items/{word}", "views/main/1", "receipts/1"):
                for start in (address, f"{scope}/{SECRET}"):
                    try:
                        heard.append(json.dumps(await resource(client, f"quire://{start}/{path}")))
                    except MCPError:
                        continue
        return heard

    assert SECRET not in "".join(served(store, spy, scope="ana", write=True))
    assert len(Session.open(f"bob/{SECRET}", store=store).view().recorded()) == 1


def test_a_scope_answers_of_others_as_of_what_does_not_exist(store: Store) -> None:
    async def ask(client: Client) -> list[str]:
        names = (f"bob/{SECRET}", "bob/nothing")
        found = await refusal(client, "recall", question="What?", scope="bob")
        assert found.endswith("there is nothing in the scope 'bob' here; there are 'ana'")
        return [(await refusal(client, "show", address=name)).replace(name, "X") for name in names]

    there, nowhere = served(store, ask, scope="ana")
    assert there == nowhere


# Transports


@pytest.fixture
def path(tmp_path: Path) -> str:
    with Store.open(tmp_path / "chats.db") as store:
        seeded(store)
    return str(tmp_path / "chats.db")


def command(*arguments: str) -> StdioServerParameters:
    """The command as a client starts it, with the source of these tests."""
    source = {"PYTHONPATH": str(Path(quire.__file__).parent.parent)}
    return StdioServerParameters(command=sys.executable, args=["-m", "quire", "mcp", *arguments], env=source)


def test_the_command_serves_a_client_on_stdio(path: str) -> None:
    async def work(client: Client) -> None:
        await every_tool(client, writes=True)
        await undo_and_redo(client)

    asyncio.run(with_client(command(path, "--write", "--scope", "ana"), work))


def test_the_command_says_what_is_missing(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "there is no store at none.db" in refused(2, "mcp", "none.db")
    monkeypatch.delitem(sys.modules, "quire.mcp")
    monkeypatch.setitem(sys.modules, "mcp.server.caching", None)
    assert "pip install 'quire[mcp]'" in refused(2, "mcp", path)


@contextmanager
def serving(path: str, *options: str, host: str = "127.0.0.1", **variables: str) -> Generator[str]:
    """The address of the command as it serves by HTTP."""
    port = free_port()
    started = command(path, "--port", str(port), "--host", host, *options)
    line, env = [started.command, *started.args], {**(started.env or {}), **variables}
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=env) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline().strip() == f"http://{host}:{port}/mcp"
            with socket.socket() as asking:
                while asking.connect_ex(("127.0.0.1", port)) and process.poll() is None:
                    time.sleep(0.05)
            yield f"http://{host}:{port}/mcp"
        finally:
            process.terminate()


def test_the_command_serves_clients_by_http_on_this_machine(path: str) -> None:
    with serving(path) as address:

        async def two_at_once() -> None:
            await asyncio.gather(*(with_client(address, every_tool) for _ in range(2)))

        asyncio.run(two_at_once())
        foreign = Request(address, b"{}", {"Host": "elsewhere.example", "Content-Type": "application/json"})
        with pytest.raises(HTTPError, match="421"):  # a page in a browser that calls itself elsewhere.example
            urlopen(foreign)


def test_other_machines_are_answered_with_a_key_only(path: str) -> None:
    beyond, key = ("--port", "8765", "--host", "0.0.0.0", "--write"), "a key of some length"
    assert "QUIRE_MCP_KEY" in refused(2, "mcp", path, *beyond)
    assert "16 characters" in refused(2, "mcp", path, *beyond, "--access-key", "short")
    with serving(path, "--write", host="0.0.0.0", QUIRE_MCP_KEY=key) as address:
        for given, status in (({}, 401), ({"Authorization": "Bearer wrong"}, 401), (bearer(key), 406)):
            with pytest.raises(HTTPError) as raised:
                urlopen(Request(address.replace("0.0.0.0", "127.0.0.1"), b"{}", given))
            with raised.value as refusal:
                assert refusal.code == status


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
