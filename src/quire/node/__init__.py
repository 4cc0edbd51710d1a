"""Many agents in one process: each conversation has a worker, which runs its turns in order."""

from quire.node.node import Node
from quire.node.worker import State

__all__ = ["Node", "State"]
