"""The floors: a room imports rooms on lower lines only."""

from collections.abc import Iterator

from tests.architecture.source import Found, Source, imports

# From the ground up. Rooms that share a line do not know each other.
FLOORS = [
    {"errors"},
    {"items"},
    {"tokens"},
    {"state"},
    {"compactors", "sections", "providers"},
    {"context"},
    {"stores", "models"},
    {"memory"},
    {"session"},
    {"agent"},
    {"programs"},
    {"node"},
    {"bridges"},
    {"inspector"},
    {"cli"},
]
FLOOR = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
PURE = {room for rooms in FLOORS[:6] for room in rooms}


def going_down(file: Source) -> Iterator[Found]:
    """What a file imports that is not below its room."""
    if file.room in ("__init__", "__main__"):
        return
    if file.room not in FLOOR:
        yield 1, f"{file.room} is no room of the design"
        return
    for line, module in imports(file):
        root, _, rest = module.partition(".")
        other = rest.partition(".")[0]
        if root != "quire" or other == file.room:
            continue
        if other not in FLOOR:
            yield line, f"imports {module}: import from the room, not from the root"
        elif FLOOR[other] >= FLOOR[file.room]:
            yield line, f"imports {module}, which is not below {file.room}"
