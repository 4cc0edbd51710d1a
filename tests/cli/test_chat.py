"""`quire chat`: what is said and kept, and what a person can tell it to do."""

import json
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from quire.agent import tool
from quire.agent.builtin import ask_user
from quire.errors import ModelFailed
from quire.items import Message, Reasoning, Summary, ToolCall, ToolResult
from quire.session import Session
from quire.stores import Store
from tests.cli.conversing import ran, refused, run
from tests.cli.talking import ADDRESS, Place, nothing_installed
from tests.models.answerers import NEEDS_LOCAL, NEEDS_SDK

LONG = "word " * 14_000
ASKED = ToolCall("c1", "ask_user", '{"question": "Which city?"}')


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Place:
    return Place(tmp_path / "chats.db", monkeypatch, capsys)


def results(place: Place) -> list[str]:
    return [item.text for item in place.items() if isinstance(item, ToolResult)]


def test_answers_are_printed_and_kept_and_a_conversation_goes_on(place: Place) -> None:
    first = place.talk("Hello", "", "  ", replies=["Good day to you."])
    assert first.out == "Good day to you.\n" and not first.has_failed
    assert "ana/chat, 0 items so far" in first.err
    second = place.talk(" And again", replies=["Once more."])
    assert "2 items so far" in second.err and second.out == "Once more.\n"
    sent = [message["content"] for message in second.model.requests[0].payload["messages"]]
    assert sent == ["Be brief.", "Hello", "Good day to you.", "And again"]


def test_thoughts_and_tools_are_told_and_no_text_drives_a_terminal(place: Place) -> None:
    @tool
    def look_up(name: str) -> str:
        """Look something up."""
        return f"{name} is \x1b[31mred"

    replies = [[Reasoning("Let me see."), ToolCall("c1", "look_up", '{"name": "it"}')], "It is\n\x1b[31mred."]
    talked = place.talk("What is it?", replies=replies, tools=[look_up])
    assert talked.out == "Let me see.\nIt is\n\\x1b[31mred.\n"
    assert '· look_up {"name": "it"}' in talked.err and "· look_up: it is \\x1b[31mred" in talked.err


def test_what_the_model_saw_and_what_it_took(place: Place) -> None:
    talked = place.talk("/context", "Hello", "/context", "/budget", replies=["Good day."])
    before, _, after = talked.out.partition("Good day.")
    assert "nothing was sent yet; the model would see:" in before
    for words in ("the model saw:", "Be brief.", "user message", "Hello", "section", "in all"):
        assert words in after
    for words in ("instructions", "history", "free", "kept for the answer", "window", "1 request"):
        assert words in after.partition("in all")[2]
    assert len(talked.model.requests) == 1


def test_a_long_context_is_not_listed_from_its_beginning(place: Place) -> None:
    with Store.open(place.path) as store:
        session = Session.open(ADDRESS, store=store)
        for number in range(50):
            session.user(f"number {number}")
    out = place.talk("/context").out
    assert "number 49" in out and "number 3\n" not in out and "… 11 items before these" in out


def test_it_is_made_smaller_and_that_is_taken_back(place: Place) -> None:
    lines = ("/compact", LONG, "Go on.", "/compact", "/undo", "/undo")
    talked = place.talk(*lines, replies=["Noted.", "Of course.", "They said a word, often."])
    assert talked.out.startswith("there is nothing to make smaller\nNoted.\nOf course.\n")
    assert "tokens now" in talked.out and "is taken back: 4 items are shown, 3 before" in talked.out
    assert "quire: there is no edit to undo" in talked.err and talked.has_failed
    assert not any(isinstance(item, Summary) for item in place.items())


def test_a_fork_goes_on_and_the_rest_stays_as_it_is(place: Place) -> None:
    talked = place.talk("One", "/fork other", "Two", "/fork", replies=["1", "2"])
    assert "this goes on in ana/chat%2Fother; ana/chat stays as it is" in talked.out
    assert "/fork NAME" in talked.err
    assert len(place.items()) == 2 and len(place.items("ana/chat%2Fother")) == 4


def test_a_fork_has_seen_nothing_and_is_made_smaller_all_the_same(place: Place) -> None:
    said = ("One " * 50, "Two " * 50, "Three " * 50)
    talked = place.talk(
        *said, "/fork other", "/compact", "/context", "Four", "/context", replies=["1", "2", "3", "4"]
    )
    assert not talked.has_failed, talked.err
    before, _, after = talked.out.partition("4\n")
    assert "the model would see:" in before and "the model saw:" in after


