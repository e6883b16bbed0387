"""git: the table of its subcommands, and the options that make any of them run something."""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from overt.safety.danger import Reason
from overt.safety.programs.listing_commands import REVISION
from overt.safety.programs.options import Shape, read_options
from overt.safety.programs.program_call import ProgramCall
from overt.safety.programs.program_classes import classify_by_shape
from overt.safety.programs.wrappers import command_start
from overt.safety.shell.words import UNKNOWN, Word, literal

GLOBAL_TAKES = frozenset(
    "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source".split()
)

TAKES_IGNORED = Reason("takes ignored files out of the work tree", "unpack", "move")
REWRITES = Reason("rewrites commits", "worktree")
DISCARDS = Reason("throws away work that was not committed", "worktree")
OVERWRITES = Reason("writes files of another commit over those here", "worktree")
CHANGES = Reason("changes or deletes files", "files")
DELETES = Reason("deletes files that git does not know", "untracked", "delete")
REFS = Reason("deletes or moves branches or tags", "worktree")
HISTORY = Reason("rewrites history beyond the reflog", "history")
REMOTES = Reason("changes remotes or other repositories", "history")
RUNS = Reason("runs a program of its own", "code")
CONFIG = Reason("changes settings that decide what git runs", "history")
OTHERS = Reason("changes what others have", "published")

SHAPE = Shape(
    bad={
        DISCARDS: """reset --hard|--merge|--keep; restore !--staged|-S; restore --worktree|-W; restore -W;
            checkout -f|--force|-B|-p|--patch|--ours|--theirs|-m|--merge|--pathspec-from-file; switch -f
            |--force|-C|--force-create|--discard-changes|-m|--merge|--orphan; checkout --orphan; stash drop|clear;
            apply !--check|--stat|--numstat|--summary; apply --apply; checkout-index; read-tree; update-index;
            merge --abort|--quit; cherry-pick --abort|--quit; revert --abort|--quit; am --abort|--skip|--quit;
            sparse-checkout set|add|reapply|disable|init; bisect reset; rerere clear|forget; merge-file !-p|--stdout;
            notes remove|prune; pull --force|-f""",
        CHANGES: "rm !-n|--dry-run; mv !-n|--dry-run",
        DELETES: "clean !-n|--dry-run",
        REWRITES: """commit --amend; rebase; reset --soft|--mixed *; pull --rebase|-r; commit --fixup --amend""",
        HISTORY: """filter-branch; filter-repo; replace; fast-import; gc --prune|--aggressive; prune !-n|--dry-run;
            reflog expire|delete|drop; prune-packed; update-ref; symbolic-ref * *; symbolic-ref -d|--delete; pack-refs;
            repack -a|-A|-d; maintenance unregister; history; lfs prune|uninstall""",
        REFS: """branch -d|-D|-m|-M|-C|-f|--delete|--move|--force; tag -d|-f|--delete|--force""",
        REMOTES: """remote remove|rm|rename|set-url|set-head|set-branches; remote prune !-n|--dry-run; fetch --force|-f;
            submodule deinit|absorbgitdirs|set-url; worktree remove|move|repair; worktree add -B|-f|--force;
            worktree prune !-n|--dry-run""",
        OTHERS: """push --force|-f|--force-with-lease|--force-if-includes|--delete|-d|--mirror|--prune !-n|--dry-run;
            send-email; imap-send; svn; p4; cvsexportcommit; push --force|-f|--delete|-d|--mirror --receive-pack""",
        RUNS: """difftool; mergetool; instaweb; daemon; gui; citool; gitk; credential; credential-cache;
            credential-store; shell; remote-ext; upload-pack; receive-pack; http-backend; web--browse; for-each-repo;
            fsmonitor--daemon; hook; archive --exec|--remote; clone -c|--config|-u|--upload-pack|--template; init
            --template; fetch --upload-pack; ls-remote --upload-pack|--exec; pull --upload-pack; push --receive-pack
            |--exec; fetch-pack --upload-pack|--exec; grep -O|--open-files-in-pager; bundle --exec; rebase -x|--exec;
            send-pack --receive-pack; submodule--helper; interpret-trailers --in-place; fsck --lost-found""",
    },
    ordinary="""reset; branch --edit-description|--unset-upstream|-u|--set-upstream-to|--copy|-c; tag -a|-s|-m|-F|-u
        |-e|--annotate|--sign; hash-object -w; remote add|update; notes add|append|copy|edit|merge""",
    fine="""status|log|diff|show|rev-parse|ls-files|ls-tree|ls-remote|blame|annotate|describe|shortlog|cat-file|grep
        |rev-list|merge-base|name-rev|for-each-ref|count-objects|whatchanged|range-diff|cherry|show-ref|show-branch
        |var|check-ignore|check-attr|check-ref-format|check-mailmap|diff-tree|diff-index|diff-files|merge-tree
        |verify-commit|verify-tag|verify-pack|get-tar-commit-id|help|version|stripspace|patch-id|request-pull|column
        |fmt-merge-msg|fast-export|interpret-trailers|hash-object|fsck|diff-pairs|mailinfo|archive|write-tree-n
        |bugreport-n|last-modified|repo|url-parse; branch $; branch -l|--list|--contains|--no-contains|--merged
        |--no-merged|--points-at|--show-current|-a|-r|-v|--all|--remotes|--sort|--format; tag $; tag -l|--list|-n
        |--contains|--no-contains|--points-at|--merged|--no-merged|--sort|--format|-v|--verify; remote $; remote show
        |get-url; remote prune -n|--dry-run; remote -v|--verbose; stash list|show; reflog; reflog show|exists|list;
        worktree list; worktree prune -n|--dry-run; submodule $;
        submodule status|summary; bisect log|view|visualize|terms; notes $; notes list|show; clean -n|--dry-run; push
        -n|--dry-run; commit --dry-run; add -n|--dry-run; rm -n|--dry-run; mv -n|--dry-run; fetch --dry-run; prune -n
        |--dry-run; apply --check|--stat|--numstat|--summary; symbolic-ref *; sparse-checkout list; lfs ls-files
        |status|env|version|logs; bundle verify|list-heads; format-patch --stdout; merge-file -p|--stdout; rerere
        status|diff; $; checkout --help; maintenance list; credential-help""",
    takes="""-m -F -C --message --file --author --date -L -S -G -U --format --grep --since --until --max-count -s
        --strategy -X -b -B""",
    writes="--output --output-directory --export-marks",
    net="""fetch|pull|push|clone|ls-remote; remote update|show|prune; submodule update|add; lfs fetch|pull|push;
        archive --remote""",
)
"""What differs from ordinary."""

