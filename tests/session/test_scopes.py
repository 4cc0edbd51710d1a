"""A scope that is erased leaves nothing of a person: no text, no name, in no file; others stay."""

from pathlib import Path
from zipfile import ZipFile

import pytest

pytest.importorskip("typer", reason="the command line needs the extra quire[cli]")

from quire import Agent, Budget, Template, tool
from quire.errors import Conflict, Forgotten
from quire.items import Note, ToolCall
from quire.memory import Knowledge, Memory, Recall, recalled
from quire.models import Scripted
from quire.sections import History
from quire.session import Job, Session, erase_scopes, wait_for
from quire.stores import Store
from tests.cli.command_line import ENDINGS, ran, ran_json, refused, run
from tests.session.opened import answer

STRINGS = (
    *("lovelace", "heliotrope", "marmalade", "zeppelin-4711", "quince", "sarsaparilla"),
    *("tangerine", "umbrella", "velvet", "walrus"),
)
"""A string of each thing that is kept: names, messages, documents, notes, forks, parameters, jobs."""


def lived(path: Path) -> Store:
    """A store in which a person of the shop left all of it, and another one something."""
    store = Store.open(path)
    session = Session.open(scope="shop/lovelace", conversation="about heliotrope", store=store)
    session.user("I like marmalade.")
    session.pool.keep(Note("quince", key="umbrella"))
    context = session.build(Template(History(), budget=Budget(window=8_000), model="gpt-5.6"))
    context.render("openai")
    context.sent(parameters={"user": "zeppelin-4711"})
    session.fork("sarsaparilla").user("velvet")
    wait_for(session.jobs.submit(Job.of("walrus")))
    Knowledge(store, "shop/lovelace").add_text("The tangerine ripens.", source="tangerine.md")
    assert recalled(Memory.of(store, "shop/lovelace"), "marmalade")
    Session.open(scope="shop/bob", conversation="q3", store=store).user("I stay.")
    return store


def left_in(folder: Path) -> list[str]:
    """The strings that a file of the store still has, in any letter case."""
    data = b"".join(path.read_bytes() for path in folder.iterdir() if path.name.startswith("chats")).lower()
    return [text for text in STRINGS if text.encode() in data]


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_string_of_an_erased_scope_is_in_a_file(tmp_path: Path, ending: str) -> None:
    path, archive = tmp_path / f"chats.{ending}", tmp_path / "all.zip"
    lived(path).close()
    assert left_in(tmp_path) == list(STRINGS)
    where = ("--store", str(path), "--scope")
    ran("export", *where, "shop/lovelace", "--output", str(archive))
    with ZipFile(archive) as found:
        text = "".join(found.namelist()) + b"".join(map(found.read, found.namelist())).decode()
        assert "shop%2Flovelace/about%20heliotrope.jsonl" in found.namelist()
    assert [one for one in STRINGS if one not in text] == []
    assert "cannot be written" in refused(2, "export", *where, "shop/lovelace", "--output", str(archive))
    archive.unlink()

    assert "there is 'shop/lovelace'" in refused(1, "forget", *where, "lovelace")
    assert "one of the two" in refused(2, "forget", *where, "shop", "--all")
    asked = run("forget", *where, "shop", given="n\n")
    assert asked.exit_code == 1 and "shop/bob" in asked.stdout and "Forget all of 2 scopes" in asked.stderr
    (row,) = ran_json("forget", *where, "shop/lovelace", "--yes")
    assert (row["conversations"], row["documents"], row["jobs"]) == (2, 1, 1) and row["entries"] > 8
    assert left_in(tmp_path) == []
    with Store.open(path) as store:
        assert store.scopes() == ["shop/bob"]
        assert "I stay." in str(Session.open(scope="shop/bob", conversation="q3", store=store).view()[0])


STREAMED = {
    "object": "chat.completion.chunk",
    "choices": [{"index": 0, "delta": {"role": "assistant", "content": "It is heliotrope."}}],
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("by", ["this process", "another"])
@pytest.mark.parametrize("sent", ["built", "rendered", "streamed"])
def test_what_a_turn_has_of_an_erased_scope_is_not_written_again(
    tmp_path: Path, ending: str, by: str, sent: str
) -> None:
    path = tmp_path / f"chats.{ending}"
    store = Store.open(path)
    Session.open("ana/notes", store=store).user("The word for the locker is heliotrope.")
    session = Session.open("ana/now", store=store)
    session.user("Which word opens the locker?")
    context = session.build(
        Template(History(), Recall(tokens=200), budget=Budget(window=900), model="gpt-5.6")
    )
    assert any("heliotrope" in getattr(item, "text", "") for item in context.items)
    if sent != "built":
        context.render("openai")
    eraser = store if by == "this process" else Store.open(path)
    assert len(list(erase_scopes(eraser, ["ana"]))) >= 2
    with pytest.raises(Forgotten):
        if sent == "built":
            context.render("openai")
        elif sent == "streamed":
            list(session.listen(iter([STREAMED]), sent=context))
        else:
            session.record(answer("It is heliotrope."), sent=context)
    eraser.close()
    store.close()
    assert "heliotrope" not in left_in(tmp_path)
    assert list(Session.open("ana/now", store=path).view()) == []


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("by", ["this process", "another"])
def test_a_tool_that_erases_the_scope_ends_its_turn_and_nothing_is_left(
    tmp_path: Path, ending: str, by: str
) -> None:
    path = tmp_path / f"chats.{ending}"
    store = Store.open(path)
    eraser = store if by == "this process" else Store.open(path)

    @tool
    def erase() -> str:
        list(erase_scopes(eraser, ["ana"]))
        return "The heliotrope is gone."

    model = Scripted([[ToolCall("c1", "erase", "{}")], "The word was heliotrope."])
    agent = Agent(Session.open("ana/now", store=store), model=model, tools=[erase])
    with pytest.raises((Conflict, Forgotten)):
        agent.ask_sync("Erase me. My word is heliotrope.")
    eraser.close()
    store.close()
    assert "heliotrope" not in left_in(tmp_path)
