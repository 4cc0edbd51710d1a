"""Parts of Python that the type checker takes and the sandbox has not. Tests ask the sandbox for each."""

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from re import Match, Pattern

MODULES = frozenset(("abc", "builtins", "collections.abc", "types", "typing_extensions"))
"""Those that the checker finds, and no program."""

NAMES: Mapping[str, frozenset[str]] = {
    "collections": frozenset(("abc",)),
    "dataclasses": frozenset(
        ("Field", "InitVar", "KW_ONLY", "asdict", "astuple", "fields", "make_dataclass", "replace")
    ),
    "datetime": frozenset(("MAXYEAR", "MINYEAR", "UTC", "tzinfo")),
    "json": frozenset(("JSONDecoder", "JSONEncoder", "decoder", "detect_encoding", "encoder")),
    "os": frozenset(("PathLike", "stat_result")),
    "pathlib": frozenset(("PosixPath", "PurePath", "PurePosixPath", "PureWindowsPath", "WindowsPath")),
    "re": frozenset(("DEBUG", "L", "LOCALE", "RegexFlag", "U", "UNICODE", "VERBOSE", "X", "purge", "subn")),
    "typing": frozenset(
        {
            *("AbstractSet", "AnyStr", "AsyncContextManager", "AsyncGenerator", "AsyncIterable"),
            *("AsyncIterator", "Awaitable", "BinaryIO", "ChainMap", "Collection", "Concatenate"),
            *("Container", "ContextManager", "Coroutine", "Counter", "DefaultDict", "Deque"),
            *("ForwardRef", "Hashable", "IO", "ItemsView", "KeysView", "LiteralString", "MappingView"),
            *("Match", "MutableMapping", "MutableSequence", "MutableSet", "NamedTuple", "NewType"),
            *("NotRequired", "OrderedDict", "ParamSpec", "Pattern", "Required", "Reversible", "Sized"),
            *("SupportsAbs", "SupportsFloat", "SupportsIndex", "SupportsInt", "SupportsRound", "Text"),
            *("TextIO", "TypeAlias", "TypeGuard", "TypeVarTuple", "TypedDict", "Unpack", "ValuesView"),
            *("assert_never", "assert_type", "cast", "final", "get_args", "get_origin"),
            *("get_type_hints", "is_typeddict", "overload", "reveal_type", "runtime_checkable"),
        }
    ),
}
"""What modules lack that are there."""

KEYWORDS: Mapping[str, frozenset[str]] = {
    "asyncio.run": frozenset(("debug", "loop_factory")),
    "json.dumps": frozenset(("check_circular", "cls", "default")),
    "json.loads": frozenset(("cls", "object_hook", "object_pairs_hook", "parse_constant")),
}
"""What functions that are there take in Python, and not in the sandbox."""

WHOLE = "datetime.timedelta"
"""What is made of numbers with a fraction in Python, and of whole ones alone in the sandbox."""

ENVIRONMENT = frozenset(("os.environ", "os.getenv"))
"""What is there, and of no use: programs have no environment."""

FILES: Mapping[str, frozenset[str]] = {
    "os": frozenset(
        {
            *("chdir", "listdir", "makedirs", "mkdir", "remove", "rename", "replace", "rmdir", "scandir"),
            *("stat", "unlink"),
        }
    ),
    "os.path": frozenset(
        {
            *("exists", "getatime", "getctime", "getmtime", "getsize", "isdir", "isfile", "islink"),
            *("ismount", "lexists", "realpath", "samefile"),
        }
    ),
    "pathlib.Path": frozenset(
        {
            *("absolute", "exists", "glob", "is_dir", "is_file", "is_symlink", "iterdir", "mkdir", "open"),
            *("read_bytes", "read_text", "rename", "replace", "resolve", "rglob", "rmdir", "stat"),
            *("unlink", "write_bytes", "write_text"),
        }
    ),
}
"""What is there, and of no use: there are no files. A path is a text to them."""

OF_PATHS = frozenset(
    {
        *("anchor", "as_uri", "chmod", "drive", "expanduser", "group", "hardlink_to", "home"),
        *("is_block_device", "is_char_device", "is_fifo", "is_mount", "is_relative_to", "is_reserved"),
        *("is_socket", "lchmod", "lstat", "match", "owner", "parents", "readlink", "relative_to", "root"),
        *("samefile", "symlink_to", "touch"),
    }
)
"""What a path lacks."""

METHODS = frozenset(
    {
        *("bit_count", "bit_length", "ctime", "difference_update", "expand", "format_map", "from_bytes"),
        *("fromisocalendar", "fromordinal", "fromtimestamp", "fromutc", "intersection_update"),
        *("is_integer", "isocalendar", "subn", "symmetric_difference_update", "timetuple", "to_bytes"),
        *("toordinal", "translate", "utcfromtimestamp", "utcnow", "utctimetuple"),
    }
)
"""Methods that values have in Python, and no value in the sandbox, whatever its type."""

TYPES: Mapping[str, type] = {
    **{kind.__name__: kind for kind in (bool, bytes, dict, float, frozenset, int, list, set, str, tuple)},
    **{f"datetime.{kind.__name__}": kind for kind in (date, datetime, time, timedelta, timezone)},
    **{f"collections.{kind.__name__}": kind for kind in (Counter, defaultdict, deque)},
    **{f"re.{kind.__name__}": kind for kind in (Match, Pattern)},
    "decimal.Decimal": Decimal,
}
"""Types by what they are imported as; those of Python itself by their names."""

CALLED: Mapping[str, frozenset[str]] = {
    "bytes": frozenset(("fromhex",)),
    "collections.Counter": frozenset(("fromkeys",)),
    "collections.defaultdict": frozenset(("fromkeys",)),
    "datetime.date": frozenset(("fromisoformat", "today")),
    "datetime.datetime": frozenset(("combine", "fromisoformat", "now", "strptime")),
    "datetime.time": frozenset(("fromisoformat",)),
    "decimal.Decimal": frozenset(("from_float",)),
    "dict": frozenset(("fromkeys",)),
}
"""What can be called of a type. It is no value there, and neither is any other method."""

HELD: Mapping[str, frozenset[str]] = {
    "datetime.date": frozenset(("max", "min", "resolution")),
    "datetime.datetime": frozenset(("max", "min", "resolution")),
    "datetime.time": frozenset(("max", "min", "resolution")),
    "datetime.timedelta": frozenset(("max", "min", "resolution")),
    "datetime.timezone": frozenset(("max", "min", "utc")),
}
"""Values that a type has."""