LOCAL_PATH = re.compile(r"\.{0,2}/|~/|\.{1,2}$")
COUNTED = replace(SHAPE, takes=f"{SHAPE.takes} -n")
COUNTING = frozenset("log show shortlog whatchanged rev-list reflog stash".split())
"""Where `-n` takes a number; elsewhere it often means that nothing is done."""

NAMED = replace(SHAPE, writes=f"{SHAPE.writes} -o")
NAMING = frozenset("format-patch archive bugreport diagnose mailsplit".split())
"""Where `-o` names what is written."""

SAFE_KEYS = re.compile(
    r"""(?i)(?:color|advice|log|column|init\.defaultbranch|i18n|status|branch\.[^.]*\.(?:description|rebase)|user|author|committer|push|pull
    |rerere|merge\.(?:conflictstyle|log|ff)|diff\.(?:algorithm|renames|colormoved|context|noprefix|mnemonicprefix|submodule)|fetch|tag|versionsort
    |core\.(?:quotepath|abbrev|autocrlf|eol|filemode|ignorecase|precomposeunicode|longpaths|safecrlf|whitespace|commentchar)|commit\.(?:gpgsign|verbose|cleanup)
    |tag\.gpgsign|gc\.auto|http\.(?:postbuffer|lowspeed\w*|version)|safe\.directory|blame|grep\.\w+|feature\.\w+|format\.\w+|pack\.\w+|index\.\w+)(?:\..*)?""",
    re.VERBOSE,
)
QUIET = re.compile(
    r"""(?i:core\.pager|core\.editor|sequence\.editor)(?:=(?:cat|true|:|less)?)?|(?i:pager\.)[^=]*=(?:false|true|cat|no|0)
    |(?i:core\.fsmonitor|core\.hookspath)(?:=(?:false|/dev/null)?)?""",
    re.VERBOSE,
)
"""Settings given with `-c` under which nothing else runs."""

TAKES_NAMES = frozenset(
    """add commit log show diff status blame annotate shortlog whatchanged rev-list rev-parse merge-base merge-tree
        cat-file ls-tree ls-files name-rev describe show-ref cherry range-diff diff-tree diff-index diff-files
        check-ignore for-each-ref""".split()
)
"""What reads, whatever names it is given."""

