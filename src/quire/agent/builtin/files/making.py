"""The file operations as tools of an agent."""

from pathlib import Path

from quire.agent.builtin.files.changing import Changing
from quire.agent.builtin.files.limits import FileLimits
from quire.agent.builtin.files.looking import Looking
from quire.agent.builtin.files.rooms import Rooms, Visibility
from quire.agent.tools import Tool, tool


def file_tools(
    root: str | Path,
    visibility: Visibility = "conversation",
    *,
    agent: str = "",
    limits: FileLimits | None = None,
) -> list[Tool]:
    """Tools to list, read, write, edit, find, search, copy, move and remove files below a folder.

    `visibility` says who shares files: `"all"`, those of one `"agent"`, `"scope"` or
    `"conversation"`; the last two are of the session that the agent works in, and where an `agent` is named,
    of that agent alone.
    """
    rooms, limits = Rooms(root, visibility, agent), (limits or FileLimits()).checked()
    looking, changing = Looking(rooms, limits), Changing(rooms, limits)
    return [
        *(tool(one, idempotent=True) for one in (looking.list_files, looking.read_file)),
        *(tool(one, idempotent=True) for one in (looking.find_files, looking.search_files)),
        tool(changing.write_file, idempotent=True),
        *(
            tool(one)
            for one in (changing.edit_file, changing.copy_file, changing.move_file, changing.remove_file)
        ),
    ]
