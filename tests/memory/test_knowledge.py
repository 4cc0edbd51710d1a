"""Documents: each source once, only changes are written, removed content is in no file, nothing is lost."""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from quire.errors import (
    InvalidValue,
    StoreDamaged,
    StoreFailed,
    UnknownKey,
    WrongType,
)
from quire.items import JSON, Note, use_clock
from quire.memory import Knowledge, Memory, Remark, Report
from quire.memory.documents import chunks, read_document
from quire.stores import Entry, MemoryStore, Place, SQLiteStore, Store

HERE = Place("ana", "~knowledge")
FILES = pytest.mark.parametrize("name", ["kept.db", "kept.jsonl"])


@pytest.fixture
def store() -> Store:
    return MemoryStore()


@pytest.fixture
def knowledge(store: Store) -> Knowledge:
    return Knowledge(store, "ana")


def guide(*words: str) -> str:
    """A document with a section for each word."""
    return "\n\n".join(f"# Part {word}\n\nAbout {word}, and {word} alone." for word in words)


def written(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    return folder


def names(knowledge: Knowledge) -> list[str]:
    return [source.name for source in knowledge.sources()]


def test_a_folder_is_added_with_a_report(tmp_path: Path, knowledge: Knowledge) -> None:
    folder = written(tmp_path / "docs", a=guide("tide"), b=guide("lamp", "quay"), empty="")
    written(folder / "inner", c=guide("rope"))
    os.mkfifo(folder / "pipe")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    (folder / ".hidden.md").write_text("not seen")
    (folder / "link.md").symlink_to(folder / "a.md")
    Path(os.fsdecode(os.fsencode(folder) + b"/bad-\xff.md")).write_text("odd name")
    report = knowledge.add(folder)
    added = [f"{folder}/{name}" for name in ("a.md", "b.md", "empty.md", "inner/c.md")]
    assert sorted(report.added) == added == names(knowledge)
    failed = {remark.source.rpartition("/")[2] for remark in report.failed}
    assert failed == {"picture.png", "pipe", "bad-?.md"}
    notes = [(remark.source.rpartition("/")[2], remark.text[:8]) for remark in report.notes]
    assert notes == [("link.md", "a link i"), ("empty.md", "empty")]
    titles = [(one.title, one.chunks) for one in knowledge.sources()]
    assert titles[:2] == [("Part tide", 1), ("Part lamp", 2)]
    assert str(report) == "4 added, 3 failed" and str(Report()) == "nothing to add"
    assert knowledge.add(folder / "link.md", name="asked for").added == ("asked for",)


def test_only_what_changed_is_written(tmp_path: Path, store: Store, knowledge: Knowledge) -> None:
    folder = written(tmp_path / "docs", a=guide("tide", "lamp", "quay"), b=guide("rope"))
    with use_clock(lambda: 5.0):
        knowledge.add(folder, name="docs")
    before, version = knowledge.chunks("docs/a.md"), store.version(HERE)
    assert version == 2, "one note for each document"
    assert knowledge.add(folder, name="docs").unchanged == ("docs/a.md", "docs/b.md")
    assert store.version(HERE) == version
    written(folder, a=guide("tide", "oars", "quay"))
    with use_clock(lambda: 9.0):
        report = knowledge.add(folder, name="docs")
    assert report == Report(updated=("docs/a.md",), unchanged=("docs/b.md",))
    after = knowledge.chunks("docs/a.md")
    assert store.version(HERE) == version + 1
    assert [old.id == new.id for old, new in zip(before, after, strict=True)] == [True, False, True]
    assert [(one.added_at, one.updated_at) for one in knowledge.sources()] == [(5.0, 9.0), (5.0, 5.0)]


def test_what_is_gone_from_a_folder_is_removed_when_asked(
    tmp_path: Path, knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "docs", a=guide("tide"), b=guide("lamp"))
    written(folder / "inner", c=guide("rope"))
    knowledge.add(folder, name="docs")
    knowledge.add_text("Beside it.", source="docs-too")
    (folder / "a.md").unlink()
    assert knowledge.add(folder, name="docs").removed == () and len(names(knowledge)) == 4
    looked = os.scandir

    def closed(path: str) -> object:
        if str(path).endswith("inner"):
            raise PermissionError(13, "Permission denied", str(path))
        return looked(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", closed)
        report = knowledge.add(folder, name="docs", prune=True)
    assert report.removed == () and len(names(knowledge)) == 4, "unreadable is not gone"
    assert report.failed == (Remark("docs/inner", "the folder cannot be read: Permission denied"),)
    (folder / "b.md").write_bytes(b"\x00\x01")
    assert knowledge.add(folder, name="docs", prune=True).removed == ("docs/a.md",)
    assert names(knowledge) == ["docs-too", "docs/b.md", "docs/inner/c.md"]


def test_wrong_arguments_and_damage_are_refused(store: Store, knowledge: Knowledge, tmp_path: Path) -> None:
    for wrong in ("", "a\x00b", "x" * 5_000, "half \ud800"):
        with pytest.raises(InvalidValue):
            knowledge.add_text("x", source=wrong)
    with pytest.raises(InvalidValue, match="neither a file nor a folder"):
        knowledge.add(tmp_path / "nothing")
    with pytest.raises(WrongType):
        knowledge.add_text(b"x", source="a")  # type: ignore  # pyright: ignore
    with pytest.raises(UnknownKey):
        knowledge.chunks("nobody's")
    for body in (JSON.encode_item(Note({"source": 1}, extras={"document": "a"})), b"{}"):
        other = MemoryStore()
        other.append(HERE, [Entry(".documents", body)], expected=0)
        with pytest.raises(StoreDamaged):
            Knowledge(other, "ana").all_chunks()


def bytes_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


@FILES
def test_removed_and_replaced_content_is_in_no_file(tmp_path: Path, name: str) -> None:
    with Store.open(tmp_path / name) as store:
        knowledge = Knowledge(store, "ana")
        knowledge.add_text(guide("walrus", "tide"), source="diary.md", title="Heligoland")
        knowledge.add_text(guide("puffin", "quay"), source="other.md")
        assert knowledge.remove("diary.md") == 2
        knowledge.add_text(guide("lamp", "quay"), source="other.md")
        assert names(knowledge) == ["other.md"]
        with pytest.raises(UnknownKey, match=r"no source 'diary.md' in ana/~knowledge"):
            knowledge.remove("diary.md")
    found = bytes_in(tmp_path)
    assert not [secret for secret in (b"walrus", b"diary", b"Heligoland", b"puffin") if secret in found]
    assert b"lamp" in found and b"quay" in found


class Failing(SQLiteStore):
    """A store that fails when something is to be forgotten."""

    def replace(self, place: Place, bodies: Mapping[int, bytes]) -> None:
        raise StoreFailed("no space left")


def test_what_a_store_failed_to_empty_is_emptied_next_time(tmp_path: Path) -> None:
    with Failing(tmp_path / "kept.db") as store:
        knowledge = Knowledge(store, "ana")
        knowledge.add_text(guide("walrus"), source="diary.md")
        with pytest.raises(StoreFailed):
            knowledge.remove("diary.md")
        assert knowledge.all_chunks() == {}
    with Store.open(tmp_path / "kept.db") as store:
        assert Knowledge(store, "ana").sources() == []
    assert b"walrus" not in bytes_in(tmp_path)


WORDS = st.lists(st.sampled_from(["tide", "lamp", "quay", "rope", "tide"]), max_size=5)
STEPS = st.lists(st.tuples(st.sampled_from("abc"), st.none() | WORDS, st.booleans()), max_size=8)


@pytest.mark.laws
@given(steps=STEPS)
def test_what_is_kept_is_what_was_added_last(steps: list[tuple[str, list[str] | None, bool]]) -> None:
    store, wanted = MemoryStore(), dict[str, str]()
    knowledge, beside = Knowledge(store, "ana"), Knowledge(store, "ana")
    Knowledge(store, "bo").add_text("Only of another scope.", source="a.md")
    for source, words, is_read in steps:
        if words is not None:
            knowledge.add_text(guide(*words), source=f"{source}.md")
            wanted[f"{source}.md"] = guide(*words)
        elif f"{source}.md" in wanted:
            knowledge.remove(f"{source}.md")
            del wanted[f"{source}.md"]
        if is_read:
            beside.sources()
            knowledge, beside = beside, Knowledge(store, "ana")
    expected = {source: chunks(read_document(text, name=source)) for source, text in wanted.items()}
    for one in (knowledge, beside):
        assert one.all_chunks() == expected
    kept = b"".join(entry.body for entry in store.read(HERE)).decode()
    assert all(word in "".join(wanted.values()) for word in ("tide", "lamp", "quay", "rope") if word in kept)


def test_writers_side_by_side_lose_nothing(tmp_path: Path) -> None:
    stores = [Store.open(tmp_path / "kept.db") for _ in range(4)]
    side_by_side = [Knowledge(store, "ana") for store in stores]

    def write(number: int) -> None:
        for turn in range(6):
            side_by_side[number].add_text(guide(f"w{number}", f"t{turn}"), source=f"own-{number}-{turn}.md")
            side_by_side[number].add_text(guide(f"turn{turn}"), source="shared.md")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    for knowledge in side_by_side:
        found = knowledge.all_chunks()
        assert len(found) == 25 and len(found.pop("shared.md")) == 1
        assert all(len(own) == 2 for own in found.values())
    for store in stores:
        store.close()


# Found by name


TITLE = "Parental leave policy"
HTML = f"<title>{TITLE}</title><p>Employees may take sixteen weeks.</p>"


@pytest.mark.parametrize("question", [f"What is our {TITLE.lower()}?", "What does leave.html say?"])
def test_a_document_is_found_by_its_title_and_file_name(question: str) -> None:
    memory = Memory(MemoryStore(), "ana")
    memory.knowledge.add_text("The cafeteria is closed.", source="intranet/food.html")
    memory.knowledge.add_text(HTML, source="intranet/leave.html")
    leaf = memory.search(question).hits[0].leaf
    assert (leaf.transcript, leaf.title) == ("intranet/leave.html", TITLE)
    assert leaf.said == "Employees may take sixteen weeks." and leaf.text.endswith(leaf.said)
    memory.knowledge.add_text(HTML, source="intranet/leave.html", title="Holidays")
    assert {hit.leaf.title for hit in memory.search("weeks").hits} == {"Holidays"}
