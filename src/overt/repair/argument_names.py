"""Other agents' names for the arguments of tools, and for some of their values."""


def _names(words: str) -> tuple[str, ...]:
    return tuple(words.split())


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

OUR_ARGUMENTS: dict[str, str] = {foreign: ours for ours, names in ARGUMENTS.items() for foreign in names}
OUR_ITEMS: dict[str, str] = {foreign: ours for ours, names in ITEMS.items() for foreign in names}
OUR_VALUES: dict[str, dict[str, str]] = {
    argument: {foreign: ours for ours, names in values.items() for foreign in names}
    for argument, values in VALUES.items()
}
