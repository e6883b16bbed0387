"""The pure parts of completion: where there is something to complete, what fits, what is ignored, what is used."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overt.app.completion.choices import BEFORE, ENDS, LONGEST, LONGEST_ARGUMENT, CompletionRequest, request_at
from overt.app.completion.count_mentions import mentioned_paths
from overt.app.completion.frecency import HALF_LIFE, MOST, FileUses
from overt.app.completion.ignore_files import IgnoreRules
from overt.app.completion.offered_files import MOST_LISTED, MOST_NAMES, FolderSearch, PathMatch, PathQuery
from overt.app.completion.ranking import best_matches, rank
from overt.app.context.references import ENDS as REFERENCE_ENDS
from overt.app.context.references import FOUND

NOW = 1_800_000_000.0


def at_bar(text: str, *, tab: bool = False) -> CompletionRequest | None:
    """Ask with the cursor where the bar stands."""
    cursor = text.index("|")
    return request_at(text.replace("|", "", 1), cursor, tab=tab)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("|", None),
        ("|/mode", None),
        ("/|", CompletionRequest("command", 0, 1, "")),
        ("/mo|", CompletionRequest("command", 0, 3, "mo")),
        ("/m|ode plan", CompletionRequest("command", 0, 5, "m")),
        ("/?|", CompletionRequest("command", 0, 2, "?")),
        ("/mode |", CompletionRequest("argument", 6, 6, "", name="mode")),
        ("/mode  pl|", CompletionRequest("argument", 7, 9, "pl", name="mode")),
        ("/mode pl|an", CompletionRequest("argument", 6, 10, "pl", name="mode")),
        ("/rewind 3 b|", CompletionRequest("argument", 8, 11, "3 b", name="rewind")),
        ("/usr/b|in", None),
        ("say /mo|", None),
        ("/compact keep\nthe |", None),
        (f"/compact {'x' * (LONGEST_ARGUMENT + 1)}|", None),
        ("@|", CompletionRequest("file", 0, 1, "")),
        ("look at @src/ca|", CompletionRequest("file", 8, 15, "src/ca")),
        ("@src/ca|rt.py now", CompletionRequest("file", 0, 12, "src/ca")),
        ("@|cart", CompletionRequest("file", 0, 1, "")),
        ("看@src/a|里的错误", CompletionRequest("file", 1, 7, "src/a")),
        ("看@文|", CompletionRequest("file", 1, 3, "文")),
        ('@"my fold|', CompletionRequest("file", 0, 9, "my fold", quoted=True)),
        ('@"my folder/|" x', CompletionRequest("file", 0, 13, "my folder/", quoted=True)),
        ('@"a@b|', CompletionRequest("file", 0, 5, "a@b", quoted=True)),
        ('@"done" |', None),
        ("me@exam|", None),
        ("@scope@exam|", None),
        ("@a b|", None),
        ("@a，|", None),
        ("one\n@tw|", CompletionRequest("file", 4, 7, "tw")),
        ("@one\ntwo|", None),
        ("/review @src/|", CompletionRequest("file", 8, 13, "src/")),
        ("!cat src|", None),
        ("!npm i @scope/x|", None),
    ],
)
def test_what_is_completed_is_the_word_at_the_cursor(text: str, found: CompletionRequest | None) -> None:
    assert at_bar(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("!|", CompletionRequest("path", 1, 1, "")),
        ("!cat sr|", CompletionRequest("path", 5, 7, "sr")),
        ("!cat my\\ fo|", CompletionRequest("path", 5, 11, "my fo")),
        ("!a>out/|", CompletionRequest("path", 3, 7, "out/")),
        ("!cat 'my fo|", None),
        ("!cat $HOME/|", None),
        ("!echo `l|", None),
        ("plain wo|", None),
    ],
)
def test_a_shell_line_completes_names_when_tab_asks(text: str, found: CompletionRequest | None) -> None:
    assert at_bar(text, tab=True) == found


def test_a_reference_ends_where_the_one_that_is_sent_does() -> None:
    signs = [chr(code) for code in range(0x21, 0x3100) if re.match(f"[{REFERENCE_ENDS}]", chr(code))]
    odd = [sign for sign in signs if not sign.isspace()]
    assert set(odd) <= set(ENDS)
    assert all(re.match(f"[{REFERENCE_ENDS}]", sign) for sign in ENDS)


@given(st.text(alphabet=f'ab.@/"{ENDS[:6]} \n\t看，{BEFORE}!', max_size=40), st.data())
def test_an_unquoted_word_is_read_the_same_when_it_is_sent(text: str, data: st.DataObject) -> None:
    cursor = data.draw(st.integers(0, len(text)))
    found = request_at(text, cursor)
    if found and found.kind == "file" and found.word and not found.quoted:
        match = re.compile(FOUND).search(text[:cursor], found.start)
        assert match and (match.start(), match[4]) == (found.start, found.word)
    if found:
        assert 0 <= found.start <= cursor <= found.end <= len(text)


def test_a_long_line_costs_no_more_than_its_last_part() -> None:
    assert request_at("x" * LONGEST + "@" + "a" * (LONGEST + 1), 2 * LONGEST + 2) is None


# ── what fits ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("word", "name", "place"),
    [
        ("", "x", 0),
        ("cart", "cart", 0),
        ("cart", "cart.py", 1),
        ("Cart", "cart.py", 2),
        ("py", "cart.py", 3),
        ("art", "cart.py", 4),
        ("crt", "cart.py", 5),
        ("tac", "cart.py", None),
        ("购", "我的购物车", 4),
    ],
)
def test_a_name_fits_by_its_beginning_first(word: str, name: str, place: int | None) -> None:
    assert rank(word, name) == place


def test_loose_fits_come_only_where_nothing_fits_better() -> None:
    names = ["memory", "model", "mode", "undo"]
    assert best_matches(names, "mo", lambda name: (name,)) == ["model", "mode", "memory"]
    assert best_matches(names, "mdl", lambda name: (name,)) == ["model"]
    titles = [("a1", "Fix the cart"), ("b2", "Other")]
    assert best_matches(titles, "cart", lambda pair: pair) == [("a1", "Fix the cart")]


# ── what is ignored ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("lines", "path", "folder", "ignored"),
    [
        ("*.log", "a.log", False, True),
        ("*.log", "sub/a.log", False, True),
        ("*.log\n!keep.log", "keep.log", False, False),
        ("!keep.log\n*.log", "keep.log", False, True),
        ("build/", "build", True, True),
        ("build/", "build", False, False),
        ("/only", "only", False, True),
        ("/only", "sub/only", False, False),
        ("sub/x", "sub/x", False, True),
        ("**/deep", "sub/deep", False, True),
        ("sub/**", "sub/x", False, True),
        ("a?c", "abc", False, True),
        ("[!a]b", "ab", False, False),
        ("[!a]b", "bb", False, True),
        ("# not", "# not", False, False),
        (r"\#yes", "#yes", False, True),
        ("blank \n", "blank", False, True),
        ("[", "[", False, False),
        ("[z-a]\n!\nb", "b", False, True),
        ("", "node_modules", True, True),
    ],
)
def test_ignore_files_are_read_as_git_reads_them(
    tmp_path: Path, lines: str, path: str, folder: bool, ignored: bool
) -> None:
    (tmp_path / ".gitignore").write_text(lines)
    assert IgnoreRules(str(tmp_path))(str(tmp_path / path), folder=folder) is ignored


def test_the_nearest_ignore_file_decides_and_a_change_is_seen(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".gitignore").write_text("*.txt")
    ignored = IgnoreRules(str(tmp_path))
    assert ignored(str(tmp_path / "sub/a.txt"), folder=False)
    (tmp_path / "sub/.gitignore").write_text("!a.txt")
    assert not ignored(str(tmp_path / "sub/a.txt"), folder=False)
    assert ignored(str(tmp_path / "sub/b.txt"), folder=False)
    (tmp_path / "sub/.gitignore").write_text("!b.txt\n")
    assert not ignored(str(tmp_path / "sub/b.txt"), folder=False)
    (tmp_path / ".git/info").mkdir(parents=True)
    (tmp_path / ".git/info/exclude").write_text("secret")
    assert ignored(str(tmp_path / "sub/secret"), folder=False)
    assert not ignored("/elsewhere/a.txt", folder=False)


def test_an_ignore_file_that_is_a_pipe_makes_nobody_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".gitignore")
    assert not IgnoreRules(str(tmp_path))(str(tmp_path / "a"), folder=False)


# ── what is used ─────────────────────────────────────────────────────────────────────────────────────────


def test_uses_are_counted_fade_and_lift_the_folders_above(tmp_path: Path) -> None:
    used = FileUses(str(tmp_path), "/work")
    used.add(["src/a.py"], NOW - HALF_LIFE)
    used.add(["src/a.py", "b.py"], NOW - HALF_LIFE)
    fresh = FileUses(str(tmp_path), "/work")
    assert [fresh.score(path, NOW) for path in ("src/a.py", "src", "b.py", "c.py")] == [1.0, 1.0, 0.5, 0.0]
    assert FileUses(str(tmp_path), "/other").score("b.py", NOW) == 0.0


def test_the_file_of_uses_is_private_bounded_and_survives_nonsense(tmp_path: Path) -> None:
    used = FileUses(str(tmp_path), "/work")
    for start in range(0, MOST + 100, 50):
        used.add([f"f{number}" for number in range(start, start + 50)], NOW + start)
    assert os.stat(used.path).st_mode & 0o777 == 0o600
    assert FileUses(str(tmp_path), "/work").score("f0", NOW + 500) == 0.0
    assert FileUses(str(tmp_path), "/work").score("f499", NOW + 450) == 1.0
    for nonsense in (b"", b"[]", b'{"v":1,"used":[]}', b'{"v":1,"used":{"a":3,"b":["x",1]}}', b"[" * 9999, b"\xff"):
        Path(used.path).write_bytes(nonsense)
        assert FileUses(str(tmp_path), "/work").score("a", NOW) == 0.0
    used.add(["a"], NOW)
    assert FileUses(str(tmp_path), "/work").score("a", NOW) == 1.0


def test_uses_that_cannot_be_kept_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "projects").write_text("in the way")
    used = FileUses(str(tmp_path), "/work")
    used.add(["a", "x" * 5000, "half \udcff"], NOW)
    assert used.score("a", NOW) == 1.0


def test_what_a_prompt_points_at_is_found_as_it_will_be_read(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for name in ("src/a.py", "my file.md", "b.py"):
        (tmp_path / name).touch()
    text = 'fix @src/a.py:3 and @src/ with @"my file.md", @b.py. not @gone or @../x or me@b.py, @./b.py'
    assert mentioned_paths(text, str(tmp_path)) == ["src/a.py", "src", "my file.md", "b.py"]


# ── one level ────────────────────────────────────────────────────────────────────────────────────────────


class Place:
    def __init__(self, root: Path) -> None:
        self.root = root / "w"
        self.root.mkdir()
        self.used = FileUses(str(root / "data"), str(self.root))

    def put(self, name: str, *, age: int = 0) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (NOW - age, NOW - age))

    def levels(self) -> FolderSearch:
        return FolderSearch((str(self.root),), ignored=IgnoreRules(str(self.root)), uses=self.used)

    def find(self, folder: str, word: str = "", *, loose: bool = False) -> list[str]:
        found, _ = self.levels().find(PathQuery(folder, word, NOW, loose))
        return [f"{each.path}/" if each.folder else each.path for each in found]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_what_is_used_comes_first_then_what_is_newest_then_by_name(place: Place) -> None:
    for name, age in (("old.py", 500), ("new.py", 5), ("used.py", 900), ("same-b", 50), ("same-a", 50)):
        place.put(name, age=age)
    place.used.add(["used.py"], NOW)
    assert place.find("") == ["used.py", "new.py", "same-a", "same-b", "old.py"]
    assert place.find("", "o") == ["old.py"]


def test_one_level_is_listed_as_it_was_typed(place: Place) -> None:
    place.put("src/shop/cart.py")
    place.put("src/main.py", age=9)
    assert sorted(place.find("src/")) == ["src/main.py", "src/shop/"]
    assert place.find("./src/", "m") == ["./src/main.py"]
    assert place.find("nowhere/") == place.find("src/main.py/") == place.find("src/\0/") == []


def test_hidden_names_come_when_a_dot_is_typed_and_git_never(place: Place) -> None:
    for name in (".env", ".github/x", ".git/config", "a.py"):
        place.put(name)
    assert place.find("") == ["a.py"]
    assert sorted(place.find("", ".")) == [".env", ".github/"]


def test_ignored_names_come_when_nothing_else_fits(place: Place) -> None:
    for name in ("out/x", "output.py", "outer.log"):
        place.put(name)
    (place.root / ".gitignore").write_text("out/\n*.log\n")
    assert place.find("", "out") == ["output.py"]
    assert place.find("", "oute") == ["outer.log"]
    assert place.find("out/") == ["out/x"]


def test_names_that_cannot_be_pointed_at_and_ways_out_are_left_out(place: Place) -> None:
    for name in ("ok.py", "bad\x1b[31m", "two\nlines", 'quo"te', "bidi\u202egpj.py", "bell\a", "名 字.md"):
        place.put(name)
    (place.root / os.fsdecode(b"latin\xe9")).touch()
    (place.root / "away").symlink_to("/etc")
    (place.root / "up").symlink_to("..")
    (place.root / "gone").symlink_to("nothing")
    (place.root / "round").symlink_to("round")
    (place.root / "within").symlink_to("ok.py")
    os.mkfifo(place.root / "pipe")
    assert sorted(place.find("")) == ["ok.py", "within", "名 字.md"]
    assert place.find("away/") == place.find("../") == place.find("/etc/") == []
    assert place.find(f"{place.root}/", "ok") == [f"{place.root}/ok.py"]


def test_a_folder_of_many_files_is_cut_and_says_how_many_more(place: Place) -> None:
    for number in range(MOST_LISTED + 7):
        place.put(f"many/f{number}")
    for rules in ("", "many/\n"):
        (place.root / ".gitignore").write_text(rules)
        found, more = place.levels().find(PathQuery("many/", "", NOW))
        assert (len(found), more) == (MOST_LISTED, 7)


def test_a_folder_of_any_size_is_read_only_so_far(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overt.app.completion.offered_files.MOST_NAMES", 10)
    for number in range(30):
        place.put(f"f{number}")
    assert len(place.find("")) == 10
    assert MOST_NAMES == 10_000


def test_names_further_down_are_found_with_the_folders_around_them(place: Place) -> None:
    names = ["a/b/Shop/x", "shopping/x", "a/shop.py", ".hidden/shop/x", "shopping/.shop", 'a/"shop"', "my shop/x/y"]
    for number, name in enumerate(names):
        place.put(name, age=number)
        os.utime((place.root / name).parent, (NOW, NOW))
    found = place.levels().below(names, "shop", NOW)
    assert [each.path for each in found] == ["shopping", "a/shop.py", "a/b/Shop", "my shop"]
    assert [each.folder for each in found] == [True, False, True, True]
    assert place.levels().below(names, ".sh", NOW) == [PathMatch("shopping/.shop", False)]
    assert place.levels().below(names, "shp", NOW) == []


def test_names_further_down_are_ordered_by_fit_then_use_then_time(place: Place) -> None:
    names = ["x/the-cart.py", "v/cart.py", "w/cart.py", "y/cart.py", "z/cart.py", "cart.d/other.py"]
    for name, age in zip(names, (0, 30, 20, 40, 90, 0), strict=True):
        place.put(name, age=age)
    place.used.add(["z/cart.py"], NOW)
    assert [each.path for each in place.levels().below(names, "cart.py", NOW)] == [
        "z/cart.py",
        "w/cart.py",
        "v/cart.py",
        "y/cart.py",
        "x/the-cart.py",
    ]


def test_of_very_many_names_further_down_some_are_offered(place: Place) -> None:
    names = [f"a/f{number}" for number in range(MOST_NAMES + 5)]
    assert len(place.levels().below(names, "f", NOW)) == MOST_LISTED
