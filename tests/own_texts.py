"""Find places that read a text of our own back: a sentence that is compared, searched or cut up by its words.

A text counts as a sentence if it has two words. What others write, as git does, is named in `FOREIGN`.
"""

import ast
import re

CUTTING = {"startswith", "endswith", "partition", "rpartition", "removeprefix", "removesuffix", "find", "index"}
"""Methods of a text whose first argument says what to look for."""
SEARCHING = {"compile", "search", "match", "fullmatch", "sub", "findall", "finditer"}
"""Functions of `re`, whose first argument is the pattern."""
MARKERS = (
    *("[overt", "user denied", "Denied (", "Refused: ", "by the sandbox", "exit code", "timed out", "rewind to"),
    "for read and grep",
)
"""Pieces of our own texts. A pattern of `re` may hold none of them; other patterns are for what programs print."""
FOREIGN = frozenset(
    {
        *("gitdir: ", "ref: refs/heads/", "diff --git ", "rename from ", "rename to ", "rename ", "new file mode "),
        *("deleted file mode ", "\\ No newline at end of file\n"),
        *("*** Begin Patch", "*** End Patch", "*** Add File: ", "*** Update File: ", "*** Delete File: "),
        *("*** Move to: ", "*** End of File", "def ", "class ", "async def ", "export ", "read ", "less -R"),
        *("less -FRX", "permission denied", "read-only file system", "[redacted secret]"),
        *("-----BEGIN ", "Traceback (", "Proxy Server could not connect", "NO ACCEPTABLE", "unexpected end of data"),
        *("bytes {}-", "inactive_file ", "--off ", "revoke ", "stop ", "click ", "ctrl-x ctrl-e", "ctrl-x ctrl-p"),
    }
)
"""Formats and texts of other programs, the words of slash commands, the names of keys, and the mark of a secret."""

Constants = dict[str, list[str]]


def read_constants(tree: ast.Module) -> Constants:
    """Return the texts that a module gives a name."""
    names = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    }
    return {name: _texts(value, {}) for name, value in names.items()}


def find_text_reads(source: str, modules: dict[str, Constants]) -> list[str]:
    """Return every expression that looks for a sentence of ours, or takes a text of the catalogue apart.

    `modules` are the constants of each module, for those that the source imports.
    """
    tree = ast.parse(source)
    known = {**_imported(tree, modules), **read_constants(tree)}
    return sorted({ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.expr) and _reads(node, known)})


def _imported(tree: ast.Module, modules: dict[str, Constants]) -> Constants:
    return {
        alias.asname or alias.name: modules[node.module][alias.name]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in modules
        for alias in node.names
        if alias.name in modules[node.module]
    }


def _reads(node: ast.expr, known: Constants) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name), args=[pattern, *_]) if name in SEARCHING:
            return any(_has_marker(text) for text in _texts(pattern, known))
        case ast.Call(func=ast.Attribute(value=text, attr=name), args=[wanted, *_]) if name in CUTTING:
            return _is_catalogue_text(text) or _is_ours(wanted, known)
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() | ast.Eq() | ast.NotEq()], comparators=[right]):
            return _is_ours(left, known) or _is_ours(right, known)
        case _:
            return False


def _is_ours(value: ast.expr, known: Constants) -> bool:
    sentences = (text for text in _texts(value, known) if _is_sentence(text) or _has_marker(text))
    return _is_catalogue_text(value) or any(text not in FOREIGN for text in sentences)


def _is_catalogue_text(value: ast.expr) -> bool:
    if isinstance(value, ast.Tuple):
        return any(map(_is_catalogue_text, value.elts))
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "say"


def _is_sentence(text: str) -> bool:
    return re.search(r"[A-Za-z`'):;,]{2,} \S|\w{3,}: $|\w{3,} \(?$", text) is not None


def _has_marker(text: str) -> bool:
    return any(marker in text.replace("\\", "") for marker in MARKERS)


def _texts(value: ast.expr, known: Constants) -> list[str]:
    match value:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.Tuple(elts=elements):
            return [text for element in elements for text in _texts(element, known)]
        case ast.JoinedStr(values=parts):
            return ["".join(part.value if isinstance(part, ast.Constant) else "{}" for part in parts)]  # type: ignore[misc]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return ["".join([*_texts(left, known), *_texts(right, known)])]
        case ast.Name(id=name):
            return known.get(name, [])
        case _:
            return []
