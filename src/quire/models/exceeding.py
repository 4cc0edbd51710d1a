"""A window that was exceeded, in the words of providers: that it was, by how much, and what it holds."""

import re

_EXCEEDED = re.compile(
    "context_length_exceeded|exceed_context_size|request_too_large|maximum context length|context window"
    "|prompt is too long|exceed context limit|(?:input|prompt) token count .*exceeds|available context size"
    "|too many tokens(?!: max tokens|[^:]*please wait)|maximum prompt length is|exceeded model token limit"
    "|input is too long for requested model|context length (?:is|of) only|context size has been exceeded"
    r"|longer than the (?:model's context|maximum model) length|input token count is \d+ but"
    "|`inputs` (?:tokens . `max_new_tokens` must be|must have less than)|reduce the length of the messages"
    "|range of input length should be|input tokens exceed|total length of all messages is too long"
    "|too_many_prompt_tokens|tokens_limit_reached|request body too large for [^ ]+ model"
    "|max_prompt_tokens_exceeded|prompt exceeds max length|input length exceeds the context length"
    "|must be less than (?:or equal to )?max_seq_len",
    re.I | re.S,
)
_LIMIT = re.compile(
    "(?:maximum (?:context|prompt|model) length(?: is| of)?|maximum number of tokens allowed"
    "|available context size|exceeded model token limit|context window of|context length (?:is|of) only"
    "|the model's context length|only supports up to|`max_new_tokens` must be <=|must have less than"
    r"|model with|limit for this model is|input length should be \[1,|exceeds? the (?:configured )?limit of"
    r"|max size|cannot exceed|max_seq_len|tokens >)[ :(]{0,3}(\d{3,})(?!\w)",
    re.I,
)
_BY = re.compile(r"exceeded by (\d+)", re.I)
_SUM = re.compile(r"(\d+) \+ (\d+) > (\d+)")
_MADE_UP = re.compile(r"\([^()]*\d in (?:the|your) [^()]*\)")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}\b)")
_STATUS = re.compile(r"(?:^\W*|<|\b(?:code|error|http|status)\W{1,3})[45]\d\d\b(?! tokens)", re.I)
_NUMBERS = re.compile(r"(?<![\w.-])\d{3,}(?!\w)")
"""Counts of tokens, and not what stands in the name of a model."""


def is_exceeded(said: str) -> bool:
    """Whether it is said that more was sent than a model reads at once."""
    return _EXCEEDED.search(said) is not None


def over_and_limit(words: str) -> tuple[int, int]:
    """By how much it was too much, and what is allowed; what the words do not say is zero.

    What was sent may be said as a sum, or with what it is made up of behind it. Of two numbers of which
    nothing else is said the smaller is likely what is allowed, but nobody states it: that tells by how much.
    """
    said = _MADE_UP.sub("", _STATUS.sub("", _GROUPED.sub("", words)))
    if found := _SUM.search(said):
        limit = int(found[3])
        return max(int(found[1]) + int(found[2]) - limit, 0), limit
    stated, by = _LIMIT.search(said), _BY.search(said)
    limit = int(stated[1]) if stated else 0
    if by:
        return int(by[1]), limit
    return _over(sorted(map(int, _NUMBERS.findall(said))), limit), limit


def _over(numbers: list[int], limit: int) -> int:
    """By how much it was too much, where it is plain which of the numbers is that of what was sent."""
    if limit in numbers:
        numbers.remove(limit)
    elif not limit and len(numbers) == 2:
        limit = numbers.pop(0)
    return max(numbers[0] - limit, 0) if limit and len(numbers) == 1 else 0
