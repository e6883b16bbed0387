"""Short programs of other languages that only read and print: everything in them must be known to do no more."""

import ast
import builtins
import re
from collections.abc import Callable, Sequence

from overt.safety._words import Word

LONGEST = 4000
BUILTINS = frozenset(vars(builtins))


def only_reads(language: str, code: str, operands: Sequence[Word], exists: Callable[[str], bool]) -> bool:
    """`operands` are what the program is given besides; `exists` tells of files that may stand in for a module."""
    if len(code) > LONGEST:
        return False
    if language == "python":
        return _python(code, exists)
    return _perl(code, operands) if language == "perl" else _node(code)


# ── Python ───────────────────────────────────────────────────────────────────────────────────────────────

MODULES = frozenset(
    """json sys re math os os.path collections itertools functools datetime time statistics string textwrap hashlib
        base64 binascii random uuid platform tomllib csv pathlib ast struct decimal fractions urllib.parse html zlib
        unicodedata pprint sysconfig shlex glob fnmatch importlib.metadata calendar locale heapq bisect colorsys
        ipaddress keyword token tokenize difflib secrets site zoneinfo enum typing""".split()
)
CALLED = frozenset(
    """print len sorted sum min max abs round range enumerate zip map filter list dict set tuple str int float bool
        bytes bytearray repr ord chr hex bin oct any all reversed isinstance type iter next slice divmod pow hash
        format input frozenset complex callable id dir ascii True False None Exception ValueError KeyError OSError
        FileNotFoundError IndexError TypeError ImportError ModuleNotFoundError StopIteration SystemExit exit quit
        EOFError AttributeError UnicodeDecodeError""".split()
)
ATTRIBUTES = frozenset(
    """load loads dump dumps get items keys values strip rstrip lstrip split rsplit splitlines join read readline
        readlines stdin stdout stderr argv version version_info executable platform maxsize byteorder prefix
        base_prefix exit upper lower title capitalize startswith endswith find rfind index count format encode decode
        isdigit isalpha isalnum isspace isupper islower zfill ljust rjust center partition rpartition casefold
        removeprefix removesuffix expandtabs translate maketrans append extend sort reverse pop add update copy union
        intersection difference most_common setdefault elements search match fullmatch findall finditer sub group
        groups groupdict span start end compile escape I M S MULTILINE IGNORECASE DOTALL pi e sqrt ceil floor log
        log2 log10 exp sin cos gcd prod fsum inf nan isnan comb factorial getcwd environ getenv listdir scandir walk
        path sep linesep getpid getppid cpu_count uname name exists isfile isdir join basename dirname abspath
        realpath splitext getsize getmtime relpath expanduser commonprefix normpath Counter defaultdict OrderedDict
        deque namedtuple chain islice product permutations combinations groupby accumulate count repeat cycle
        zip_longest reduce datetime date timedelta timezone now today utcnow strftime strptime isoformat fromisoformat
        fromtimestamp timestamp utc total_seconds days seconds year month day hour minute second weekday time
        perf_counter monotonic sleep ctime mean median stdev mode variance pstdev quantiles ascii_letters digits
        punctuation ascii_lowercase ascii_uppercase dedent indent fill wrap shorten md5 sha1 sha224 sha256 sha512
        hexdigest digest b64encode b64decode urlsafe_b64encode urlsafe_b64decode hexlify unhexlify hex fromhex
        from_bytes to_bytes uuid4 uuid1 random randint choice sample shuffle seed system machine node release
        python_version python_implementation processor architecture reader DictReader writer DictWriter writerow
        writerows writeheader fieldnames Path PurePath read_text read_bytes is_file is_dir glob rglob iterdir stat
        st_size st_mtime st_mode suffix suffixes stem parent parents parts resolve cwd home relative_to as_posix
        absolute with_suffix parse literal_eval body iter_child_nodes FunctionDef ClassDef Import ImportFrom
        AsyncFunctionDef lineno unpack unpack_from calcsize pack Decimal Fraction quote unquote urlparse urlencode
        parse_qs urlsplit netloc scheme query unescape crc32 adler32 decompress normalize category pprint pformat
        get_paths get_path get_config_var iglob fnmatch distributions requires metadata numerator denominator real
        imag bit_length as_integer_ratio text id key value label args msg nlargest nsmallest heappush heappop
        bisect_left bisect_right ip_network ip_address hosts num_addresses kwlist unified_diff ndiff
        get_close_matches token_hex token_urlsafe getsitepackages ZoneInfo lru_cache cache monthrange month_name
        flush buffer isatty encoding getdefaultencoding getsizeof getrecursionlimit modf trunc hypot dist radians
        degrees atan2 tan __name__ __version__ __doc__ __file__ __len__""".split()
)
"""No name that a file, a process or a module would answer to with more than reading."""

