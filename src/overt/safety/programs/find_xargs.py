"""Programs that run a command for each name they read or find: `xargs`, `find`, `fd`."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from overt.safety.programs.listing_commands import found_places
from overt.safety.programs.options import read_options
from overt.safety.programs.program_call import DELETES, ProgramCall, base_name
from overt.safety.programs.wrappers import command_start
from overt.safety.shell.words import NAMED, UNKNOWN, Word, literal


def xargs(call: ProgramCall) -> None:
    takes = frozenset(
        "-I -n -P -L -s -d -a -E -J -R -S --replace --max-args --max-procs --delimiter --arg-file".split()
    )
    start = command_start(call.args, takes, 0)
    options = read_options(call.args[:start], takes)
    rest = call.args[start:]
    call.harmless()
    if not rest:
        return
    marks = [value.text or "{}" for value in options.values("-I", "-J", "--replace", "-i")]
    replaced = bool(marks)
    listed = call.feed.names and not options.has("-a", "--arg-file")
    places = call.feed.places if listed else ()
    rest = tuple(_with_unknown(word, marks, made=not listed) for word in rest)
    rest = tuple(replace(word, places=places) if word.text in marks else word for word in rest)
    if rest[0].hole or (not replaced and len(rest) == 1 and base_name(rest[0].text) in TAKES_ANYTHING):
        call.unreadable("runs what it reads")
    elif replaced:
        call.run(rest)
    else:
        several = not any(value.text == "1" for value in options.values("-n", "-L", "--max-args"))
        call.run((*rest, replace(NAMED if listed else UNKNOWN, splits=several, places=places)))


TAKES_ANYTHING = frozenset(
    """env find git sh bash dash zsh ksh fish busybox sudo nice nohup timeout command exec eval time xargs docker
        kubectl ssh python python3 perl ruby node tar sed awk npx make rsync""".split()
)
"""Given no more than what a stream says, these may do anything."""


def _with_unknown(word: Word, marks: Sequence[str], *, made: bool) -> Word:
    if not any(mark in word.text for mark in marks):
        return word
    leads = word.text.startswith(tuple(marks))
    crafted = made and (leads or (word.text[0] == "-" and "=" not in word.text))
    plain = word.plain
    for mark in marks:
        plain = plain.replace(mark, "1")
    return Word(
        text=word.text, plain=plain, hole=True, leads=leads, computed=True, made=not leads or made, crafted=crafted
    )


FIND_VALUES = frozenset(
    """-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -newer -anewer -cnewer
        -mtime -mmin -atime -amin -ctime -cmin -perm -user -group -uid -gid -maxdepth -mindepth -printf -samefile
        -inum -links -fstype -lname -ilname -used -context -regextype -D -O""".split()
)


def find(call: ProgramCall) -> None:
    call.harmless()
    place, started = 0, False
    args = call.args
    while place < len(args):
        word = args[place]
        text = word.text
        if word.crafted or (word.glob and text[0] == "-") or (word.leads and started and text != "{}"):
            call.unreadable("may be told to delete by a computed word")
        if text in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((at for at in range(place, len(args)) if args[at].text in (";", "+")), len(args))
            _each(call, args[place + 1 : end], _found_by(args), several=end < len(args) and args[end].text == "+")
            place = end
        elif text == "-delete":
            call.dangerous(DELETES, _found_by(args))
        elif text in ("-fprint", "-fprint0", "-fls", "-fprintf"):
            call.write(args[place + 1] if place + 1 < len(args) else UNKNOWN)
            place += 2 if text == "-fprintf" else 1
        elif text == "-files0-from" or text.startswith("-newer") or text in FIND_VALUES:
            place += 1
        started |= text.startswith(("-", "(", "!"))
        place += 1


def _found_by(args: Sequence[Word]) -> Sequence[Word]:
    if any(word.hole for word in args):
        return [UNKNOWN]
    return [Word(text=place, glob=True) for place in found_places([word.text for word in args])]


def _each(call: ProgramCall, words: Sequence[Word], where: Sequence[Word], *, several: bool) -> None:
    """A command run for each file found, or for several: the name stands where `{}` does."""
    places = tuple(word.text for word in where if not word.hole)
    words = [
        replace(
            _with_unknown(word, ["{}"], made=False),
            splits=several and word.text == "{}",
            places=places if word.text == "{}" else (),
        )
        for word in words
    ]
    if not words or words[0].hole:
        call.unreadable("runs the files it finds")
    else:
        call.run(words, call.feed)


def fd(call: ProgramCall) -> None:
    texts = [word.text for word in call.args]
    place = next((at for at, text in enumerate(texts) if text in ("-x", "-X", "--exec", "--exec-batch")), None)
    call.harmless()
    if place is not None:
        _each(call, [*call.args[place + 1 :], literal("{}")], (), several=texts[place] in ("-X", "--exec-batch"))
    elif any(text.startswith(("--exec", "-x", "-X")) for text in texts):
        call.unreadable("runs a program for each file")


HANDLERS: dict[str, Callable[[ProgramCall], None]] = {"xargs": xargs, "find": find, "fd": fd, "fdfind": fd}
