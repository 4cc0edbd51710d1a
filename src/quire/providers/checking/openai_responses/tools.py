"""The tools of a request to the Responses, and what it says about choosing among them."""

from quire.providers.checking.openai_chat.naming import ToolNames, check_schema, check_tool_name
from quire.providers.checking.openai_responses.items import LONGEST_NAME
from quire.providers.checking.reading import Fields, as_list, as_object, opened, short

MODES = ("none", "auto")
NAMED = ("function", "custom")


def check_tools(body: Fields) -> None:
    """The tools, and the choice among them."""
    names = ToolNames()
    if body.get("tools") is not None:
        for place, value in body.each("tools"):
            tool = opened(body.findings, place, value)
            _check_tool(tool, names)
    if _has_more_tools(body):
        names.complete = False
    _check_choice(body, names)


def _check_tool(tool: Fields | None, names: ToolNames) -> None:
    kind = tool.text("type") if tool else None
    if tool is None or kind is None:
        names.complete = False
    elif kind == "function":
        names.add(tool, check_tool_name(tool, LONGEST_NAME))
        check_schema(tool)
    elif kind == "custom":
        names.add(tool, tool.text("name"))
    elif kind == "namespace":
        names.complete = False  # its tools are named within it


def _has_more_tools(body: Fields) -> bool:
    """Whether tools may come from elsewhere than the list of tools."""
    items = (as_object(item) or {} for item in as_list(body.get("input")) or ())
    later = ("additional_tools", "tool_search_output")
    return body.get("prompt") is not None or any(item.get("type") in later for item in items)


def _check_choice(body: Fields, names: ToolNames) -> None:
    choice = body.get("tool_choice")
    if choice is None or choice in MODES:
        return
    if choice == "required":
        if not body.get("tools") and names.complete:
            body.add("tool_choice", "tool_choice", "is required without tools")
    elif isinstance(choice, str):
        body.add("tool_choice", "tool_choice", f"is {short(choice)}")
    else:
        _check_chosen(body.object("tool_choice"), names)


def _check_chosen(choice: Fields | None, names: ToolNames) -> None:
    kind = choice.text("type") if choice else None
    if choice is None or kind is None:
        return
    if kind == "allowed_tools":
        for place, value in choice.each("tools"):
            tool = opened(choice.findings, place, value)
            if tool and tool.get("type") in NAMED:
                _check_chosen(tool, names)
    elif kind in NAMED:
        name = choice.text("name")
        if name is not None and names.complete and name not in names:
            choice.add("name", "tool_choice", f"no tool of the request is named {short(name)}")