REFUSED = (ast.ClassDef, ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Global, ast.Nonlocal)


def _python(code: str, exists: Callable[[str], bool]) -> bool:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    nodes = list(ast.walk(tree))
    modules = {name for node in nodes for name in _imported(node)}
    if not modules <= MODULES or any(exists(name.partition(".")[0] + end) for name in modules for end in (".py", "")):
        return False
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call) and _opens_to_read(node)}
    moving = bool({"os", "pathlib", "os.path"} & modules)
    return all(id(node) in called or _python_node(node, moving=moving, several=len(modules) > 1) for node in nodes)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name if alias.asname not in MODULES else "?" for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "?"] if not node.level else ["?"]
    return []


def _python_node(node: ast.AST, *, moving: bool, several: bool) -> bool:
    if isinstance(node, REFUSED):
        return False
    if isinstance(node, ast.ImportFrom):
        return all(alias.name in ATTRIBUTES and not (moving and alias.name == "system") for alias in node.names)
    if isinstance(node, ast.Name):
        known = node.id not in BUILTINS or node.id in CALLED
        return known and (not node.id.startswith("__") or node.id == "__name__")
    if isinstance(node, ast.Attribute):
        if not isinstance(node.ctx, ast.Load):
            return False
        if node.attr == "write":
            return isinstance(node.value, ast.Attribute) and node.value.attr in ("stdout", "stderr")
        if node.attr in ("replace", "system"):
            return not moving  # a path's `replace` renames
        if node.attr == "path" and several:  # more could be loaded from elsewhere through that of `sys`
            return isinstance(node.value, ast.Name) and node.value.id == "os"
        return node.attr in ATTRIBUTES
    return True


def _opens_to_read(call: ast.Call) -> bool:
    if not (isinstance(call.func, ast.Name) and call.func.id == "open") or len(call.args) not in (1, 2):
        return False
    modes = [*call.args[1:], *(each.value for each in call.keywords if each.arg == "mode")]
    return (
        all(each.arg in ("mode", "encoding", "errors", "newline") for each in call.keywords)
        and not any(isinstance(each, ast.Starred) for each in call.args)
        and all(isinstance(each, ast.Constant) and re.fullmatch(r"[rbtU]+", str(each.value)) for each in modes)
    )


# ── Perl ─────────────────────────────────────────────────────────────────────────────────────────────────

PERL_ACTS = re.compile(
    r"""\b(?:system|exec|fork|open|sysopen|opendir|unlink|rename|rmdir|mkdir|link|symlink|chmod|chown|chroot|chdir|utime|truncate
    |eval|require|use|no|kill|syscall|socket\w*|connect|bind|listen|accept|pipe|dbmopen|readpipe|glob|select|write|format|syswrite
    |ioctl|fcntl|flock|umask|dump|goto|tie|bless|sub|package|import|AUTOLOAD|DESTROY|CORE|SIG|ARGV\w*|DATA|ENV|INC|via|qx|reset|wait
    |waitpid|setpgrp|setpriority|send|recv|shm\w+|sem\w+|msg\w+|__\w+)\b|do\b(?!\s*\{)|`|\(\?\??\{|->(?!\s*[\[{])|(?<!&)&(?!&)\s*[\w{$:]|::|\$\^|\$\{\s*\^
    |\*\s*\{|<(?!>|STDIN>|=|\s|\d|$|[$@]?\w+[^>\w]|[$@]\w+$)|[^\w\s]\s*[a-z]*e[a-z]*e[a-z]*\b(?=\s*(?:[;,)}]|$|if\b|unless\b|for))""",
    re.VERBOSE,
)
"""Everything in the language that does more than compute and print."""

