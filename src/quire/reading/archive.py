"""An archive of a scope: all that is kept of a person or a tenant, as files of JSON lines in one zip."""

from pathlib import Path
from urllib.parse import quote
from zipfile import ZIP_DEFLATED, ZipFile

from msgspec import Raw
from msgspec.json import encode

from quire.reading.source import Source
from quire.session import ScopeContents, survey_scopes
from quire.stores import Place, items_in


def write_archive(source: Source, scope: str, path: Path) -> list[ScopeContents]:
    """Write all of a scope, and of those nested in it, to a new file: every entry of every conversation.

    `contents.json` says what there is. Documents are in the conversation `~knowledge`.
    """
    contents = survey_scopes(source.store, scope)
    with path.open("xb") as file, ZipFile(file, "w", ZIP_DEFLATED) as archive:
        path.chmod(0o600)
        archive.writestr("contents.json", encode(contents))
        for one in contents:
            for name in source.store.conversations(one.scope):
                stored = source.store.read(Place(one.scope, name))
                items_in(Place(one.scope, name), stored[:1])  # an error if it is sealed
                folder, file_name = (quote(part, safe="").replace(".", "%2E") for part in (one.scope, name))
                lines = [
                    encode({"version": entry.version, "stream": entry.stream, "item": Raw(entry.body)})
                    for entry in stored
                ]
                archive.writestr(f"{folder}/{file_name}.jsonl", b"\n".join([*lines, b""]))
    return contents
