"""The messages of LangChain as JSON, which are the state of most graphs: `{"messages": [...]}`.

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
    """Whether these are messages of LangChain, or the state of a graph with some."""
    return any(_messages(record) for _, record in records)


def _messages(record: Json) -> list[Json]:
    """The messages in a record: of a state, of a snapshot of one, or the record itself."""
    values = fields_in(record.get("values")) or record
    messages = [fields_in(one) for one in entries_in(values.get("messages", [record]))]
    plain = [
        {"type": one.get("type"), **fields_in(one.get("data"))} if "data" in one else one for one in messages
    ]
    return plain if any(one.get("type") in _SPEAKERS and "role" not in one for one in plain) else []


def read_langgraph(records: list[Record]) -> Log:
    """A state is a conversation; messages on lines of their own are one."""
    states = [(number, _messages(record)) for number, record in records if "content" not in record]
    if not any(messages for _, messages in states):
        states = [(1, [one for _, record in records for one in _messages(record)])]
    found = [_read_state(*state) for state in states if state[1]]
    return Log("langgraph", "messages of LangGraph", found, Counter())


def _read_state(number: int, messages: list[Json]) -> Conversation:
    entries = list[Entry]()
    for index, message in enumerate(messages):
        more = fields_in(message.get("additional_kwargs"))
        thoughts = {"reasoning_content": more["reasoning_content"]} if more.get("reasoning_content") else {}
        own_id = message.get("id") if isinstance(message.get("id"), str) else None
        strict = strict_messages({**thoughts, **message}, f"$.messages[{index}]")
        entries += [Entry(one, own_id) for one in strict]
    return Conversation("openai", [Window(entries)], {}, number)


# Writing


def write_langgraph(items: Sequence[Item], target: Target) -> Written:
    """The state that a graph is given. A reply of the model is one message, each result another."""
    turns, lost = turns_of(target.shown(items))
    messages = list[Json]()
    for group in groups(turns):
        outputs = [item for item in group.items if is_output(item)]
        messages += [_reply(outputs, lost)] if outputs else []
        messages += [_message(item, lost) for item in group.items if not is_output(item)]
    hint = "graph.invoke and graph.update_state take it as the state"
    return Written({"messages": messages}, lost, hint)


def _reply(outputs: Sequence[Item], lost: list[Downgrade]) -> Json:
    """The message of a reply: signed thoughts are in its content, others beside it."""
    content, calls, bad, thoughts = list[Json](), list[Json](), list[Json](), list[str]()
    for item in outputs:
        if isinstance(item, Reasoning):
            signed = signed_thought(item)
            content += [signed] if signed else []
            thoughts += [item.text] if item.text and not signed else []
            lost += state_left_out(item, signed is not None)
        elif isinstance(item, ToolCall):
            given = object_in(item.arguments)
            call: Json = {"id": item.call_id, "name": item.name, "type": "tool_call", "args": given}
            if given is None:
                bad.append(call | {"type": "invalid_tool_call", "args": item.arguments, "error": None})
            else:
                calls.append(call)
            lost += state_left_out(item)
        elif isinstance(item, Message):
            content += map(_block, item.parts)
            lost += state_left_out(item)
    text = _plain(content)
    more = {"additional_kwargs": {"reasoning_content": "\n\n".join(thoughts)}} if thoughts else {}
    beside = {"tool_calls": calls, "invalid_tool_calls": bad}
    return {"type": "ai", "id": outputs[0].id, "content": text, **beside, **more}


def _message(item: Item, lost: list[Downgrade]) -> Json:
    if isinstance(item, ToolResult):
        status = "error" if item.is_error else "success"
        answer = {"tool_call_id": item.call_id, "name": item.name, "status": status}
        return {"type": "tool", "id": item.id, "content": _plain([*map(_block, item.parts)]), **answer}
    role, parts = role_and_parts(item, lost)
    return {"type": _TYPES.get(role, role), "id": item.id, "content": _plain([*map(_block, parts)])}


def _plain(blocks: list[Json]) -> str | list[Json]:
    """A single text as it is, otherwise blocks."""
    texts = [text_in(block.get("text")) for block in blocks if block["type"] == "text"]
    return "".join(texts) if len(blocks) == len(texts) <= 1 else blocks


def _block(part: Part) -> Json:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = media_type(part)
    where = {"url": part.url} if part.data is None else {"base64": base64_of(part.data)}
    return {"type": type(part).__name__.lower(), **where, **({"mime_type": kind} if kind else {})}
