"""An index that lasts: in tables beside what it is of, read when somebody looks, the same in what it finds.

It is a cache. Whoever deletes it only has it made again.
"""

from quire.memory.index.lasting.lasting import Lasting

__all__ = ["Lasting"]