FORCED = re.compile(r"\+[^:]*:(?!refs/remotes/)")
"""`+main:feature`: a branch here is set to what there is elsewhere."""

INNER = {"submodule": "foreach", "bisect": "run"}


def git(call: ProgramCall) -> None:
    start = command_start(call.args, GLOBAL_TAKES, 0)
    before = read_options(call.args[:start], GLOBAL_TAKES)
    rest = call.args[start:]
    call.folder = next(before.values("-C"), None)
    if before.has("--git-dir", "--work-tree") or sum(name == "-C" for name, _ in before.named) > 1:
        call.folder = UNKNOWN
    _globals(call, before.named)
    if not rest:
        return call.harmless()
    name = rest[0].text
    if rest[0].hole:
        return call.unreadable("runs a subcommand that is computed")
    call.key = ("git", name)
    if any(word.text.startswith(("ext::", "fd::")) for word in rest):
        return call.dangerous(RUNS)
    shape = COUNTED if name in COUNTING else NAMED if name in NAMING else SHAPE
    options = read_options(rest, frozenset(shape.takes.split()))
    if options.has("--help"):
        return call.harmless()
    if options.loose or (name not in TAKES_NAMES and any(word.wild for word in rest)):
        call.unreadable("may be told anything by a computed word")
    if options.has("--ext-diff", exact=False):
        call.dangerous(RUNS)
    if name in INNER and len(rest) > 1 and rest[1].text == INNER[name]:
        return _inner(call, rest)
    if name == "config":
        return _config(call, rest)
    if name == "rebase":
        for word in read_options(rest, frozenset({"-x", "--exec"})).values("-x", "--exec"):
            call.script(word)
    if name == "stash" and options.has("-a", "--all"):
        call.dangerous(TAKES_IGNORED, [literal(".")])
    if name == "bundle" and len(rest) > 2 and rest[1].text == "create":
        names = read_options(rest[2:], frozenset({"--version"})).operands
        call.write(names[0]) if names and names[0].text != "-" else None
    if name == "checkout":
        _checkout(call, rest)
    if name == "reset":
        _reset(call, rest)
    if name == "restore" and any(re.fullmatch(r"-[a-zA-Z]*W[a-zA-Z]*", word.text) for word in rest):
        call.dangerous(DISCARDS)  # -SW: for others -S takes a value
    if name == "fetch" and any(FORCED.match(word.text) for word in options.operands[1:]):
        return call.dangerous(REMOTES, key=("git", "fetch", "--force"))
    if name == "push" and any(word.text.startswith(("+", ":")) for word in options.operands[1:]):
        refspec = next(word.text for word in options.operands[1:] if word.text.startswith(("+", ":")))
        return call.dangerous(OTHERS, key=("git", "push", refspec))
    if overwritten := _overwritten(call, name, rest, options.operands[1:]):
        call.dangerous(OVERWRITES, overwritten)
    if name in ("rm", "mv") and not options.holds("-n", "--dry-run"):
        kept = name == "rm" and options.has("--cached")  # the files stay
        return call.dangerous(DISCARDS if kept else CHANGES, None if kept else options.operands[1:])
    if name == "clean" and not options.holds("-n", "--dry-run"):
        options = read_options(rest, frozenset({"-e", "--exclude"}))
        folders = options.operands[1:] or [literal(".")]
        spared = [*options.values("-e", "--exclude")]  # `!.env` among them takes it from what is ignored
        also_ignored = options.has("-x", "-X") or any("!" in word.text or word.hole for word in spared)
        return call.dangerous(DELETES, folders, kind="unpack" if also_ignored or _twice_forced(rest) else "untracked")
    if name in ("clone", "fetch", "pull", "ls-remote") and _on_this_machine(options.operands[1:]):
        shape = replace(shape, net="")
    return classify_by_shape(call, shape, rest)