def test_what_is_saved_can_be_imported(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "saved.json"
    talked = place.talk(
        "Hello", f"/save {file}", "/save /nowhere/at/all.json", "/save", replies=["Good day."]
    )
    assert f"2 items written to {file}" in talked.out
    assert "/nowhere/at/all.json" in talked.err and "/save FILE" in talked.err
    assert [item["kind"] for item in json.loads(file.read_text())] == ["message", "message"]
    ran("import", str(file), "ana/copy", "--store", str(place.path))
    assert [getattr(item, "text", "") for item in place.items("ana/copy")] == ["Hello", "Good day."]


def test_help_what_there_is_not_and_the_end(place: Place) -> None:
    talked = place.talk("/help", "/nonsense", "/resume", "/quit", "Hello")
    for name in ("context", "budget", "compact", "undo", "fork", "save", "resume", "help", "quit"):
        assert f"/{name}" in talked.out
    assert "there is no /nonsense" in talked.err and "nothing was said yet" in talked.err
    assert talked.model.requests == [] and place.items() == []


def test_a_failing_model_is_a_line_and_it_goes_on(place: Place) -> None:
    fault = ModelFailed("the model failed (500)")
    fault.add_note("the provider says: too\nbad")
    talked = place.talk("Hello", "/resume", "Again", replies=[fault, "Back again.", "Here I am."])
    assert talked.out == "Back again.\nHere I am.\n" and talked.has_failed
    assert "quire: the model failed (500); the provider says: too\\nbad\n" in talked.err
    assert "Traceback" not in talked.err


def test_the_model_asks_and_the_next_line_answers(place: Place) -> None:
    talked = place.talk("Plan a trip.", "Rome", replies=[ASKED, "To Rome!"], tools=[ask_user])
    assert talked.out == "? Which city?\nTo Rome!\n"
    assert results(place) == ["Rome"]


def test_a_question_waits_for_the_next_time(place: Place) -> None:
    assert place.talk("Plan a trip.", replies=[ASKED], tools=[ask_user]).out == "? Which city?\n"
    talked = place.talk("Rome", replies=["To Rome!"], tools=[ask_user])
    assert talked.out == "? Which city?\nTo Rome!\n" and results(place) == ["Rome"]


@pytest.mark.parametrize(
    ("lines", "result"),
    [
        (["y"], "paid"),
        (["YES"], "paid"),
        (["no"], "This was not run: it was not approved."),
        (["it is too much"], "This was not run: it is too much."),
        ([], "This was not run: it was not approved."),
    ],
)
def test_a_call_is_approved_or_not(place: Place, lines: list[str], result: str) -> None:
    @tool(approve=True)
    def pay(sum: int) -> str:
        """Pay."""
        return "paid"

    replies = [ToolCall("c1", "pay", '{"sum": 5}'), "So be it."]
    talked = place.talk("Pay five.", *lines, replies=replies, tools=[pay])
    assert talked.out == 'may this be run? pay {"sum": 5}\nSo be it.\n'
    assert results(place) == [result]


def test_a_turn_that_was_left_in_the_middle_goes_on(place: Place) -> None:
    @tool
    def look_up() -> str:
        """Look something up."""
        return "found"

    with Store.open(place.path) as store:
        session = Session.open(ADDRESS, store=store)
        session.user("Look it up.")
        session.append(ToolCall("c1", "look_up"))
    talked = place.talk("/resume", replies=["It is found."], tools=[look_up])
    assert "/resume goes on with it" in talked.err and talked.out == "It is found.\n"
    assert results(place) == ["found"]


def test_files_are_changed_only_once_somebody_said_yes(place: Place, tmp_path: Path) -> None:
    from quire.cli.tool_choice import chosen_tools

    tools = chosen_tools("files, time", str(tmp_path / "room"))
    assert {"list_files", "write_file", "current_time", "read_back"} <= {one.name for one in tools}
    write = ToolCall("c1", "write_file", '{"path": "a.txt", "content": "words"}')
    look = ToolCall("c3", "list_files", "{}")
    replies = [write, "no", ToolCall("c2", "write_file", write.arguments), "yes", look, "there"]
    talked = place.talk("Write.", "no", "Write!", "y", "Look.", replies=replies, tools=tools)
    assert talked.out.count("may this be run?") == 2 and "a.txt" in results(place)[-1]
    assert [file.read_text() for file in (tmp_path / "room").rglob("a.txt")] == ["words"]


def test_no_such_model_tools_or_address(tmp_path: Path) -> None:
    store = ("--store", str(tmp_path / "chats.db"))
    assert '"openai:gpt-5.6"' in refused(2, "chat", *store, "--model", "nonsense", given="Hello\n")
    assert "files, time, ask" in refused(2, "chat", *store, "--tools", "magic", given="Hello\n")
    assert "%2F" in refused(2, "chat", "a/b/c", *store, given="Hello\n")


def test_without_a_model_on_this_machine_the_ways_to_name_one_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QUIRE_MODEL", raising=False)
    monkeypatch.setattr("quire.models.local.find_spec", nothing_installed)
    said = refused(2, "chat", "--store", str(tmp_path / "chats.db"), given="Hello\n")
    for words in ("quire[local]", "--model", "openai:gpt-5.6", "local:/path/to/weights.gguf"):
        assert words in said


@pytest.mark.usefixtures("_no_keys")
@pytest.mark.parametrize("wire", [pytest.param("openai", marks=NEEDS_SDK["openai"])])
def test_without_a_key_there_is_a_line_and_what_was_said_is_kept(tmp_path: Path, wire: str) -> None:
    path = str(tmp_path / "chats.db")
    done = run("chat", "--store", path, "--model", f"{wire}:gpt-5.6", given="Hello\n")
    assert done.exit_code == 1 and done.stdout == ""
    assert "quire: " in done.stderr and "Traceback" not in done.stderr
    with Store.open(path) as store:
        kept = [
            item.text for item in Session.open("me/chat", store=store).view() if isinstance(item, Message)
        ]
    assert kept == ["Hello"]


@pytest.fixture
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("question", [pytest.param("Hello, what is a lamp?", marks=NEEDS_LOCAL, id="local")])
def test_the_embedded_model_answers_without_a_key(
    tmp_path: Path, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QUIRE_MODEL", raising=False)
    path = str(tmp_path / "chats.db")
    done = ran("chat", "ana/lamps", "--store", path, given=f"{question}\n/budget\n")
    assert "kept for the answer        256" in done.stdout
    with Store.open(path) as store:
        session = Session.open("ana/lamps", store=store)
        said = [item for item in session.view() if isinstance(item, Message)]
        assert [item.role for item in said] == ["user", "assistant"]
        assert said[1].text.strip() in done.stdout
        assert session.spending.usage.output > 0
