"""What `overt doctor` found, in lines for people."""

from collections.abc import Iterator

from overt.app.diagnostics.doctor import Examined, Sandbox
from overt.lib.catalogue import say


def lines(found: Examined) -> Iterator[str]:
    yield say("doctor.head", version=found.version, python=found.python, platform=found.platform)
    yield say("doctor.files", files=", ".join(found.files) or say("doctor.no_files"))
    if found.mistake:
        yield f"  ✗ {found.mistake}"
    for warning in found.warnings:
        yield f"  ! {warning}"
    yield say("doctor.trusted" if found.trusted else "doctor.untrusted", project=found.project)
    if found.model.name:
        yield say("doctor.model", model=found.model.name)
        if found.model.probed:
            yield say("doctor.profile", calls=found.model.calls, probed=found.model.probed)
        elif found.model.reference:
            yield say("doctor.no_profile", model=found.model.reference)
    else:
        yield say("doctor.no_model")
        yield from (f"  ! {line}" for line in found.model.problem.splitlines())
    yield say("doctor.programs")
    for program in found.programs:
        said = program.version or program.name
        yield f"  ✓ {said} ({program.path})" if program.path else f"  ! {program.name}: {say('doctor.absent')}"
    yield say("doctor.sessions", folder=found.sessions)
    if not found.sessions_writable:
        yield f"  ✗ {say('doctor.read_only')}"
    yield from _walls(found.sandbox)


def _walls(sandbox: Sandbox) -> Iterator[str]:
    checked, state = sandbox.checked, sandbox.state
    held = 0 if checked.void else checked.held
    yield say("doctor.sandbox", held=held, all=len(checked.walls), kind=state.kind)
    if checked.void:
        yield f"  ✗ {say('doctor.void', reason=checked.void)}"
        return
    for wall in checked.walls:
        yield f"  {'✓' if wall.held else '✗'} {wall.number:2} {say(f'doctor.wall.{wall.name}')}"
        if not wall.held:
            yield f"       {say(f'doctor.means.{wall.name}')}"
        if wall.detail:
            yield f"       {say('doctor.through', what=wall.detail)}"
    if state.boxed and not checked.loopback:
        yield f"  ! {say('doctor.no_loopback')}"
    if state.missing:
        yield f"  ! {say('doctor.lacking', names=', '.join(state.missing))}"
    if sandbox.network:
        yield f"  ! {say('doctor.network', origin=sandbox.network)}"
    if state.why and not sandbox.whole:
        yield f"  → {state.why}"