def _overwritten(call: ProgramCall, name: str, rest: tuple[Word, ...], operands: Sequence[Word]) -> Sequence[Word]:
    """Which commit is written over what lies in the work tree, ignored files included, and at which paths."""
    texts = [word.text for word in rest]
    commit, paths = operands[:1], operands[1:]
    if name == "restore":
        commit, paths = [*read_options(rest, frozenset({"-s", "--source"})).values("-s", "--source")][:1], operands
    elif name == "checkout":
        named = commit and texts[1:2] != ["--"] and not call.exists(commit[0].text)
        commit = commit if named and (paths or {"-f", "--force"}.intersection(texts)) else ()
    elif name == "read-tree":
        paths = ()
    elif name != "reset" or not {"--hard", "--keep", "--merge"}.intersection(texts):
        commit = ()
    if not commit or commit[0].text in ("HEAD", "@"):
        return ()
    text = f"{REVISION}{commit[0].text}"
    return (replace(commit[0], text=text, plain=text), *(word for word in paths if word.text != "--"))


def _twice_forced(rest: tuple[Word, ...]) -> bool:
    """`-ff` deletes repositories that lie in the work tree."""
    return sum(word.text.count("f") for word in rest if re.fullmatch(r"-[a-zA-Z]+", word.text)) > 1


def _on_this_machine(words: Sequence[Word]) -> bool:
    """True if a repository is given by its path, and none by an address or by the name of a remote."""
    texts = [word.text.removeprefix("file://") for word in words if not word.text.isdecimal()]
    return bool(texts) and LOCAL_PATH.match(texts[0]) is not None and not any(":" in text for text in texts)


def _globals(call: ProgramCall, named: tuple[tuple[str, Word | None], ...]) -> None:
    for name, value in named:
        text = value.text if value is not None else ""
        if name == "-c":
            known = SAFE_KEYS.fullmatch(text.partition("=")[0]) and value is not None and not value.leads
            if not known and not QUIET.fullmatch(text):
                call.dangerous(CONFIG)
        elif name in ("--exec-path", "--config-env") and (text or name == "--config-env"):
            call.dangerous(RUNS)
        elif name in ("--git-dir", "--work-tree") or (name == "-C" and value is not None and value.made):
            call.ordinary("works in another folder")


def _inner(call: ProgramCall, rest: tuple[Word, ...]) -> None:
    start = 2 + command_start(rest[2:], frozenset(), 0)
    call.ordinary("runs a command for each step")
    if rest[start:]:
        text = " ".join(word.text for word in rest[start:])
        call.script(Word(text=text, plain=text, computed=any(word.computed for word in rest[start:])))


def _config(call: ProgramCall, rest: tuple[Word, ...]) -> None:
    takes = frozenset(
        "-f --file --blob --type --default --get --get-all --get-regexp --get-urlmatch --comment --value".split()
    )
    options = read_options(rest[1:], takes)
    words = [word.text for word in options.operands]
    if options.has(
        "-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color", "--get-colorbool"
    ) or words[:1] in (["list"], ["get"]):
        return call.harmless()
    edits = options.has(
        "-e", "--edit", "--unset", "--unset-all", "--remove-section", "--rename-section", "--add", "--replace-all"
    )
    if words[:1] in (["set"], ["unset"], ["edit"], ["remove-section"], ["rename-section"]):
        edits, words = True, words[1:]
    if not edits and len(words) <= 1:
        return call.harmless()
    if (
        words
        and SAFE_KEYS.fullmatch(words[0])
        and not options.operands[0].hole
        and not options.has("-e", "--edit", "--rename-section")
    ):
        for word in options.values("-f", "--file"):
            call.write(word)
        return call.ordinary("changes settings")
    return call.dangerous(CONFIG)


def _checkout(call: ProgramCall, rest: tuple[Word, ...]) -> None:
    """A path given to `checkout` is overwritten; a name that is no file here is taken for a branch."""
    texts = [word.text for word in rest[1:]]
    paths = [word for word in rest[1:] if not word.text.startswith("-")]
    new = any(text in ("-b", "--track", "-t", "--detach", "--help") for text in texts)
    if "--" in texts:
        return call.dangerous(DISCARDS, rest[texts.index("--") + 2 :])
    if not new and (
        len(paths) > 1
        or any(word.text in (".", "*") or word.glob or word.hole or call.exists(word.text) for word in paths)
    ):
        return call.dangerous(DISCARDS, paths)
    return None


def _reset(call: ProgramCall, rest: tuple[Word, ...]) -> None:
    """Moving the branch to another commit drops commits from it; unstaging does not."""
    paths = [word for word in rest[1:] if not word.text.startswith("-")]
    if paths and (re.search(r"[~^@]|^[0-9a-f]{7,40}$|^origin/", paths[0].text) or paths[0].leads):
        call.dangerous(REWRITES)