PERL_FILE = re.compile(r"[\w./~][^|<>]*[\w./~]|[\w./~]")


def _perl(code: str, operands: Sequence[Word]) -> bool:
    """The names it reads are opened as the shell would: a bar in one runs a command."""
    named = all(not word.hole and PERL_FILE.fullmatch(word.text) for word in operands)
    return named and not PERL_ACTS.search(code)


# ── JavaScript ───────────────────────────────────────────────────────────────────────────────────────────

NODE_CALLS = frozenset(
    """log error table keys values entries parse stringify join map filter forEach sort reduce slice split includes
        startsWith endsWith trim padStart padEnd toFixed toUpperCase toLowerCase toString test match replace replaceAll
        indexOf find some every flat flatMap fromEntries from isArray concat reverse push readFileSync existsSync
        readdirSync statSync isFile isDirectory basename dirname extname resolve cwd memoryUsage uptime max min round
        floor ceil abs now toISOString getTime cpus platform arch totalmem freemem hostname repeat charCodeAt
        localeCompare has get add set size format inspect on""".split()
)
NODE_PLAIN = frozenset(
    """require String Number Boolean parseInt parseFloat Object Array Set Map Date isNaN encodeURIComponent
        decodeURIComponent if for while return typeof of in switch""".split()
)
NODE_REQUIRES = re.compile(
    r"""\brequire\s*\(\s*(['"])(?:(?:node:)?(?:fs|path|os|url|util)|\.{1,2}/[\w./-]+\.json)\1\s*\)"""
)
NODE_ACTS = re.compile(
    r"""`|\\[ux0-7]|\b(?:eval|Function|constructor|prototype|__\w+|Reflect|Proxy|globalThis|global|import|export|class|this|new\s+(?!Set|Map|Date|Array)
    |async|await|with|function|process\s*(?!\.\s*(?:version\b|versions|argv|env|platform|arch|cwd|memoryUsage|uptime|pid|execPath|title|stdout\.columns|stdin))
    |module|exports|fetch|WebSocket|Worker|call|apply|setTimeout|setInterval)\b|[)\]]\s*\(
    |[\w)\]'"]\s*\[(?!\s*(?:\d+|-?\w+|'[\w@/. -]*'|"[\w@/. -]*")\s*\])""",
    re.VERBOSE,
)
NODE_CALL = re.compile(r"(\.?)\s*([A-Za-z_$][\w$]*)\s*\(")
NODE_NAMES = re.compile(r"([A-Za-z_$][\w$]*)\s*(?::|=(?![=>]))")


NODE_EFFECTS = re.compile(
    r"""(?i)unlink|\brm|write|append|rename|truncate|copyfile|\bcp(?:sync)?\b|mkd|chmod|chown|link|open|utimes|exec(?!path)|spawn|fork|kill
    |promises|child_process|stream|\bvm\b|dlopen|binding|\bnet\b|\bhttps?\b(?!:)|\bfs\b(?s:.*)\[\s*[a-z_]|\[\s*[a-z_](?s:.*)\bfs\b""",
    re.VERBOSE,
)


def _node(code: str) -> bool:
    if NODE_ACTS.search(code) or NODE_EFFECTS.search(code) or "require" in NODE_REQUIRES.sub("", code):
        return False
    calls = [(bool(dot), name) for dot, name in NODE_CALL.findall(code)]
    renamed = set(NODE_NAMES.findall(code)) & (NODE_CALLS | NODE_PLAIN)
    return not renamed and all(name in (NODE_CALLS if dotted else NODE_PLAIN) for dotted, name in calls)
