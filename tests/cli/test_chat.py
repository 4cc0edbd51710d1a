"""`quire chat`: what is said and kept, its commands, questions to the person, and interrupts."""

import os
import pty
import select
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from quire.agent import tool
from quire.agent.builtin import ask_user
from quire.errors import ModelFailed
from quire.items import Message, Reasoning, Summary, ToolCall, ToolResult
from quire.providers import Rendered
from quire.session import Session
from quire.stores import Store
from tests.cli.command_line import Chatting, killed_at_last, nothing_installed, ran, refused, view_of
from tests.models.answerers import NEEDS_LOCAL

LONG = "word " * 14_000
ASKED = ToolCall("c1", "ask_user", '{"question": "Which city?"}')


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Chatting:
    return Chatting(tmp_path / "chats.db", monkeypatch, capsys)


def results(place: Chatting) -> list[str]:
    return [item.text for item in place.items() if isinstance(item, ToolResult)]


def test_answers_are_printed_and_kept_and_a_conversation_is_continued(place: Chatting) -> None:
    first = place.talk("Hello", "", "  ", replies=["Good day to you."])
    assert first.out == "Good day to you.\n" and not first.has_failed
    assert "ana/chat, 0 items so far" in first.err
    second = place.talk(" /And again", replies=["Once more."])  # no command, because of the space
    assert "2 items so far" in second.err and second.out == "Once more.\n"
    sent = [message["content"] for message in second.model.requests[0].payload["messages"]]
    assert sent == ["Be brief.", "Hello", "Good day to you.", "/And again"]


def test_thoughts_and_tools_are_shown_and_no_text_drives_a_terminal(place: Chatting) -> None:
    @tool
    def look_up(name: str) -> str:
        """Look something up."""
        return f"{name} is \x1b[31mred"

    replies = [[Reasoning("Let me see."), ToolCall("c1", "look_up", '{"name": "it"}')], "It is\n\x1b[31mred."]
    talked = place.talk("What is it?", replies=replies, tools=[look_up])
    assert talked.out == "Let me see.\nIt is\n\\x1b[31mred.\n"
    assert '· look_up {"name": "it"}' in talked.err and "· look_up: it is \\x1b[31mred" in talked.err


def test_what_the_model_saw_and_what_it_took(place: Chatting) -> None:
    talked = place.talk("/context", "Hello", "/context", "/budget", replies=["Good day."])
    before, _, after = talked.out.partition("Good day.")
    assert "nothing was sent yet; the model would see:" in before
    for words in ("the model saw:", "Be brief.", "user message", "Hello", "section", "in all"):
        assert words in after
    for words in ("instructions", "history", "free", "reserved for the answer", "window", "1 request"):
        assert words in after.partition("in all")[2]
    assert len(talked.model.requests) == 1
    with Store.open(place.path) as store:
        for number in range(50):
            Session.open(place.address, store=store).user(f"number {number}")
    listed = place.talk("/context").out
    assert "number 49" in listed and "number 3\n" not in listed and "… 13 items before these" in listed


def test_the_history_is_compacted_and_that_is_undone(place: Chatting) -> None:
    typed = ("/compact", LONG, "Go on.", "/compact", "/undo", "/undo")
    talked = place.talk(*typed, replies=["Noted.", "Of course.", "They said a word, often."])
    assert talked.out.startswith("there is nothing to compact\nNoted.\nOf course.\n")
    assert "tokens now" in talked.out and "is undone: 4 items are shown, 3 before" in talked.out
    assert "quire: there is no edit to undo" in talked.err and talked.has_failed
    assert not any(isinstance(item, Summary) for item in place.items())


def test_a_fork_continues_and_the_parent_stays(place: Chatting) -> None:
    talked = place.talk("One", "/fork other", "/compact", "Two", "/context", "/fork", replies=["1", "2"])
    assert "continuing in ana/chat%2Fother; ana/chat stays as it is" in talked.out
    assert "the model saw:" in talked.out and "/fork NAME" in talked.err
    assert len(place.items()) == 2 and len(place.items("ana/chat%2Fother")) == 4


def test_an_error_of_the_model_is_a_line_and_the_chat_goes_on(place: Chatting) -> None:
    fault = ModelFailed("the model failed (500)")
    fault.add_note("the provider says: too\nbad")
    talked = place.talk("Hello", "/resume", "Again", replies=[fault, "Back again.", "Here I am."])
    assert talked.out == "Back again.\nHere I am.\n" and talked.has_failed
    assert "quire: the model failed (500); the provider says: too\\nbad\n" in talked.err
    assert "Traceback" not in talked.err


@pytest.mark.parametrize("runs", [["Plan a trip.", "Rome"], ["Plan a trip.\nRome"]])
def test_the_model_asks_and_the_next_line_answers_also_in_another_run(
    place: Chatting, runs: list[str]
) -> None:
    replies = iter([ASKED, "To Rome!"])

    def reply(_: Rendered) -> Any:
        return next(replies)

    printed = [place.talk(typed, replies=reply, tools=[ask_user]).out for typed in runs]
    assert printed[-1] == "? Which city?\nTo Rome!\n" and results(place) == ["Rome"]


