"""The story that the demonstration plays: an agent with tools, a large output, a picture and a handoff."""

from quire.items import ConfigChange, Handoff, Image, Item, Message, Reasoning, ToolCall, ToolResult

ORDERS = ("4711", "4712", "4713")


def story() -> list[Item]:
    """What happened, in order."""
    return [*_opening(), *_broken_lamp(), *_refund(), *_open_end()]


def _opening() -> list[Item]:
    return [
        Message(
            "system", "You help the customers of a lamp shop. Never promise a refund without a return number."
        ),
        ConfigChange(tools=("find_orders", "read_order", "refund")),
        Message("user", "Hello, I ordered three lamps last week. Where are they?"),
        Reasoning("Three orders may be meant, so look all of them up at once."),
        Message("assistant", "Let me look that up."),
        *(ToolCall(f"find-{order}", "read_order", f'{{"order": "{order}"}}') for order in ORDERS),
        *(ToolResult(f"find-{order}", "read_order", _order(order)) for order in ORDERS),
        Message("assistant", "All three have left our store and arrive tomorrow before noon."),
    ]


def _order(number: str) -> str:
    steps = "\n".join(
        f"  {hour:02d}:00 parcel {number} scanned at station {hour * 7 % 23}" for hour in range(24)
    )
    return f"order {number}: 1 x reading lamp, brass, shipped\n{steps}"


def _broken_lamp() -> list[Item]:
    picture = Image(url="https://example.com/lamp.jpg", width=1024, height=768)
    return [
        Message("user", ("One of them came with a broken shade. This is how it looks:", picture)),
        Message(
            "assistant",
            "I am sorry. That shade is clearly cracked; you can have a new one or your money back.",
        ),
        Message("user", "My money back, please."),
        Handoff("refunds", from_agent="support", reason="the customer wants a refund"),
        Message("system", "You handle refunds. Ask for the return number first."),
    ]


def _refund() -> list[Item]:
    return [
        Message("assistant", "Please send me the return number from the label.", agent_id="refunds"),
        Message("user", "It is R-2049."),
        ToolCall("refund-1", "refund", '{"return": "R-2049"}', agent_id="refunds"),
        ToolResult("refund-1", "refund", "the return has not arrived yet", is_error=True),
        Message(
            "assistant",
            "Your return is still on its way; I will refund it when it is here.",
            agent_id="refunds",
        ),
    ]


def _open_end() -> list[Item]:
    return [
        Message("user", "Can you check once more? The tracking says it was delivered."),
        ToolCall("refund-2", "refund", '{"return": "R-2049"}', agent_id="refunds"),
    ]
