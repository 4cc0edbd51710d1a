"""Documents: read from text, Markdown, HTML and PDF into blocks, and cut into chunks by their structure."""

from quire.memory.documents.chunking import Chunk, chunks
from quire.memory.documents.document import Block, Document, Kind
from quire.memory.documents.reading import MAX_BYTES, read_document

__all__ = ["MAX_BYTES", "Block", "Chunk", "Document", "Kind", "chunks", "read_document"]