@pytest.mark.parametrize(
    ("typed", "result"),
    [
        (["YES"], "paid"),
        (["no"], "This was not run: it was not approved."),
        (["it is too much"], "This was not run: it is too much."),
        ([], "This was not run: it was not approved."),
    ],
)
def test_a_call_is_approved_or_not(place: Chatting, typed: list[str], result: str) -> None:
    @tool(approve=True)
    def pay(sum: int) -> str:
        """Pay."""
        return "paid"

    replies = [ToolCall("c1", "pay", '{"sum": 5}'), "So be it."]
    talked = place.talk("Pay five.", *typed, replies=replies, tools=[pay])
    assert talked.out == 'approve this call? pay {"sum": 5}\nSo be it.\n' and results(place) == [result]


@pytest.mark.parametrize(
    ("typed", "result"), [(["yes"], "found"), ([], "This was not run: it was not approved.")]
)
def test_a_call_that_was_not_made_here_is_run_only_if_the_person_says_so(
    place: Chatting, typed: list[str], result: str
) -> None:
    @tool
    def look_up() -> str:
        """Look something up."""
        return "found"

    with Store.open(place.path) as store:
        session = Session.open(place.address, store=store)
        session.user("Look it up.")
        session.append(ToolCall("c1", "look_up"))
    talked = place.talk("/resume", *typed, replies=["It is found."], tools=[look_up])
    assert "look_up {} was recorded without a result, and may have run elsewhere" in talked.err
    assert "/resume continues it" in talked.err and results(place) == [result]
    assert talked.out == "approve this call? look_up {}\nIt is found.\n"


def test_unknown_models_tools_and_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ("--store", str(tmp_path / "chats.db"))
    assert '"openai:gpt-5.6"' in refused(2, "chat", *store, "--model", "nonsense", given="Hello\n")
    assert "files, time, ask" in refused(2, "chat", *store, "--tools", "magic", given="Hello\n")
    assert "%2F" in refused(2, "chat", "a/b/c", *store, given="Hello\n")
    monkeypatch.delenv("QUIRE_MODEL", raising=False)
    monkeypatch.setattr("quire.models.local.find_spec", nothing_installed)
    reported = refused(2, "chat", *store, given="Hello\n")
    for words in ("quire[local]", "--model", "openai:gpt-5.6", "local:/path/to/weights.gguf"):
        assert words in reported


@NEEDS_LOCAL
def test_the_embedded_model_answers_without_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUIRE_MODEL", raising=False)
    path = str(tmp_path / "chats.db")
    done = ran("chat", "ana/lamps", "--store", path, given="Hello, what is a lamp?\n/budget\n")
    assert "reserved for the answer        256" in done.stdout
    said = view_of(path, "ana/lamps")
    assert [item.role for item in said] == ["user", "assistant"] and said[1].text.strip() in done.stdout


SLOW = """
import asyncio, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from quire.cli.chat import converse
from quire.models import Answering, Scripted
from quire.stores import Store

class Slow(Scripted):
    def send(self, rendered, **terms):
        answering = super().send(rendered, **terms)
        if "slowly" in str(rendered.payload["messages"][-1]["content"]):
            async def late():
                async with answering:
                    async for delta in answering.deltas():
                        yield delta
                        await asyncio.sleep(3600)
            return Answering(late(), lambda: answering.parsed)
        return answering

with Store.open(sys.argv[1]) as store:
    sys.exit(converse(store, "ana/chat", Slow(lambda sent: "Once upon a time."), "Be brief.", []))
"""


def chatting(path: Path, **pipes: Any) -> "AbstractContextManager[subprocess.Popen[str]]":
    return killed_at_last(subprocess.Popen([sys.executable, "-u", "-c", SLOW, str(path)], text=True, **pipes))


def test_an_interrupt_stops_the_answer_and_not_the_program(tmp_path: Path) -> None:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with chatting(tmp_path / "chats.db", **pipes) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("Tell slowly\n")
        process.stdin.flush()
        assert process.stdout.read(4) == "Once"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate("Tell it\n")
    assert process.returncode == 0, err
    assert out == "\nOnce upon a time.\n" and "interrupted" in err and "Traceback" not in err
    said: list[Message] = view_of(tmp_path / "chats.db", "ana/chat")
    assert [(item.text, item.interrupted) for item in said if item.role == "assistant"] == [
        ("Once", True),
        ("Once upon a time.", False),
    ]


def test_interrupts_at_a_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with chatting(tmp_path / "chats.db", stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        unread = ""

        def wait_for(words: str, is_interrupted: bool = False) -> None:
            nonlocal unread
            if is_interrupted:
                process.send_signal(signal.SIGINT)
            while words not in unread:
                if not is_interrupted or select.select([ours], [], [], 0.5)[0]:
                    unread += os.read(ours, 4096).decode()
                else:
                    process.send_signal(signal.SIGINT)  # again, because one that comes too early is lost
            unread = unread.partition(words)[2]

        wait_for("> ")
        wait_for("/quit ends the conversation", is_interrupted=True)
        wait_for("> ")
        os.write(ours, b"Tell slowly\n")
        wait_for("Once")
        wait_for("interrupted", is_interrupted=True)
        wait_for("> ")
        os.write(ours, b"\x04")
        assert process.wait() == 0
    os.close(ours)
    assert [item.role for item in view_of(tmp_path / "chats.db", "ana/chat")] == ["user", "assistant"]
