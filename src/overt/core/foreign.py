"""Names of other agents' tools and arguments, in one table that serves both directions."""

TOOLS: dict[str, tuple[str, ...]] = {
    "read": (
        "Read",
        "read_file",
        "view",
        "cat",
        "open_file",
        "view_file",
        "readFile",
        "ReadFile",
        "file_read",
    ),
    "write": (
        "Write",
        "write_file",
        "create_file",
        "create",
        "writeFile",
        "WriteFile",
        "file_write",
        "save_file",
    ),
    "edit": (
        "Edit",
        "str_replace",
        "edit_file",
        "replace",
        "search_replace",
        "str_replace_editor",
        "str_replace_based_edit_tool",
        "replace_in_file",
        "editFile",
        "file_edit",
    ),
    "multiedit": ("MultiEdit", "multi_edit", "multi_edit_file"),
    "patch": ("Patch", "apply_patch", "applypatch", "apply_diff"),
    "list": ("LS", "List", "ls", "list_dir", "list_directory", "list_files", "listFiles", "directory_tree"),
    "glob": ("Glob", "find_files", "glob_search", "file_search", "search_files", "find_path"),
    "grep": (
        "Grep",
        "search",
        "ripgrep",
        "rg",
        "grep_search",
        "search_file_content",
        "search_content",
        "search_code",
        "code_search",
    ),
    "bash": (
        "Bash",
        "shell",
        "run_command",
        "run_shell_command",
        "execute_command",
        "run_terminal_cmd",
        "exec",
        "exec_command",
        "terminal",
        "local_shell",
        "execute_bash",
        "run_bash",
    ),
    "jobs": ("BashOutput", "KillShell", "KillBash", "job_output", "list_jobs", "stop_job"),
    "todoread": ("TodoRead", "todo_read", "read_todos"),
    "todowrite": ("TodoWrite", "todo_write", "update_plan", "write_todos", "todo"),
}
"""Our name → foreign names; the first is Claude Code's and is what stream-json shows."""

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "path": (
        "file_path",
        "filename",
        "file",
        "filepath",
        "filePath",
        "target_file",
        "relative_path",
        "absolute_path",
        "relative_workspace_path",
        "dir_path",
        "directory",
        "dir",
        "notebook_path",
        "target_directory",
        "DirectoryPath",
        "AbsolutePath",
    ),
    "content": ("contents", "text", "file_text", "new_content", "file_content", "code", "code_edit"),
    "old_string": ("old_str", "old_text", "old", "search", "oldString", "oldText", "find", "original"),
    "new_string": ("new_str", "new_text", "new", "replace", "newString", "newText", "replacement"),
    "replace_all": ("replaceAll", "all", "global"),
    "edits": ("changes", "replacements"),
    "pattern": ("query", "regex", "glob_pattern", "search_term", "regexp", "search_query"),
    "glob": ("include", "file_pattern", "include_pattern", "includes"),
    "command": ("cmd", "commands", "script", "bash", "shell_command", "command_line", "CommandLine"),
    "timeout": ("timeout_ms", "timeoutMs", "block_until_ms"),
    "run_in_background": ("background", "is_background", "isBackground"),
    "description": ("explanation", "reason", "justification"),
    "offset": ("start_line", "start", "line", "startLine", "from_line"),
    "limit": ("max_results", "num_lines", "head_limit", "max_count", "maxResults", "line_count"),
    "patch": ("patchText", "diff", "input", "patch_text"),
    "todos": ("items", "plan", "todo_list"),
    "ignore_case": ("-i", "case_insensitive", "ignoreCase"),
    "before": ("-B",),
    "after": ("-A",),
    "context": ("-C", "context_lines"),
    "mode": ("output_mode",),
    "id": ("job_id", "bash_id", "shell_id", "task_id", "jobId"),
    "active_form": ("activeForm",),
}
"""Our argument name → foreign names for the same thing, tried only where the schema has ours."""

OURS: dict[str, str] = {foreign: ours for ours, names in TOOLS.items() for foreign in names}
OUR_ARGUMENTS: dict[str, str] = {foreign: ours for ours, names in ARGUMENTS.items() for foreign in names}


def our_tool(name: str) -> str:
    """Our name for a tool, whoever named it; the name itself when nobody we know did."""
    return OURS.get(name, name)


def claude_tool(name: str) -> str:
    """The name that readers of Claude Code's stream-json expect."""
    names = TOOLS.get(name)
    return names[0] if names else name
