"""Reading: what there is to know of conversations, as values that encode as JSON, for all surfaces.

A function takes a `Source` first, which checks the scope, and then what a person or a program asks for.
"""

from quire.reading.source import Record, Source

__all__ = ["Record", "Source"]
