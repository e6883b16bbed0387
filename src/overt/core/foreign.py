"""Names of other agents' tools and arguments, in one table that serves both directions."""


def _names(words: str) -> tuple[str, ...]:
    return tuple(words.split())


TOOLS: dict[str, tuple[str, ...]] = {
    "read": _names(
        "Read read_file view cat open_file view_file readFile ReadFile file_read read_files readfile "
        "get_file_contents read_text_file fs_read file_view show_file open_files read_many_files NotebookRead "
        "view_line_range"
    ),
    "write": _names(
        "Write write_file create_file create writeFile WriteFile file_write save_file write_to_file create_new_file "
        "write_text_file fs_write overwrite_file new_file put_file"
    ),
    "edit": _names(
        "Edit str_replace edit_file replace search_replace str_replace_editor str_replace_based_edit_tool "
        "replace_in_file editFile file_edit StrReplace strReplace edit_block replace_string_in_file find_and_replace "
        "search_and_replace replace_text modify_file update_file text_editor"
    ),
    "multiedit": _names(
        "MultiEdit multi_edit multi_edit_file multi_replace_string_in_file multi_str_replace batch_edit"
    ),
    "patch": _names("Patch apply_patch applypatch apply_diff ApplyPatch git_apply apply_unified_diff"),
    "list": _names(
        "LS List ls list_dir list_directory list_files listFiles directory_tree listDirectory read_folder ReadFolder "
        "list_folder fs_list listdir"
    ),
    "glob": _names(
        "Glob find_files glob_search file_search search_files find_path FindFiles find_file glob_files find_by_name "
        "match_files fileSearch"
    ),
    "grep": _names(
        "Grep search ripgrep rg grep_search search_file_content search_content search_code code_search SearchText "
        "grep_files content_search codebase_search search_text searchContent text_search regex_search find_in_files "
        "grep_code textSearch"
    ),
    "bash": _names(
        "Bash shell run_command run_shell_command execute_command run_terminal_cmd exec exec_command terminal "
        "local_shell execute_bash run_bash Shell run_in_terminal execute_shell shell_exec shell_command bash_command "
        "run_shell runCommand run_terminal_command command container.exec exec_shell sh cmd execute run_commands"
    ),
    "jobs": _names(
        "BashOutput KillShell KillBash job_output list_jobs stop_job TaskOutput get_terminal_output command_status "
        "bash_output kill_shell kill_bash KillTask TaskStop write_stdin"
    ),
    "todowrite": _names(
        "TodoWrite todo_write update_plan write_todos todo manage_todo_list set_todos set_todo_list update_todo_list "
        "todoread TodoRead todo_read read_todos get_todos list_todos"
    ),
}
"""Our name → foreign names; the first is Claude Code's and is what stream-json shows."""

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "path": _names(
        "file_path filename file filepath filePath target_file relative_path absolute_path relative_workspace_path "
        "dir_path directory dir notebook_path target_directory DirectoryPath AbsolutePath TargetFile SearchPath "
        "SearchDirectory folder pathname file_name fileName filename_path absolute_file_path path_to_file location"
    ),
    "content": _names(
        "contents text file_text new_content file_content code code_edit file_contents fileContent body data "
        "new_contents CodeContent CodeMarkdown fileText"
    ),
    "old_string": _names(
        "old_str old_text old search oldString oldText find original search_string find_text old_content oldStr "
        "before_text search_text original_text SEARCH"
    ),
    "new_string": _names(
        "new_str new_text new replace newString newText replacement replace_string replace_with new_content_string "
        "newStr replacement_text replace_text updated_text replaceWith REPLACE"
    ),
    "replace_all": _names("replaceAll all global"),
    "edits": _names("changes replacements edit_list operations modifications"),
    "pattern": _names(
        "query regex glob_pattern search_term regexp search_query Query regex_pattern Pattern search_pattern "
        "searchTerm globPattern glob text_pattern expression"
    ),
    "glob": _names("include file_pattern include_pattern includes Includes includePattern file_glob include_files"),
    "command": _names(
        "cmd commands script bash shell_command command_line CommandLine shell_cmd commandLine command_string cmdline "
        "code_to_run"
    ),
    "timeout": _names("timeout_ms timeoutMs block_until_ms"),
    "run_in_background": _names("background is_background isBackground run_async detached"),
    "workdir": _names("cwd working_directory working_dir workingDirectory Cwd"),
    "description": _names("explanation reason justification"),
    "offset": _names(
        "start_line start line startLine from_line from StartLine line_start first_line begin start_line_one_indexed "
        "offset_line"
    ),
    "limit": _names(
        "max_results num_lines head_limit max_count maxResults line_count maxLines max_lines lines count "
        "number_of_lines headLimit"
    ),
    "patch": _names("patchText diff input patch_text unified_diff patch_content patchContent"),
    "todos": _names("items plan todo_list todoList tasks"),
    "ignore_case": _names("-i case_insensitive ignoreCase"),
    "before": _names("-B"),
    "after": _names("-A"),
    "context": _names("-C context_lines"),
    "mode": _names("output_mode"),
    "id": _names("job_id bash_id shell_id task_id jobId terminal_id terminalId session_id handle process_id pid"),
    "active_form": _names("activeForm"),
    "depth": _names("max_depth maxDepth levels"),
    "type": _names("file_type fileType"),
    "multiline": _names("multi_line -U"),
}
"""Our argument name → foreign names for the same thing, tried only where the schema has ours."""

