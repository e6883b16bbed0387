"""Shell text to simple commands: where each stands, what its words become, and where its input comes from.

The grammar (tree-sitter-bash) gives the structure, `_words` reads the words. What neither understands becomes a
`Doubt`, never silence. Substituted commands come out as `Inner` texts that the caller reads in turn.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from overt.safety.programs.listing_commands import listed_places, lists_names
from overt.safety.shell.ast import (
    NO_FEED,
    STREAM,
    Assignment,
    Doubt,
    Enter,
    Feed,
    Inner,
    Item,
    Leave,
    ParsedScript,
    Redirect,
    Simple,
)
from overt.safety.shell.variables import Known, assigned, loop_places, place_word, settled, worlds
from overt.safety.shell.words import Scanned, Word, here_text, scan, substitutions

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

LONGEST = 200_000
DEEPEST = 60
COSTLY = ("${", "$[", "|&", ">&", "<<", "=(", "((", "\n|", "<&")
MOST_COSTLY = 1500
"""The grammar takes quadratic time over long runs of these; nobody writes so many."""

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
TIMED = re.compile(
    r"((?:^|[;&|\n({!]|\b(?:do|then|else))[ \t]*)time(?:[ \t]+-p)?[ \t]+(?=[!{(]|\[\[|(?:for|while|if|until|case)\b)"
)
"""`time` before what is no simple command; the grammar takes the rest for its words."""

EXTENDED = re.compile(r"[@!?*+]\(([\w.*?|/+-]+)\)")
"""`!(*.o|*.a)`: names that no grammar of the plain shell knows."""

QUOTED_ORDER = re.compile(r" \\[<>] ")
BLOCKS = frozenset(
    """program compound_statement do_group if_statement elif_clause else_clause while_statement
    negated_command""".split()
)
SIMPLE = frozenset("command declaration_command unset_command variable_assignment variable_assignments".split())
CLOSING = frozenset("then do done fi esac elif else in if while until for case select function { } ( ) ]] ;; !".split())


def parse(text: str, outer: Known | None = None, feed: Feed = NO_FEED) -> ParsedScript:
    """`outer` are variables that a text around this one sets; `feed` is what the whole of it is given to read."""
    if len(text) > LONGEST or sum(text.count(sign) for sign in COSTLY) > MOST_COSTLY:
        return ParsedScript(items=(Doubt(why="is too long to be read"),), known={})
    walk = _Walk(TIMED.sub(_untimed, text), outer or {})
    if walk.root.has_error and (softer := QUOTED_ORDER.sub(" = ", EXTENDED.sub(_as_glob, text))) != text:
        other = _Walk(TIMED.sub(_untimed, softer), outer or {})
        walk = walk if other.root.has_error else other
    if CONTROL.search(text):
        walk.items.append(Doubt(why="contains control characters"))
    walk.statement(walk.root, feed, "", 0)
    if walk.root.has_error:
        walk.items.append(Doubt(why="could not be read as shell"))
    return ParsedScript(items=tuple(walk.items), known=walk.known)


def _untimed(match: re.Match[str]) -> str:
    return match[1] + " " * (len(match[0]) - len(match[1]))


def _as_glob(match: re.Match[str]) -> str:
    return f"*{match[1].replace('|', '*')}*"


class _Parser:
    """The grammar, loaded with the first command."""

    parser: "Parser | None" = None

    def __call__(self, source: bytes) -> "Tree":
        if self.parser is None:
            import tree_sitter as sitter  # late: 0.7 ms
            import tree_sitter_bash  # late: 8 ms

            self.parser = sitter.Parser(sitter.Language(tree_sitter_bash.language()))
        return self.parser.parse(source)


_tree = _Parser()


class _Walk:
    def __init__(self, text: str, outer: Known) -> None:
        self.source = text.encode("utf-8", "surrogatepass")
        self.root = _tree(self.source).root_node
        self.known: Known = assigned(self.root, outer)
        self.values = settled(self.known)
        self.places = loop_places(self.root, self.known)
        self.items: list[Item] = []

    def raw(self, start: int, end: int) -> str:
        return self.source[start:end].decode("utf-8", "surrogatepass")

    def text(self, node: "Node | None") -> str:
        assert node is not None
        return self.raw(node.start_byte, node.end_byte)

    def doubt(self, why: str, node: "Node") -> None:
        self.items.append(Doubt(why=why, words=self.text(node)[:200]))

    def soup(self, node: "Node") -> None:
        self.add_scan(substitutions(self.text(node)), node)

    def add_scan(self, result: Scanned, node: "Node") -> tuple[Word, ...]:
        """Take over the commands substituted in a stretch of text, and what could not be read of it."""
        self.items += [Inner(text=text) for text in result.inner]
        if result.problem:
            self.doubt(f"contains {result.problem}", node)
        return result.words

    def statement(self, node: "Node", feed: Feed, joined: str, depth: int) -> None:
        kind = node.type
        if depth > DEEPEST:
            self.doubt("is nested too deeply to be read", node)
        elif kind in SIMPLE:
            self.simple(node, (), feed, joined)
        elif kind == "comment":
            self.comment(node)
        elif kind == "redirected_statement":
            self.redirected(node, feed, joined, depth)
        elif kind == "test_command" or (kind == "compound_statement" and node.children[0].type == "(("):
            self.test(node)
        elif kind == "list":
            for child in node.children:
                if child.is_named:
                    self.statement(child, feed, joined, depth + 1)
                else:
                    joined = child.type
        elif kind == "pipeline":
            self.pipeline(node, feed, depth)
        elif kind == "subshell":
            self.scope(node.children, feed, depth)
        elif kind in BLOCKS:
            for child in node.children:
                if child.is_named:
                    self.statement(child, feed, "", depth + 1)
        else:
            self.compound(node, feed, depth)

    def compound(self, node: "Node", feed: Feed, depth: int) -> None:
        kind = node.type
        if kind == "for_statement":
            name = self.text(node.child_by_field_name("variable"))
            self.items.append(Simple(assignments=(Assignment(name=name, value=Word(text="", hole=True)),), source=name))
        if kind in ("for_statement", "c_style_for_statement", "case_statement", "case_item"):
            body = {"do_group", "case_item"} if kind != "case_item" else None
            for place, child in enumerate(node.children):
                field = node.field_name_for_child(place)
                if child.type in body if body else child.is_named and field not in ("value", "termination"):
                    self.statement(child, feed, "", depth + 1)
                elif child.is_named:
                    self.soup(child)
        elif kind == "function_definition":
            self.function(node, depth)
        else:
            self.doubt("has a shape that is not known", node)
            self.soup(node)
            for child in node.children:
                if child.is_named and child.child_count:
                    self.statement(child, STREAM, "", depth + 1)

    def comment(self, node: "Node") -> None:
        before = self.source[: node.start_byte][-1:]
        if before not in (b"", b"\n", b" ", b"\t", b";", b"&", b"|", b"(", b")"):
            self.doubt("has a comment that the shell may take for a word", node)

    def scope(self, nodes: "list[Node]", feed: Feed, depth: int, function: str = "") -> None:
        self.items.append(Enter(function=function))
        for child in nodes:
            if child.is_named:
                self.statement(child, feed, "", depth + 1)
        self.items.append(Leave())

    def pipeline(self, node: "Node", feed: Feed, depth: int) -> None:
        """Inside a here-document the grammar leaves out what stands before the first bar."""
        if node.children[0].type in ("|", "|&"):
            feed = STREAM
        for child in node.children:
            if child.is_named:
                self.scope([child], feed, depth)
                feed = self.stream(node.start_byte, child)

    def stream(self, start: int, last: "Node") -> Feed:
        text = self.raw(start, last.end_byte)
        return Feed(kind="stream", names=True, places=listed_places(text)) if lists_names(text) else STREAM

    def function(self, node: "Node", depth: int) -> None:
        name = node.child_by_field_name("name")
        redirects = [child for child in node.children if child.type.endswith("_redirect")]
        body = [child for child in node.children if child.is_named and child != name and child not in redirects]
        fed = redirects or any(sign in self.source for sign in (b"|", b"<"))
        self.scope(body, STREAM if fed else NO_FEED, depth, function=self.text(name))
        for redirect in redirects:
            self.items.append(Simple(redirects=tuple(self.redirect(redirect)[0]), source=self.text(redirect)))

    def test(self, node: "Node") -> None:
        """Strings that a test or arithmetic takes for names are evaluated, substitutions in them included."""
        self.soup(node)
        todo = list(node.children)
        while todo:
            child = todo.pop()
            todo += child.children
            if child.type in ("raw_string", "ansi_c_string") and ("$(" in self.text(child) or "`" in self.text(child)):
                self.doubt("evaluates a quoted substitution", node)
        self.items.append(Simple(words=(Word(text="test", plain="test"),), source=self.text(node)))

    def redirected(self, node: "Node", feed: Feed, joined: str, depth: int) -> None:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.children if child != body and child.is_named]
        if body is None:
            self.simple(node, redirects, feed, joined)
        else:
            self.ending(body, redirects, feed, joined, depth)
        for redirect in redirects:
            if redirect.type == "heredoc_redirect":
                self.after_here(redirect, depth)

    def ending(self, body: "Node", redirects: "list[Node]", feed: Feed, joined: str, depth: int) -> None:
        """The grammar gives a redirection to a whole list or pipe; the shell, to its last command."""
        if body.type in SIMPLE:
            self.simple(body, redirects, feed, joined)
        elif body.type in ("list", "negated_command") and depth < DEEPEST:
            *first, last = [child for child in body.children if child.is_named]
            for child in first:
                self.statement(child, feed, joined, depth + 1)
            operator = next((child.type for child in body.children if child.type in ("&&", "||")), joined)
            self.ending(last, redirects, feed, operator, depth + 1)
        elif body.type == "pipeline" and depth < DEEPEST:
            *first, last = [child for child in body.children if child.is_named]
            for child in first:
                self.scope([child], feed, depth)
                feed = self.stream(body.start_byte, child)
            self.items.append(Enter())
            self.ending(last, redirects, feed, "", depth + 1)
            self.items.append(Leave())
        else:
            parts = [self.redirect(redirect) for redirect in redirects]
            if any(each[2].kind != "none" for each in parts):
                feed = STREAM
            if any(each[1] for each in parts):
                self.doubt("has words where none belong", body)
            written = tuple(redirect for each in parts for redirect in each[0])
            self.items.append(Simple(redirects=written, joined=joined, source=f"{{ {self.text(body)[:60]} }}"))
            self.statement(body, feed, joined, depth + 1)

    def after_here(self, node: "Node", depth: int) -> None:
        """What stands on the line of a here-document behind its marker."""
        joined = ""
        for child in node.children:
            if child.type == "pipeline":
                self.pipeline(child, STREAM, depth + 1)
            elif child.type in ("&&", "||"):
                joined = child.type
            elif child.type not in ("<<", "<<-", "heredoc_start", "heredoc_body", "heredoc_end", "file_redirect"):
                self.statement(child, NO_FEED, joined, depth + 1)

    def simple(self, node: "Node", redirects: "Sequence[Node]", feed: Feed, joined: str) -> None:
        """Nodes that touch each other are one word; a redirection's second target is a word of the command."""
        names: list[Node] = []
        spans: list[tuple[int, int]] = []
        redirections: list[Redirect] = []
        own = (
            []
            if node.type == "redirected_statement"
            else [node]
            if node.type == "variable_assignment"
            else node.children
        )
        for child in [*own, *redirects]:
            if child.type == "variable_assignment" and node.type != "declaration_command":
                names.append(child)
            elif child.type.endswith("_redirect"):
                more, rest, new = self.redirect(child)
                redirections += more
                spans += rest
                feed = new if new.kind != "none" else feed
            elif child.type == "variable_assignment" and (held := child.child_by_field_name("value")) is not None:
                if held.type == "array":
                    names.append(child)
                else:
                    spans.append((child.start_byte, child.end_byte))
            elif child.type != ";":
                spans.append((child.start_byte, child.end_byte))
        raws = [self.raw(*span) for span in _joined(spans)]
        sources = " ".join([*(self.text(name) for name in names), *raws])
        assignments = [self.assignment(name) for name in names]
        scans: dict[str, None] = {}
        for values in worlds(self.known, self.values, sources):
            read = [scan(raw, values) for raw in raws]
            for raw, each in zip(raws, read, strict=True):
                scans.update({(f"{text}\0inner"): None for text in each.inner})
                if each.problem:
                    scans[f"{raw}\0{each.problem}"] = None
            self.items.append(
                Simple(
                    words=tuple(
                        place_word(raw, word, self.places)
                        for raw, each in zip(raws, read, strict=True)
                        for word in each.words
                    ),
                    assignments=tuple(assignments),
                    redirects=tuple(redirections),
                    feed=feed,
                    joined=joined,
                    source=self.text(node),
                )
            )
        for entry in scans:
            text, _, why = entry.rpartition("\0")
            self.items.append(Inner(text=text) if why == "inner" else Doubt(why=f"contains {why}", words=text))

    def assignment(self, node: "Node") -> Assignment:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        assert name is not None
        if name.type == "subscript":
            self.soup(name)
        if value is None:
            word = Word(text="")
        elif value.type == "array":
            self.soup(value)
            word = Word(text=self.text(value), plain=self.text(value), hole=True, computed=True)
        else:
            words = self.add_scan(scan(self.text(value), self.values), value)
            word = words[0] if len(words) == 1 else Word(text=self.text(value), hole=True, computed=True)
        return Assignment(name=self.text(name).partition("[")[0], value=word)

    def redirect(self, node: "Node") -> tuple[list[Redirect], list[tuple[int, int]], Feed]:
        """The redirections, words of the command caught in them, and the input they give."""
        if node.type == "heredoc_redirect":
            return self.here(node)
        operator = next((child.type for child in node.children if not child.is_named), "")
        spans = [(child.start_byte, child.end_byte) for child in node.children if child.is_named]
        if node.children[0].type == "file_descriptor":
            spans = spans[1:]
        if operator == "" or not spans:
            return [Redirect(operator=operator, target=None)], [], NO_FEED
        first, *rest = _joined(spans)
        words = self.add_scan(scan(self.raw(*first), self.values), node)
        if operator == "<<<":
            known = len(words) == 1 and not words[0].hole
            return [], rest, Feed(kind="text", text=words[0].text) if known else STREAM
        target = (
            place_word(self.raw(*first), words[0], self.places)
            if len(words) == 1
            else Word(text=self.raw(*first), hole=True, computed=True)
        )
        return [Redirect(operator=operator, target=target)], rest, STREAM if operator in ("<", "<&", "<>") else NO_FEED

    def here(self, node: "Node") -> tuple[list[Redirect], list[tuple[int, int]], Feed]:
        parts: dict[str, Node] = {child.type: child for child in node.children}
        redirects: list[Redirect] = []
        for child in node.children:
            if child.type == "file_redirect":
                redirects += self.redirect(child)[0]
        start, body, end = parts.get("heredoc_start"), parts.get("heredoc_body"), parts.get("heredoc_end")
        if start is None or end is None:
            self.doubt("has a here-document without an end", node)
            return redirects, [], STREAM
        marker = self.text(start)
        text = self.raw(body.start_byte, end.start_byte) if body is not None else ""
        if not self.ends_well(marker, text, end, dash="<<-" in parts):
            self.doubt("has a here-document whose end is unclear", node)
        if any(quote in marker for quote in "'\"\\"):
            return redirects, [], Feed(kind="text", text=text)
        self.add_scan(here_text(text), node)
        return redirects, [], Feed(kind="stream" if "$" in text or "`" in text else "text", text=text)

    def ends_well(self, marker: str, text: str, end: "Node", *, dash: bool) -> bool:
        """The shell ends the text at the first line that is the marker alone; so must the grammar."""
        bare = re.sub(r"['\"\\]", "", marker)
        lines = [line.lstrip("\t") if dash else line for line in text.split("\n")]
        after = self.source[end.end_byte : end.end_byte + 1]
        return bare not in lines and self.text(end) == bare and after in (b"", b"\n") and not lines[-1].strip("\t")


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined
