"""Files and folders: each source once, what did not change is not written, and what fails is told."""

import os
from hashlib import blake2b
from pathlib import Path

import pytest

from quire.errors import InvalidLimit, InvalidValue, NewerStore, StoreDamaged, UnknownKey, WrongType
from quire.items import JSON, Note, use_clock
from quire.memory.documents import Document, read_document
from quire.memory.knowledge import KNOWLEDGE, Knowledge, Remark, Report, is_reserved, knowledge as verbs
from quire.stores import Entry, MemoryStore, Place, Store, Stored
from tests.memory.knowledge.folders import all_said, guide, written

HERE = Place("ana", KNOWLEDGE)


@pytest.fixture
def store() -> Store:
    return MemoryStore()


@pytest.fixture
def knowledge(store: Store) -> Knowledge:
    return Knowledge(store, "ana")


def test_a_folder_is_added_with_progress_and_a_report(tmp_path: Path, knowledge: Knowledge) -> None:
    folder = written(tmp_path / "docs", a=guide("tide"), b=guide("lamp", "quay"))
    written(folder / "inner", c=guide("rope"))
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    (folder / ".hidden.md").write_text("not seen")
    told: list[tuple[int, int, str]] = []
    report = knowledge.add(folder, progress=lambda *said: told.append(said))  # pyright: ignore
    names = [f"{folder}/{name}" for name in ("a.md", "b.md", "inner/c.md", "picture.png")]
    assert report.added == tuple(names[:3])
    assert [remark.source for remark in report.failed] == names[3:] and "binary" in report.failed[0].text
    assert told == [(number, 4, told[number - 1][2]) for number in range(1, 5)]
    assert {source for *_, source in told} == set(names)
    assert [(one.name, one.title, one.chunks) for one in knowledge.sources()] == [
        (names[0], "Part tide", 1),
        (names[1], "Part lamp", 2),
        (names[2], "Part rope", 1),
    ]
    assert str(report) == "3 added, 1 failed" and str(Report()) == "nothing to add"


def test_only_what_changed_is_written(tmp_path: Path, store: Store, knowledge: Knowledge) -> None:
    folder = written(tmp_path / "docs", a=guide("tide", "lamp", "quay"), b=guide("rope"))
    knowledge.add(folder, name="docs")
    before, version = knowledge.chunks("docs/a.md"), store.version(HERE)
    assert knowledge.add(folder, name="docs").unchanged == ("docs/a.md", "docs/b.md")
    assert store.version(HERE) == version
    written(folder, a=guide("tide", "oars", "quay"))
    assert knowledge.add(folder, name="docs") == Report(updated=("docs/a.md",), unchanged=("docs/b.md",))
    after = knowledge.chunks("docs/a.md")
    assert store.version(HERE) == version + 2, "a record and one chunk"
    assert [old.id == new.id for old, new in zip(before, after, strict=True)] == [True, False, True]
    grown = knowledge.follow(version)
    assert (grown.added, grown.gone) == ((after[1],), (before[1].id,))


def test_what_is_gone_from_a_folder_is_removed_when_asked(tmp_path: Path, knowledge: Knowledge) -> None:
    folder = written(tmp_path / "docs", a=guide("tide"), b=guide("lamp"))
    knowledge.add(folder, name="docs")
    knowledge.add_text("Beside it.", source="docs-too")
    (folder / "a.md").unlink()
    assert knowledge.add(folder, name="docs").removed == ()
    assert len(knowledge.sources()) == 3
    (folder / "b.md").write_bytes(b"\x00\x01")
    report = knowledge.add(folder, name="docs", prune=True)
    assert report.removed == ("docs/a.md",) and report.failed[0].source == "docs/b.md"
    assert list(all_said(knowledge)) == ["docs-too", "docs/b.md"], "what cannot be read now is not gone"


