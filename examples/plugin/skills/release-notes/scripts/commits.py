"""Print the subjects of the commits since the last tag, grouped by the word before the colon."""

import subprocess


def git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=False).stdout.strip()


tag = git("describe", "--tags", "--abbrev=0")
groups: dict[str, list[str]] = {}
for subject in git("log", "--format=%s", f"{tag}..HEAD" if tag else "HEAD").splitlines():
    group, colon, rest = subject.partition(": ")
    groups.setdefault(group if colon else "other", []).append(rest if colon else subject)
for group, subjects in sorted(groups.items()):
    print(f"{group}:")
    for subject in subjects:
        print(f"  {subject}")
