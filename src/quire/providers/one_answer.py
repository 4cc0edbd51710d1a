"""Which outputs of a model are of one answer: their order tells it, and what they were made after."""

from collections.abc import Sequence
from itertools import pairwise

from quire.items import Message, Reasoning, ToolCall, ToolResult
from quire.state import MASKED

_Output = Message | Reasoning | ToolCall


def of_two_answers(outputs: Sequence[_Output], other: _Output) -> bool:
    """Whether an output was made after something else than those before, so that it is of a retry.

    One that does not say what it was made after tells nothing, so the last that does is asked.
    """
    made_after = _made_after(other)
    if made_after is None:
        return False
    last = next((prefix for output in reversed(outputs) if (prefix := _made_after(output))), made_after)
    return last != made_after


def answers_in(outputs: list[_Output], results: Sequence[ToolResult | None]) -> list[list[_Output]]:
    """Outputs in a row by the answers that they are of; `results` are those of their calls.

    Words after calls that gave nothing were said, as far as anybody can tell, to the results that were made
    up for them, and so stand after these. They are of the same answer where a call before them has a result,
    or where an output before and one from there on were made after the same.
    """
    told = [at for at, output in enumerate(outputs) if _made_after(output)]
    given = iter(results)
    starts = [0]
    is_waiting = has_result = False
    for at, output in enumerate(outputs):
        if isinstance(output, ToolCall):
            is_waiting = True
            has_result = next(given) is not None or has_result
        elif isinstance(output, Message) and is_waiting and not has_result:
            if not told or not told[0] < at <= told[-1]:
                starts.append(at)
                is_waiting = False
        elif starts[-1] == at - 1 > 0:
            starts.append(at)  # thoughts go with no words before them
    return [outputs[start:stop] for start, stop in pairwise([*starts, len(outputs)])]


def _made_after(output: _Output) -> str | None:
    """The digest of what an output was made after, where it has one."""
    prefix = output.state.prefix if output.state else None
    return None if prefix == MASKED else prefix
