"""Asking the user something in the middle of a turn. The turn waits, also through a restart."""

from quire.agent.tools import tool


@tool(asks_person=True)
def ask_user(question: str) -> str:
    """Ask the user a question and wait for the answer.

    Use it only where you cannot go on without something that the user alone knows or decides.

    Args:
        question: The question, in words that can be answered without reading anything else.
    """
    raise AssertionError("the user answers this, and it is not run")
