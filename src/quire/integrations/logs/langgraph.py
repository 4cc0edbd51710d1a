"""Messages of LangChain as JSON. Most graphs have them as their state: `{"messages": [...]}`.

Source: langchain-core, `messages`: what `convert_to_messages` and the reducer `add_messages` take.
"""

from collections import Counter
from collections.abc import Sequence

from quire.integrations.logs.conversation import (
    Conversation,
    Entry,
    Json,
    Log,
    Record,
    Target,
    Window,
    Written,
)
from quire.integrations.logs.messages import role_and_parts, signed_thought, state_left_out
from quire.integrations.logs.windows import turns_of
from quire.items import Item, Message, Part, Reasoning, ToolCall, ToolResult
from quire.providers import (
    Downgrade,
    base64_of,
    entries_in,
    fields_in,
    media_type,
    object_in,
    strict_messages,
    text_in,
)
from quire.state import groups, is_output

_SPEAKERS = ("human", "ai")
_TYPES = {"user": "human", "assistant": "ai"}

# Reading


def is_langgraph(records: list[Record]) -> bool:
    """Whether these are messages of LangChain, or states of a graph with such messages."""
    return any(_messages(record) for _, record in records)


def _messages(record: Json) -> list[Json]:
    """The messages in a record, which is a state, a snapshot of a state, or a message."""
    values = fields_in(record.get("values")) or record
    messages = list[Json]()
    for message in map(fields_in, entries_in(values.get("messages", [record]))):
        data = fields_in(message.get("data"))
        messages.append({"type": message.get("type"), **data} if "data" in message else message)
    is_known = any(message.get("type") in _SPEAKERS and "role" not in message for message in messages)
    return messages if is_known else []


def read_langgraph(records: list[Record]) -> Log:
    """One conversation for each state; if the records are messages, all of them as one conversation."""
    states = [(number, _messages(record)) for number, record in records if "content" not in record]
    if not any(messages for _, messages in states):
        states = [(1, [message for _, record in records for message in _messages(record)])]
    conversations = [_read_state(number, messages) for number, messages in states if messages]
    return Log("langgraph", "messages of LangGraph", conversations, Counter())


def _read_state(number: int, messages: list[Json]) -> Conversation:
    entries = list[Entry]()
    for index, message in enumerate(messages):
        thoughts = fields_in(message.get("additional_kwargs")).get("reasoning_content")
        own_id = message.get("id") if isinstance(message.get("id"), str) else None
        with_thoughts = {"reasoning_content": thoughts, **message} if thoughts else message
        openai_messages = strict_messages(with_thoughts, f"$.messages[{index}]")
        entries += [Entry(chat_message, own_id) for chat_message in openai_messages]
    return Conversation("openai", [Window(entries)], {}, number)


# Writing


def write_langgraph(items: Sequence[Item], target: Target) -> Written:
    """The state for a graph. A reply of the model is one message, and each result is a message."""
    turns, downgrades = turns_of(target.shown(items))
    messages = list[Json]()
    for group in groups(turns):
        reply = [item for item in group.items if is_output(item)]
        messages += [_reply(reply, downgrades)] if reply else []
        messages += [_message(item, downgrades) for item in group.items if not is_output(item)]
    hint = "graph.invoke and graph.update_state take it as the state"
    return Written({"messages": messages}, downgrades, hint)


def _reply(reply: Sequence[Item], downgrades: list[Downgrade]) -> Json:
    """The message of a reply. Signed thoughts are in its content, others in `additional_kwargs`."""
    content, calls, invalid_calls, thoughts = list[Json](), list[Json](), list[Json](), list[str]()
    for item in reply:
        if isinstance(item, Reasoning):
            signed = signed_thought(item)
            content += [signed] if signed else []
            thoughts += [item.text] if item.text and not signed else []
            downgrades += state_left_out(item, signed is not None)
        elif isinstance(item, ToolCall):
            arguments = object_in(item.arguments)
            call: Json = {"id": item.call_id, "name": item.name, "type": "tool_call", "args": arguments}
            if arguments is None:
                invalid = {"type": "invalid_tool_call", "args": item.arguments, "error": None}
                invalid_calls.append(call | invalid)
            else:
                calls.append(call)
            downgrades += state_left_out(item)
        elif isinstance(item, Message):
            content += map(_block, item.parts)
            downgrades += state_left_out(item)
    text = _plain(content)
    message: Json = {"type": "ai", "id": reply[0].id, "content": text}
    message |= {"tool_calls": calls, "invalid_tool_calls": invalid_calls}
    if thoughts:
        message["additional_kwargs"] = {"reasoning_content": "\n\n".join(thoughts)}
    return message


def _message(item: Item, downgrades: list[Downgrade]) -> Json:
    if isinstance(item, ToolResult):
        status = "error" if item.is_error else "success"
        answer = {"tool_call_id": item.call_id, "name": item.name, "status": status}
        return {"type": "tool", "id": item.id, "content": _plain([*map(_block, item.parts)]), **answer}
    role, parts = role_and_parts(item, downgrades)
    return {"type": _TYPES.get(role, role), "id": item.id, "content": _plain([*map(_block, parts)])}


def _plain(blocks: list[Json]) -> str | list[Json]:
    """A single text block as its text, everything else as blocks."""
    texts = [text_in(block.get("text")) for block in blocks if block["type"] == "text"]
    return "".join(texts) if len(blocks) == len(texts) <= 1 else blocks


def _block(part: Part) -> Json:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = media_type(part)
    source = {"url": part.url} if part.data is None else {"base64": base64_of(part.data)}
    return {"type": type(part).__name__.lower(), **source, **({"mime_type": kind} if kind else {})}
