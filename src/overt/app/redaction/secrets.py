"""What must never be shown: the secrets of the environment, and of the `.env` of a trusted project."""

import os

from overt.app.redaction.sources import find_secrets
from overt.app.setting import Setting
from overt.config.paths import read_environment
from overt.core.errors import OvertError
from overt.lib.redaction.redact import Redactor
from overt.lib.redaction.secret_values import secret_values
from overt.lib.text import visible


def known_secrets(setting: Setting) -> tuple[str, ...]:
    project = setting.roots.project
    return find_secrets(setting.environment, project, trusted=setting.trust.has(project))


def make_redactor(setting: Setting) -> Redactor:
    """The redactor of one conversation: it knows the secrets around it and what `redact.allow` lets through."""
    entries, roots = setting.config.redact_allow, setting.roots
    allowed = None
    if entries:
        home = os.path.realpath(setting.environment.home)
        from overt.lib.redaction.allow import AllowedSecrets  # late: 0.2 ms

        allowed = AllowedSecrets(entries, project=roots.project, workspace=roots.workspace, home=home)
    return Redactor(known_secrets(setting), allowed=allowed)


def harmless(text: str) -> str:
    """An error that ends the program, fit for a terminal: there may be no conversation to scrub it."""
    try:
        known = secret_values(read_environment().variables)
    except OvertError:
        known = ()  # it is the one that is being told
    return visible(Redactor(known).clean(text))
