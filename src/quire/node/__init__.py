"""Many agents in one process: each conversation has a worker of its own, and its turns are in order."""

from quire.node.node import Node
from quire.node.worker import State

__all__ = ["Node", "State"]
