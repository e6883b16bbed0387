"""Find places that read a text of our own back: a sentence that is compared, searched or cut up by its words.

A text counts as a sentence if it has two words. What others write, as git does, is named in `FOREIGN`.
"""

import ast
import re

CUTTING = {
    *("startswith", "endswith", "partition", "rpartition", "removeprefix", "removesuffix", "find", "index"),
    *("rfind", "rindex", "split", "rsplit", "count", "replace"),
}
"""Methods of a text whose first argument says what to look for."""
SEARCHING = {"compile", "search", "match", "fullmatch", "sub", "split", "findall", "finditer"}
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
        *("Object missing required field", " - at `$`"),
        *("bytes {}-", "inactive_file ", "--off ", "revoke ", "stop ", "click ", "ctrl-x ctrl-e", "ctrl-x ctrl-p"),
    }
)
"""Formats and texts of other programs, the words of slash commands, the names of keys, and the mark of a secret."""

CATALOGUE_TEXT = "a text of the catalogue"
"""The value of a local name that a function gives to what `say` returns."""

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
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    scopes = [(tree, known), *((function, known | _said_in(function)) for function in functions)]
    return sorted(
        {
            ast.unparse(node)
            for scope, names in scopes
            for node in ast.walk(scope)
            if isinstance(node, ast.expr | ast.MatchValue) and _reads(node, names)
        }
    )


def _said_in(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Constants:
    """Return the local names that hold a text of the catalogue."""
    return {
        node.targets[0].id: [CATALOGUE_TEXT]
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_catalogue_text(node.value)
    }


def _imported(tree: ast.Module, modules: dict[str, Constants]) -> Constants:
    return {
        alias.asname or alias.name: modules[node.module][alias.name]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in modules
        for alias in node.names
        if alias.name in modules[node.module]
    }


def _reads(node: ast.expr | ast.MatchValue, known: Constants) -> bool:
    match node:
        case ast.MatchValue(value=value):
            return _is_ours(value, known)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name), args=[pattern, *_]) if name in SEARCHING:
            return any(_has_marker(text) for text in _texts(pattern, known))
        case ast.Call(func=ast.Attribute(value=text, attr=name), args=[wanted, *_]) if name in CUTTING:
            return (
                _is_said(text, known) or _is_ours(wanted, known) or (_is_error_text(text) and _has_word(wanted, known))
            )
        case ast.Compare(left=left, ops=ops, comparators=others):
            compared = any(isinstance(each, ast.In | ast.NotIn | ast.Eq | ast.NotEq) for each in ops)
            sides = (left, *others)
            of_error = any(map(_is_error_text, sides)) and any(_has_word(each, known) for each in sides)
            return compared and (of_error or any(_is_ours(each, known) for each in sides))
        case _:
            return False


def _is_ours(value: ast.expr, known: Constants) -> bool:
    sentences = (text for text in _texts(value, known) if _is_sentence(text) or _has_marker(text))
    return _is_catalogue_text(value) or any(text not in FOREIGN for text in sentences)


def _is_said(value: ast.expr, known: Constants) -> bool:
    return _is_catalogue_text(value) or CATALOGUE_TEXT in _texts(value, known)


def _is_error_text(value: ast.expr) -> bool:
    """True for the message of an error of ours; `str(error)` may be the text of another program."""
    return isinstance(value, ast.Attribute) and value.attr == "message" and ast.unparse(value.value).endswith("error")


def _has_word(value: ast.expr, known: Constants) -> bool:
    return any(re.search(r"\w", text) for text in _texts(value, known))


def _is_catalogue_text(value: ast.expr) -> bool:
    if isinstance(value, ast.Tuple | ast.List | ast.Set):
        return any(map(_is_catalogue_text, value.elts))
    if isinstance(value, ast.IfExp):
        return _is_catalogue_text(value.body) or _is_catalogue_text(value.orelse)
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "say"


def _is_sentence(text: str) -> bool:
    return re.search(r"[A-Za-z`'):;,]{2,} \S|\w{3,}: $|\w{3,} \(?$", text) is not None


def _has_marker(text: str) -> bool:
    return any(marker in text.replace("\\", "") for marker in MARKERS)


def _texts(value: ast.expr, known: Constants) -> list[str]:
    match value:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            return [text for element in elements for text in _texts(element, known)]
        case ast.JoinedStr(values=parts):
            return ["".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return ["".join([*_texts(left, known), *_texts(right, known)])]
        case ast.Call(func=ast.Name(id="frozenset" | "set" | "tuple"), args=[elements]):
            return _texts(elements, known)
        case ast.Name(id=name):
            return known.get(name, [])
        case _:
            return []