def test_a_folder_nobody_can_look_into_is_not_taken_for_empty(
    tmp_path: Path, knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "docs")
    written(folder / "inner", a=guide("tide"))
    knowledge.add(folder, name="docs")
    looked = os.scandir

    def closed(path: str) -> object:
        if str(path).endswith("inner"):
            raise PermissionError(13, "Permission denied", str(path))
        return looked(path)

    monkeypatch.setattr(os, "scandir", closed)
    report = knowledge.add(folder, name="docs", prune=True)
    assert report == Report(failed=(Remark("docs/inner", "the folder cannot be read: Permission denied"),))
    assert list(all_said(knowledge)) == ["docs/inner/a.md"]


def test_links_are_not_followed_out_of_a_folder(tmp_path: Path, knowledge: Knowledge) -> None:
    folder = written(tmp_path / "docs", a=guide("tide"))
    outside = written(tmp_path / "outside", secret=guide("walrus"))
    (folder / "file.md").symlink_to(outside / "secret.md")
    (folder / "folder").symlink_to(outside)
    (folder / "again.md").symlink_to(folder / "a.md")
    (folder / "nowhere.md").symlink_to(tmp_path / "nothing")
    report = knowledge.add(folder, name="docs")
    assert report.added == ("docs/a.md",)
    assert sorted(report.failed) == [
        Remark("docs/file.md", "a link that leads out of the folder is not followed"),
        Remark("docs/folder", "a link that leads out of the folder is not followed"),
        Remark("docs/nowhere.md", "a link that leads nowhere"),
    ]
    assert knowledge.add(folder / "file.md", name="asked for").added == ("asked for",)


def test_odd_files(tmp_path: Path, knowledge: Knowledge) -> None:
    folder = written(tmp_path / "docs", empty="")
    os.mkfifo(folder / "pipe")
    (folder / "old.txt").write_bytes("Grüße".encode("latin-1"))
    Path(os.fsdecode(os.fsencode(folder) + b"/bad-\xff.md")).write_text("odd name")
    report = knowledge.add(folder, name="docs")
    assert report.added == ("docs/empty.md", "docs/old.txt")
    assert [(remark.source, remark.text[:8]) for remark in report.notes] == [
        ("docs/empty.md", "empty"),
        ("docs/old.txt", "not UTF-"),
    ]
    assert {remark.source for remark in report.failed} == {"docs/pipe", "docs/bad-?.md"}
    assert knowledge.chunks("docs/empty.md") == [] and knowledge.sources()[0].chunks == 0
    with pytest.raises(InvalidValue, match="neither a file nor a folder"):
        knowledge.add(tmp_path / "nothing")


