"""What an isolated agent changed in its copy of the workspace: which files, and a commit that keeps them."""
