"""What must never be shown: the secrets of the environment, and of the `.env` of a trusted project."""

import os
from typing import TYPE_CHECKING

from overt.config.paths import read_environment
from overt.config.trust import assignments
from overt.core.errors import OvertError
from overt.lib.redaction.redact import Redactor
from overt.lib.redaction.secret_values import secret_values
from overt.lib.text import visible

if TYPE_CHECKING:
    from overt.app.setting import Setting


def known_secrets(setting: "Setting") -> tuple[str, ...]:
    """Return every value that must never be shown."""
    environment, project = setting.environment, setting.roots.project
    secrets = (*environment.secrets(), *secret_values(environment.variables))
    if not setting.trust.has(project):
        return secrets  # the file could name a common word a secret and have it hidden everywhere
    return (*secrets, *secret_values(dict(assignments(os.path.join(project, ".env")))))


def make_redactor(setting: "Setting") -> Redactor:
    """Make the redactor of one conversation. It knows the secrets around it and what `redact.allow` lets through."""
    entries, roots = setting.config.redact_allow, setting.roots
    allowed = None
    if entries:
        home = os.path.realpath(setting.environment.home)
        from overt.lib.redaction.allow import AllowedSecrets  # late: 0.2 ms

        allowed = AllowedSecrets(entries, project=roots.project, workspace=roots.workspace, home=home)
    return Redactor(known_secrets(setting), allowed=allowed)


def harmless(text: str) -> str:
    """Make an error that ends the program fit for a terminal: there may be no conversation to redact it."""
    try:
        known = secret_values(read_environment().variables)
    except OvertError:
        known = ()  # this is the error that is being shown
    return visible(Redactor(known).clean(text))