def test_what_somebody_raises_meanwhile_leaves_what_was_done(tmp_path: Path, knowledge: Knowledge) -> None:
    folder = written(tmp_path / "docs", a=guide("tide"), b=guide("lamp"))

    def stop(done: int, total: int, source: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        knowledge.add(folder, name="docs", progress=stop)
    assert list(all_said(knowledge)) == ["docs/a.md"]


def test_sources_say_since_when_they_are_there(knowledge: Knowledge) -> None:
    with use_clock(lambda: 1_000.0):
        knowledge.add_text("First.", source="a", title="A")
    with use_clock(lambda: 2_000.0):
        assert knowledge.add_text("Second.", source="a", title="B").updated == ("a",)
    (one,) = knowledge.sources()
    assert (one.title, one.added_at, one.updated_at) == ("B", 1_000.0, 2_000.0)
    assert one.tokens == sum(chunk.tokens for chunk in knowledge.chunks("a")) > 0


def test_another_way_of_cutting_reads_again(store: Store, knowledge: Knowledge) -> None:
    text = "A sentence of some words. " * 60
    knowledge.add_text(text, source="a")
    assert Knowledge(store, "ana", tokens=64).add_text(text, source="a").updated == ("a",)
    assert all(chunk.tokens <= 64 for chunk in knowledge.chunks("a"))


def test_what_an_older_way_of_reading_kept_is_read_again(
    store: Store, knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Page somebody when latency > 500 ms."

    def read_with_loss(content: str, *, name: str, media_type: str | None) -> Document:
        return read_document(content.replace(" > ", ""), name=name, media_type=media_type)

    with monkeypatch.context() as older:
        older.setattr(verbs, "_WAY_OF_READING", "1")
        older.setattr(verbs, "read_document", read_with_loss)
        knowledge.add_text(text, source="a.md")
    assert knowledge.chunks("a.md")[0].text == "Page somebody when latency500 ms."
    assert knowledge.add_text(text, source="a.md").updated == ("a.md",)
    assert knowledge.chunks("a.md")[0].text == text
    assert "latency500" not in str(store.read(HERE))
    assert knowledge.add_text(text, source="a.md").unchanged == ("a.md",)


SAMPLES = {
    "a.txt": "One paragraph,\nand more.\n\n    Another > one.",
    "a.md": "# A\n\n> so -> on\n\n- one\n  * two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nx\n```\n\n    y",
    "b.md": "7. three\n\nin\n8. four\n1. five",
    "a.html": "<title>T</title><h1>A</h1><p>One<br>two<p hidden>no</p><ul><li>x</ul><img alt=a><pre>y</pre>",
    "b.html": "<ol start=7><li>x<li><h2>y</h2></ol>",
}
READ = {"5": "d4f8cd52cfd985d0"}


def test_another_way_of_reading_has_another_name() -> None:
    """Where this fails, documents are read otherwise than before: give the new way another name."""
    told = repr([read_document(text, name=name) for name, text in SAMPLES.items()])
    assert READ[verbs._WAY_OF_READING] == blake2b(told.encode(), digest_size=8).hexdigest()  # pyright: ignore


def test_what_was_read_is_shared_and_read_on(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    Knowledge(store, "ana").add_text(guide("tide", "lamp", "quay"), source="a.md")
    asked: list[int] = []
    read = store.read

    def noted(place: Place, *, after: int = 0) -> list[Stored]:
        asked.append(after)
        return read(place, after=after)

    monkeypatch.setattr(store, "read", noted)
    assert len(Knowledge(store, "ana").chunks("a.md")) == 3
    assert asked == [store.version(HERE) - 1]


@pytest.mark.parametrize(
    ("stream", "body", "fault"),
    [
        (".knowledge", JSON.encode_item(Note({"format": 2})), NewerStore),
        (".knowledge", b'{"kind":"message","role":"user","content":"x"}', StoreDamaged),
        (".sources", JSON.encode_item(Note({"source": 1})), StoreDamaged),
        (".sources", b"{}", StoreDamaged),
    ],
)
def test_what_does_not_belong_there_is_told(
    store: Store, stream: str, body: bytes, fault: type[Exception]
) -> None:
    store.append(HERE, [Entry(stream, body)], expected=0)
    for _ in range(2):
        with pytest.raises(fault):
            Knowledge(store, "ana").sources()


def test_a_chunk_that_is_missing_is_told(store: Store, knowledge: Knowledge) -> None:
    knowledge.add_text(guide("tide", "lamp"), source="a.md")
    entries = [Entry(stored.stream, stored.body) for stored in store.read(HERE)]
    other = MemoryStore()
    other.append(HERE, entries[:-1], expected=0)
    with pytest.raises(StoreDamaged, match="missing"):
        Knowledge(other, "ana").sources()


def test_wrong_arguments(store: Store, knowledge: Knowledge) -> None:
    for wrong in ("", "a\x00b", "x" * 5_000, "half \ud800"):
        with pytest.raises(InvalidValue):
            knowledge.add_text("x", source=wrong)
    with pytest.raises(WrongType):
        knowledge.add_text(b"x", source="a")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(WrongType):
        Knowledge("chats.db", "ana")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidLimit):
        Knowledge(store, "ana", tokens=3)
    with pytest.raises(UnknownKey):
        knowledge.chunks("nobody's")
    assert is_reserved(knowledge.place.conversation) and not is_reserved("q3")
