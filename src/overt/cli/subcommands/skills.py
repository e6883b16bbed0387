"""`overt skills`: which skills there are, what the model is told of them, and whether they are valid."""

import os
import sys

from overt.app.registries import Registries
from overt.app.setting import Setting
from overt.app.skills.check import check_folders, create_skill
from overt.app.skills.describe import budget_lines, row_lines, skill_budget, skill_rows
from overt.app.skills.library import SkillLibrary
from overt.cli.output import print_lines, print_result, setting_of, warn
from overt.cli.parse import FOLDER, JSON, CommandLine, Flag, ParsedCommandLine, parse
from overt.core.errors import UsageError
from overt.lib.text import visible
from overt.lib.translations import say

ABOUT = """Skills: folders with a SKILL.md that tells the model how to do a kind of work.

  overt skills                      list them with origin, state and size
  overt skills show NAME            print one as the model gets it
  overt skills budget               print the list that the model is sent, and what was shortened
  overt skills check [FOLDER …]     check folders strictly, or all skills; ends with 1 if one is not valid
  overt skills new NAME             make one in .overt/skills, or with --user in your own folder"""

COMMAND = CommandLine(
    name="overt skills",
    about=ABOUT,
    words="[list | show NAME | budget | check [FOLDER …] | new NAME]",
    flags=(
        FOLDER,
        JSON,
        Flag("--user", "new: for all projects"),
        Flag("--description TEXT", "new: what it does and when to use it"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    setting = setting_of(args)
    library = SkillLibrary(setting)
    match args.words:
        case () | ("list",):
            print_result(args, skill_rows(library, setting), row_lines(library, setting))
        case ("show", name):
            _show(library, name)
        case ("budget",):
            _print_budget(args, library, setting)
        case ("check", *folders):
            return _check(args, library, [os.path.abspath(folder) for folder in folders])
        case ("new", name):
            path = create_skill(setting, name, for_user=args.switch("user"), description=args.text("description"))
            print_lines([say("skills.created", path=path)])
        case _:
            raise UsageError(say("skills.usage"))
    return 0


def _show(library: SkillLibrary, name: str) -> None:
    skill = next((each for each in library.files.skills if each.name == name), None)
    if skill is None:
        raise UsageError(say("skills.unknown", name=name))
    print(visible(library.read(skill, "").for_model()))


def _print_budget(args: ParsedCommandLine, library: SkillLibrary, setting: Setting) -> None:
    """Print the list byte for byte on stdout, and what is to be said about it on stderr."""
    budget = skill_budget(library, setting)
    if args.switch("json"):
        print_result(args, budget, ())
        return
    sys.stdout.write(budget.index.text + ("\n" if budget.index.text else ""))
    for line in budget_lines(budget):
        warn(line)


def _check(args: ParsedCommandLine, library: SkillLibrary, folders: list[str]) -> int:
    reports = check_folders(folders or [skill.folder for skill in (*library.files.skills, *library.files.shadowed)])
    lines: list[str] = []
    for report in reports:
        lines.append(say("skills.invalid" if report.errors else "skills.valid", folder=report.folder))
        lines += [f"  {say('skills.error', text=error)}" for error in report.errors]
        lines += [f"  {say('skills.warning', text=warning)}" for warning in report.warnings]
    print_result(args, reports, lines)
    return 1 if any(report.errors for report in reports) else 0
