"""Fields that libraries leave in blocks: no service reads them, and Anthropic refuses a block with any."""

from typing import Any

PIECES = "partial_json"
OF_A_STREAM = ("index", PIECES)
"""What LangChain leaves of a stream."""

BESIDE_BLOCKS = (
    *("annotations", "_meta", "extras", "prompt_cache_breakpoint"),
    *("providerOptions", "providerMetadata", "experimental_providerMetadata"),
)
"""What the AI SDK, LangChain, OpenAI and the Model Context Protocol have beside what a block says."""

OF_LIBRARIES = frozenset((*OF_A_STREAM, *BESIDE_BLOCKS, "logprobs", "obfuscation"))


def without_library_fields(block: dict[str, Any]) -> dict[str, Any]:
    """A block without them."""
    return {name: value for name, value in block.items() if name not in OF_LIBRARIES}
