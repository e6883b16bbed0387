"""What undo says about its limits and about git, in Chinese."""

UNDO_LIMITS: dict[str, str] = {
    "undo.disabled": "撤销功能已关闭（`undo.enabled = false`）。设为 true 即可使用撤销。",
    "undo.too_slow": (
        "{files} 个文件（{size}）的第一份快照超过 {seconds} 秒，已被删除；"
        "请把大数据加入 .gitignore，或用 `overt undo --retry` 再试一次"
    ),
    "undo.too_busy": "机器繁忙，第一份快照超过 {seconds} 秒；下一次运行会再试",
    "undo.too_slow_to_list": (
        "列出文件超过 {seconds} 秒；请把大文件夹加入 .gitignore，或用 `overt undo --retry` 再试一次"
    ),
    "undo.too_large": (
        "{files} 个文件（{size}）太多，无法保存快照；请把大数据加入 .gitignore，或用 `overt undo --retry` 再试一次"
    ),
    "undo.dropped": "为了不超出 `undo.max_size` 和 `undo.max_age`，快照已被删除",
    "undo.turn_dropped": (
        "第 {turn} 轮已无法恢复：它的快照已按 `undo.max_size` 和 `undo.max_age` 删除，或被 `overt undo --prune` 删除。"
    ),
    "undo.turn_partly_dropped": (
        "第 {turn} 轮的一部分已无法恢复：快照已按 `undo.max_size` 和 `undo.max_age` 删除，"
        "或被 `overt undo --prune` 删除。"
    ),
    "undo.usage_line": "{project}：已用 {size}，上限 {limit}。可恢复 {turns} 轮，最早的是 {oldest}。",
    "undo.usage_none": "{project}：已用 {size}，上限 {limit}。没有可恢复的轮次。",
    "undo.usage_age": "超过 {days} 天的轮次会被删除。",
    "undo.usage_age_one": "超过 1 天的轮次会被删除。",
    "undo.usage_refused": "这里不覆盖命令：{why}。",
    "undo.pruned": "已释放 {size}；{turns} 轮已无法恢复。",
    "undo.pruned_free": "已释放 {size}。",
    "undo.not_released": "该会话的快照没有被删除（{why}）。请在其文件夹中运行 `overt undo --prune`。",
    "undo.retry": "下一次运行会重新尝试为 {workspace} 保存第一份快照。",
    "undo.retry_idle": "无需重试：{workspace} 的第一份快照没有失败过。",
}

UNDO_GIT: dict[str, str] = {
    "undo.git.turn": "第 {turn} 轮",
    "undo.git.turns": "第 {first} 至 {last} 轮",
    "undo.git.commit": "{who}还在 {ref} 上创建了提交 {new}，该提交保留。",
    "undo.git.commits": "{who}还在 {ref} 上创建了 {count} 个提交，最新为 {new}；这些提交保留。",
    "undo.git.first_commit": "{who}还在 {ref} 上创建了第一个提交 {new}，该提交保留。",
    "undo.git.moved_back": "{who}还把 {ref} 从 {old} 退回到 {new}，它保持在那里。",
    "undo.git.replaced": "{who}还把 {ref} 从 {old} 移到 {new}，它保持在那里。",
    "undo.git.moved": "{who}还把 {ref} 从 {old} 移到 {new}。",
    "undo.git.created": "{who}还在 {new} 处创建了 {ref}，它保留。",
    "undo.git.created_with_commits": "{who}还创建了 {ref}，含直到 {new} 的新提交，它们保留。",
    "undo.git.deleted": "{who}还删除了 {ref}，它原来在 {old}。",
    "undo.git.switched": "{who}还从 {old} 切换到 {new}；HEAD 保持在那里。",
    "undo.git.stashed": "{who}还贮藏了改动（{commit}：{message}），它们仍在贮藏中。",
    "undo.git.unstashed": "{who}还移除了一个贮藏条目（{commit}：{message}）。",
    "undo.git.stash_changed": "{who}还改动了贮藏。`git reflog stash` 可以查看。",
    "undo.git.staged": "{who}还改动了暂存的内容。索引保持现状。",
    "undo.git.operation_begun": "{who}还开始了 {operation}，它仍在进行中。",
    "undo.git.operation_ended": "{who}还结束了进行中的 {operation}。",
    "undo.git.repository_created": "{who}还创建了仓库 {folder}，它保留。",
    "undo.git.repository_removed": "{who}还删除了仓库 {folder}，无法恢复。",
    "undo.git.take_back": "用 `{command}` 或 `{undo}` 可以撤回。",
    "undo.git.take_back_by_hand": "用 `{command}` 可以撤回。",
    "undo.git.unchanged": "{who}没有改动 git。",
    "undo.git.refused": "没有做任何改动，因为 git 无法恢复：{why}。不带 --git 时只恢复文件。",
    "undo.git.other_repository": "仓库 {folder} 不是此文件夹的仓库",
    "undo.git.whole_repository": "仓库本身被创建或删除",
    "undo.git.interrupted": "在该轮的命令之间，git 被别的程序改动过",
    "undo.git.in_operation": "该轮开始或结束了 {operation}",
    "undo.git.stash_order": "该轮改动了较早的贮藏条目",
    "undo.git.no_index": "该轮之前的索引没有保存",
    "undo.git.locked": "另一个 git 进程正在这里运行（index.lock）",
    "undo.git.moved_on": "该轮之后 git 又有变动（{what}）",
    "undo.git.pushed": "提交 {commit} 已经推送，它在 {branch} 中",
    "undo.git.done": "git 已恢复到第 {turn} 轮之前：HEAD 为 {head}。",
    "undo.git.index_left": "索引保持现状：{why}",
    "undo.git.stash_left": "贮藏条目 {commit}（{message}）保留，因为它的文件没有全部恢复。",
    "undo.git.backup": "{commit} 保留在 refs/overt/undo 下。用 `{command}` 可以取回。",
}
