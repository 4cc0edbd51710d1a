"""An archive of a scope: all data of a person or a tenant, as files of JSON lines in one zip."""

from pathlib import Path
from urllib.parse import quote
from zipfile import ZIP_DEFLATED, ZipFile

from msgspec import Raw
from msgspec.json import encode

from quire.session import ScopeContents, survey_scopes
from quire.stores import Place, Store, items_in


def write_archive(store: Store, scope: str, path: Path) -> list[ScopeContents]:
    """Write every entry of every conversation in a scope, and in those nested in it, to a new file.

    `contents.json` lists the contents. Documents are in the conversation `~knowledge`.
    """
    contents = survey_scopes(store, scope)
    file = path.open("xb")
    try:
        with file, ZipFile(file, "w", ZIP_DEFLATED) as archive:
            path.chmod(0o600)
            archive.writestr("contents.json", encode(contents))
            scopes = [row.scope for row in contents]
            for place in [Place(scope, name) for scope in scopes for name in store.conversations(scope)]:
                folder, name = (quote(part, safe="").replace(".", "%2E") for part in place)
                archive.writestr(f"{folder}/{name}.jsonl", _lines(store, place))
    except BaseException:
        path.unlink()  # a partial archive looks like a complete one
        raise
    return contents


def _lines(store: Store, place: Place) -> bytes:
    stored = store.read(place)
    items_in(place, stored[:1])  # raises an error if the entries are sealed
    lines = [
        encode({"version": entry.version, "stream": entry.stream, "item": Raw(entry.body)})
        for entry in stored
    ]
    return b"\n".join([*lines, b""])
