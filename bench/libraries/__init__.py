"""The libraries that are measured, each behind the same adapter."""

from importlib import import_module

from libraries.adapter import Adapter

OURS = {"floor": "libraries.floor", "before": "libraries.quire", "quire": "libraries.quire"}
PEERS = {
    "loom": "libraries.loom",
    "pydantic-ai": "libraries.pydantic_ai",
    "langchain": "libraries.langchain",
    "livekit": "libraries.livekit",
    "videosdk": "libraries.videosdk",
    "llama-index": "libraries.llama_index",
    "openai-agents": "libraries.openai_agents",
}
LEFT_OUT = {
    "google-adk 2.13.0": "wants opentelemetry-api up to 1.44, where livekit-agents 1.8.9 wants 1.45",
    "a1-compiler 0.1.6": "needs Python 3.12",
    "pygents 0.7.0": "needs Python 3.12",
}


def adapter(name: str) -> Adapter:
    """The adapter of a library; its module imports the library, so this fails where it is not installed."""
    return import_module((OURS | PEERS)[name]).LIBRARY


__all__ = ["LEFT_OUT", "OURS", "PEERS", "Adapter", "adapter"]
