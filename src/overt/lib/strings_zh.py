"""What the program says, in Chinese."""

CHINESE: dict[str, str] = {
    # trust
    "trust.done": "已信任 {project}。",
    "trust.undone": "已取消对 {project} 的信任。",
    # approval
    "ask.headline": "{tool} 请求执行：{what}",
    "ask.why": "询问原因：{why}",
    "ask.dangerous": "此操作可能造成破坏或对外发布，每次都会询问。",
    "ask.choices": "[y] 允许  [a] 总是允许（{rule}）  [n] 拒绝并说明原因",
    "ask.choices_once": "[y] 允许  [n] 拒绝并说明原因",
    "ask.prompt": "是否允许？",
    "ask.reason": "告诉模型的原因（可留空）：",
    "ask.remembered": "已为本项目记住：{rule}",
    # a turn
    "turn.interrupted": "已中断。",
    "turn.limit": "已执行 {steps} 步，达到单轮上限，停止。",
    "turn.retrying": "{reason}；{seconds} 秒后进行第 {attempt} 次尝试。",
    "turn.waiting": "{seconds} 秒没有响应，仍在等待（Ctrl-C 可停止）。",
    "turn.used": "输入 {input} 个 token（缓存 {cached}），输出 {output}，用时 {seconds} 秒",
    "turn.cut": "回答达到 token 上限而被截断；可让它继续。",
    "turn.filtered": "服务器扣留了回答的其余部分。",
    "turn.thinking": "思考中…",
    "turn.repaired": "已修正：{note}",
    "turn.reset": "上下文重新开始：{cause}。",
    # views
    "view.excerpt": "{path}，第 {first}–{last} 行，共 {total} 行",
    "view.found": "找到 {count} 项",
    "view.more": "… 另有 {lines} 行 …",
    # sessions
    "session.moved": "该会话始于 {there}；这里的文件尚未读取，需重新读取。",
    "session.new": "新会话 {id}。",
    "session.none": "{project} 中没有可继续的会话。",
    # chat
    "chat.welcome": "Overt {version}，{model}，模式 {mode}。输入 /help 查看命令。",
    "chat.help": "输入任务并按回车。运行时输入一行可引导它，以 + 开头则作为下一个任务。Ctrl-C 停止，连按两次退出。",
    "chat.again": "再按一次 Ctrl-C 退出。",
    "chat.goodbye": "再见。",
    "chat.unknown": "没有命令 {name}。输入 /help 查看命令。",
    "chat.mode": "模式：{mode}",
    "chat.model": "模型：{model}",
    "chat.no_todos": "待办列表为空。",
    "chat.status": (
        "{model}，模式 {mode}；会话 {id}，{turns} 轮，上下文约 {used} / {limit} 个 token；"
        "已发送 {input}（缓存 {cached}），已接收 {output}"
    ),
    # prefixes
    "prefix.error": "错误：{text}",
    # commands
    "slash.help": "列出命令",
    "slash.new": "开始新会话",
    "slash.retry": "重新执行上一条提示",
    "slash.mode": "查看或设置模式：review、auto、plan、yolo",
    "slash.model": "查看或设置模型",
    "slash.todo": "显示待办列表",
    "slash.status": "显示模型、模式和上下文用量",
    "slash.exit": "退出",
}
