"""What undo says about its limits and about git, in English."""

UNDO_LIMITS: dict[str, str] = {
    "undo.disabled": "Undo is switched off (`undo.enabled = false`). Set it to true to use undo.",
    "undo.too_slow": (
        "the first snapshot of {files} files ({size}) took more than {seconds} s and was removed; "
        "add large data to .gitignore, or try again with `overt undo --retry`"
    ),
    "undo.too_busy": (
        "the first snapshot took more than {seconds} s because the machine was busy; the next run tries again"
    ),
    "undo.too_slow_to_list": (
        "listing the files took more than {seconds} s; "
        "add large folders to .gitignore, or try again with `overt undo --retry`"
    ),
    "undo.too_large": (
        "{files} files ({size}) are too much for snapshots; "
        "add large data to .gitignore, or try again with `overt undo --retry`"
    ),
    "undo.dropped": "the snapshots were removed to keep undo within `undo.max_size` and `undo.max_age`",
    "undo.turn_dropped": (
        "Turn {turn} can no longer be put back: its snapshots were removed to keep undo within `undo.max_size` "
        "and `undo.max_age`, or by `overt undo --prune`."
    ),
    "undo.turn_partly_dropped": (
        "Part of turn {turn} can no longer be put back: snapshots were removed to keep undo "
        "within `undo.max_size` and `undo.max_age`, or by `overt undo --prune`."
    ),
    "undo.usage_line": "{project}: {size} of {limit}. Turns that can be put back: {turns}, the oldest from {oldest}.",
    "undo.usage_none": "{project}: {size} of {limit}. No turn can be put back.",
    "undo.usage_age": "Turns are removed after {days} days.",
    "undo.usage_age_one": "Turns are removed after 1 day.",
    "undo.usage_refused": "Undo does not cover changes by commands here: {why}.",
    "undo.pruned": "Freed {size}. Turns that can no longer be put back: {turns}.",
    "undo.pruned_free": "Freed {size}.",
    "undo.not_released": "Snapshots of this session were not removed ({why}). Run `overt undo --prune` in its folder.",
    "undo.retry": "The next run will try to take a first snapshot of {workspace} again.",
    "undo.retry_idle": "Nothing to retry: the first snapshot of {workspace} did not fail.",
}

UNDO_GIT: dict[str, str] = {
    "undo.git.turn": "Turn {turn}",
    "undo.git.turns": "Turns {first} to {last}",
    "undo.git.commit": "{who} also made commit {new} on {ref}, which stays there.",
    "undo.git.commits": "{who} also made {count} commits on {ref}, up to {new}; they stay there.",
    "undo.git.first_commit": "{who} also made the first commit {new} on {ref}, which stays there.",
    "undo.git.moved_back": "{who} also moved {ref} back from {old} to {new}, where it stays.",
    "undo.git.replaced": "{who} also moved {ref} from {old} to {new}, where it stays.",
    "undo.git.moved": "{who} also moved {ref} from {old} to {new}.",
    "undo.git.created": "{who} also created {ref} at {new}, which stays.",
    "undo.git.created_with_commits": "{who} also created {ref} with new commits up to {new}, which stay.",
    "undo.git.deleted": "{who} also deleted {ref}, which was at {old}.",
    "undo.git.switched": "{who} also switched from {old} to {new}; HEAD stays there.",
    "undo.git.stashed": "{who} also stashed changes ({commit}: {message}), which stay in the stash.",
    "undo.git.unstashed": "{who} also removed a stash entry ({commit}: {message}).",
    "undo.git.stash_changed": "{who} also changed the stash. `git reflog stash` shows it.",
    "undo.git.staged": "{who} also changed what is staged. The index stays as it is.",
    "undo.git.operation_begun": "{who} also began a {operation}, which is still in progress.",
    "undo.git.operation_ended": "{who} also ended a {operation} that was in progress.",
    "undo.git.repository_created": "{who} also created the repository {folder}, which stays.",
    "undo.git.repository_removed": "{who} also removed the repository {folder}, which cannot be put back.",
    "undo.git.take_back": "`{command}` takes it back, or `{undo}`.",
    "undo.git.take_back_by_hand": "`{command}` takes it back.",
    "undo.git.unchanged": "{who} did not change git.",
    "undo.git.refused": "Git cannot be put back: {why}. Nothing was changed. Without --git, the files are put back.",
    "undo.git.other_repository": "the repository {folder} is not the one of this folder",
    "undo.git.whole_repository": "the repository itself was created or removed",
    "undo.git.interrupted": "something else changed git between the commands of the turn",
    "undo.git.in_operation": "the turn began or ended a {operation}",
    "undo.git.stash_order": "the turn changed older stash entries",
    "undo.git.no_index": "the index from before the turn was not kept",
    "undo.git.locked": "another git process is running here (index.lock)",
    "undo.git.moved_on": "git has moved on since the turn ({what})",
    "undo.git.pushed": "commit {commit} was pushed, it is in {branch}",
    "undo.git.done": "Git is as before turn {turn}: HEAD is {head}.",
    "undo.git.index_left": "The index stays as it is: {why}.",
    "undo.git.stash_left": "The stash entry {commit} ({message}) stays, because not all of its files are back.",
    "undo.git.backup": "{commit} is kept below refs/overt/undo. `{command}` brings it back.",
}
