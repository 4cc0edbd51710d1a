"""Reading: facts about conversations as values that encode as JSON, for all surfaces.

Each function takes a `Source` first, which checks the scope, and then the arguments of a person or a program.
"""

from quire.reading.source import Record, Source

__all__ = ["Record", "Source"]
