"""The secrets around a run: those of the environment, and of the `.env` of a trusted project."""

import os

from overt.config.paths import Environment
from overt.config.trust import assignments
from overt.lib.redaction.secret_values import secret_values


def find_secrets(environment: Environment, project: str, *, trusted: bool) -> tuple[str, ...]:
    """Return every value that must never be shown."""
    secrets = (*environment.secrets(), *secret_values(environment.variables))
    if not trusted:
        return secrets  # the file could name a common word a secret and have it hidden everywhere
    return (*secrets, *secret_values(dict(assignments(os.path.join(project, ".env")))))
