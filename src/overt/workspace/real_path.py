"""Find where a path really lies, before a call is judged that names it.

The answer may be outdated a moment later; what counts is the check at the moment of use (`contained_path`).
"""

import os
import stat

from overt.core.protocols import ResolvedPath
from overt.lib.encoding import read_name
from overt.workspace.contained_path import Workspace


def describe_path(workspace: Workspace, path: str) -> ResolvedPath:
    """Nothing is opened, so pipes and devices are safe to look at. An odd name may be given as it is shown.

    `links` counts the names of a regular file; it is 0 for everything else, and in an isolated copy.
    """
    spelled = workspace.place(os.path.normpath(os.path.join(workspace.root, path)))
    if "\0" in path:
        return ResolvedPath(spelled=spelled, real=spelled, links=0)
    whole = os.path.realpath(os.path.join(workspace.root, path))
    meant = read_name(path)
    if meant != path and "\0" not in meant and not os.path.lexists(whole):
        other = os.path.realpath(os.path.join(workspace.root, meant))
        whole = other if os.path.lexists(other) else whole
    try:
        status = os.lstat(whole)
    except OSError:
        return ResolvedPath(spelled=spelled, real=workspace.place(whole), links=0)
    links = status.st_nlink if stat.S_ISREG(status.st_mode) and not workspace.copy else 0
    return ResolvedPath(spelled=spelled, real=workspace.place(whole), links=links)
