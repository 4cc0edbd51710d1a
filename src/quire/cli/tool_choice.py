"""The tools that a conversation at the command line may use, by the names of their groups."""

from quire.agent import Tool, tool
from quire.agent.builtin import ask_user, bringing_back_tools, file_tools, time_tools
from quire.errors import InvalidValue, cut

GROUPS = ("files", "time", "ask")
_HARMLESS = ("list_files", "read_file", "find_files", "search_files")


def chosen_tools(names: str, folder: str) -> list[Tool]:
    """The tools of some groups, such as `files,time`; with any, what reads long outputs back.

    Below the folder each conversation has its files for itself.
    """
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in GROUPS:
            raise InvalidValue(f"no tools are called {cut(name)!r}; there are {', '.join(GROUPS)}")
    found: list[Tool] = []
    if "files" in wanted:
        found += map(_asked_before, file_tools(folder))
    if "time" in wanted:
        found += time_tools()
    if "ask" in wanted:
        found.append(ask_user)
    return [*found, *bringing_back_tools()] if found else []


def _asked_before(one: Tool) -> Tool:
    """The tool, run only once a person has said yes, if it changes anything."""
    if one.name in _HARMLESS:
        return one
    return tool(one.function, name=one.name, idempotent=one.is_idempotent, approve=True)