ITEMS: dict[str, tuple[str, ...]] = {"content": _names("step task title description")}
"""The same for the objects in a list, where these names cannot mean anything else: the steps of a plan."""

VALUES: dict[str, dict[str, tuple[str, ...]]] = {
    "mode": {
        "files": _names("files_with_matches files-with-matches filenames paths list"),
        "content": _names("lines matches match text"),
        "count": _names("counts count_matches count-matches"),
    },
    "status": {
        "pending": _names("todo to_do not_started not-started open planned"),
        "in_progress": _names("in-progress inprogress doing active started current"),
        "completed": _names("complete done finished"),
    },
}
"""Our argument name → our value → foreign values for the same thing."""

IMPLIED: dict[str, dict[str, str]] = {
    "BashOutput": {"action": "output"},
    "bash_output": {"action": "output"},
    "TaskOutput": {"action": "output"},
    "job_output": {"action": "output"},
    "get_terminal_output": {"action": "output"},
    "command_status": {"action": "output"},
    "KillShell": {"action": "stop"},
    "KillBash": {"action": "stop"},
    "kill_shell": {"action": "stop"},
    "kill_bash": {"action": "stop"},
    "KillTask": {"action": "stop"},
    "TaskStop": {"action": "stop"},
    "stop_job": {"action": "stop"},
    "list_jobs": {"action": "list"},
}
"""What the name of a foreign tool says that ours takes as an argument."""

COMMANDED: dict[str, dict[str, str]] = {
    name: {"view": "read", "read": "read", "create": "write", "write": "write", "str_replace": "edit"}
    for name in ("str_replace_editor", "str_replace_based_edit_tool", "text_editor", "fs_read", "fs_write")
}
"""Foreign tools that are several of ours: the value of their `command` says which."""

OURS: dict[str, str] = {foreign: ours for ours, names in TOOLS.items() for foreign in names}
OUR_ARGUMENTS: dict[str, str] = {foreign: ours for ours, names in ARGUMENTS.items() for foreign in names}
OUR_ITEMS: dict[str, str] = {foreign: ours for ours, names in ITEMS.items() for foreign in names}
OUR_VALUES: dict[str, dict[str, str]] = {
    argument: {foreign: ours for ours, names in values.items() for foreign in names}
    for argument, values in VALUES.items()
}


def our_tool(name: str) -> str:
    """Our name for a tool, whoever named it; the name itself when nobody we know did."""
    return OURS.get(name, name)


def claude_tool(name: str) -> str:
    """The name that readers of Claude Code's stream-json expect."""
    names = TOOLS.get(our_tool(name))
    return names[0] if names else name
