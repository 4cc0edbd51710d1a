"""Which files are text, though their type does not begin with that word.

It is decided once for those who count a file and those who write it. The names are a list of our own: what a
machine says of endings differs from one to the next, and what is rendered must not.
"""

_TYPES = frozenset(
    f"application/{kind}"
    for kind in (
        *("json", "jsonl", "x-ndjson", "ndjson", "json5", "xml", "yaml", "x-yaml", "toml", "x-toml"),
        *("javascript", "x-javascript", "ecmascript", "typescript", "x-typescript", "sql", "x-sql"),
        *("graphql", "x-sh", "x-shellscript", "x-python", "x-httpd-php", "x-tex", "x-latex", "x-subrip"),
    )
)
_SUFFIXES = ("+json", "+xml", "+yaml")
_ENDINGS = frozenset(
    (
        *("txt", "text", "md", "markdown", "rst", "adoc", "tex", "log", "srt", "vtt", "diff", "patch"),
        *("json", "jsonl", "ndjson", "json5", "geojson", "xml", "xsd", "xsl", "svg", "html", "htm", "css"),
        *("yaml", "yml", "toml", "ini", "cfg", "conf", "env", "properties", "csv", "tsv", "sql", "graphql"),
        *("py", "pyi", "js", "mjs", "cjs", "jsx", "ts", "tsx", "java", "kt", "scala", "go", "rs", "rb"),
        *("c", "h", "cc", "cpp", "hpp", "cs", "swift", "m", "php", "pl", "lua", "r", "jl", "ex", "erl", "hs"),
        *("sh", "bash", "zsh", "ps1", "bat", "tf", "proto", "gradle", "cmake", "ipynb", "vue"),
    )
)
_NAMES = frozenset(("readme", "license", "changelog", "makefile", "dockerfile", "gemfile", "rakefile"))


_ANYTHING = frozenset(("application/octet-stream", "application/vnd.ms-excel"))
"""Types that say nothing: the second is what a browser calls a CSV where Excel is installed."""


def is_text(kind: str | None, name: str | None, data: bytes) -> bool:
    """Whether a file is text by its media type, or, where that says nothing, by its name and its bytes."""
    if kind and kind not in _ANYTHING:
        return kind.startswith("text/") or kind in _TYPES or kind.endswith(_SUFFIXES)
    return _says_text(name or "") and is_utf8(data)


def is_utf8(data: bytes) -> bool:
    """Whether bytes are text as all wires write it."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _says_text(name: str) -> bool:
    """Whether the name of a file is that of a text."""
    bare = name.replace("\\", "/").rpartition("/")[2].lower()
    _, dot, ending = bare.rpartition(".")
    return ending in _ENDINGS if dot else bare in _NAMES
