"""The tools of a request to the Chat Completions, and what it says about choosing among them."""

from quire.providers.checking.openai_chat.naming import ToolNames, check_schema, check_tool_name
from quire.providers.checking.reading import Fields, as_list, opened, short

KINDS = ("function", "custom")
LONGEST_NAME = 64
MOST_TOOLS = 128


def named(tool: Fields) -> Fields | None:
    """The part of a tool, of a call or of a choice that has the name: `function` or `custom`."""
    kind = tool.text("type")
    if kind in KINDS:
        return tool.object(kind)
    if kind is not None:
        tool.add("type", "shape", f"must be function or custom, is {short(kind)}")
    return None


def check_name(tool: Fields, kind: str) -> str | None:
    """The name of a function or of a custom tool; only that of a function is known to have an alphabet."""
    return check_tool_name(tool, LONGEST_NAME) if kind == "function" else tool.text("name")


def check_tools(body: Fields) -> None:
    """The tools, and the choice among them."""
    names = ToolNames()
    tools = body.get("tools")
    for place, value in body.each("tools") if tools is not None else ():
        tool = opened(body.findings, place, value)
        definition = tool and named(tool)
        if tool and definition:
            names.add(definition, check_name(definition, tool.get("type")))
            check_schema(definition)
        else:
            names.complete = False
    count = len(as_list(tools) or ())
    if count > MOST_TOOLS:
        body.add("tools", "too_many_tools", f"has {count} tools")
    _check_choice(body, names)


def _check_choice(body: Fields, names: ToolNames) -> None:
    choice = body.get("tool_choice")
    if choice is None or choice == "none":
        return
    if not body.get("tools"):
        body.add("tool_choice", "tool_choice", "is given without tools")
        return
    if choice == "auto":
        return
    if isinstance(choice, str):
        if choice != "required":
            body.add("tool_choice", "tool_choice", f"is {short(choice)}")
        return
    fields = body.object("tool_choice")
    if fields is None:
        return
    allowed = fields.object("allowed_tools") if fields.get("type") == "allowed_tools" else None
    if allowed:
        for place, value in allowed.each("tools"):
            _check_chosen(opened(body.findings, place, value), names)
    elif fields.get("type") != "allowed_tools":
        _check_chosen(fields, names)


def _check_chosen(choice: Fields | None, names: ToolNames) -> None:
    tool = choice and named(choice)
    name = tool.text("name") if tool else None
    if tool and name is not None and names.complete and name not in names:
        tool.add("name", "tool_choice", f"no tool of the request is named {short(name)}")
