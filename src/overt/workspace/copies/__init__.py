"""The files that an isolated agent changed in its copy of the workspace, and the commit of them."""
