"""Documents: text, Markdown, HTML and PDF read into blocks, and cut into chunks by their structure."""

from quire.memory.documents.document import Block, Chunk, Document, Kind, chunks, file_name
from quire.memory.documents.reading import MAX_BYTES, content_of, read_document

__all__ = [
    "MAX_BYTES",
    "Block",
    "Chunk",
    "Document",
    "Kind",
    "chunks",
    "content_of",
    "file_name",
    "read_document",
]
