"""Documents: text, Markdown, HTML and PDF read into blocks, and cut into chunks by their structure."""

from quire.memory.documents.chunks import Chunk, chunks, file_name, unsaid_title
from quire.memory.documents.document import Block, Document, Kind
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
    "unsaid_title",
]
