"""Writes a conversation for people: Markdown with a heading for each item. Quire does not read it back."""

import re
from collections.abc import Sequence

from quire.integrations.logs.conversation import Target, Written, timestamp
from quire.integrations.logs.messages import state_left_out
from quire.items import Item, Message, Note, Reasoning, Summary, ToolCall, ToolResult, parts_of
from quire.providers import Downgrade, content_for_model
from quire.tokens import described

_ticks = re.compile("`+")


def write_markdown(items: Sequence[Item], target: Target) -> Written:
    """A page: texts unchanged, calls and results in code blocks, and a description for each image or file."""
    sections, downgrades = [f"# {target.address}"], list[Downgrade]()
    for item in target.shown(items):
        heading, text = _section(item, downgrades)
        if heading:
            sections.append(f"## {heading}\n\n_{timestamp(item.created_at)}_\n\n{text}".rstrip())
    return Written("\n\n".join(sections) + "\n", downgrades)


def _section(item: Item, downgrades: list[Downgrade]) -> tuple[str, str]:
    match item:
        case Message() | Note() | Summary():
            downgrades += state_left_out(item) if isinstance(item, Message) else []
            heading = item.role if isinstance(item, Message) else type(item).__name__
            content = item.text if isinstance(item, Summary) else content_for_model(item)
            parts = [part if isinstance(part, str) else f"_{described(part)}_" for part in parts_of(content)]
            return heading.capitalize(), "\n\n".join(parts)
        case Reasoning():
            downgrades += state_left_out(item)
            return "Reasoning", "\n".join(f"> {line}" for line in item.text.splitlines())
        case ToolCall():
            return f"Call of `{item.name}`", _fenced(item.arguments, "json")
        case ToolResult():
            texts = [part if isinstance(part, str) else described(part) for part in item.parts]
            return f"{'Error' if item.is_error else 'Result'} of `{item.name}`", _fenced("\n".join(texts))
        case _:
            downgrades.append(Downgrade(item.id, "not_rendered", "a record for the program, without text"))
            return "", ""


def _fenced(text: str, language: str = "") -> str:
    """Text in a code block, with a fence that is longer than any in the text."""
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in _ticks.findall(text)), 3)
    return f"{fence}{language}\n{text}\n{fence}"
