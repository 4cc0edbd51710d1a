"""What A1 has in its module of this name, as far as it is about contexts."""

from quire.bridges.a1.lookup import no_context

__all__ = ["no_context"]
