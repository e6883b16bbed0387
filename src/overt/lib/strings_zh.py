"""What the program says, in Chinese."""

CHINESE: dict[str, str] = {
    # trust
    "trust.done": "已信任 {project}。",
    "trust.undone": "已取消对 {project} 的信任。",
    # approval
    "ask.affects": "此命令{what}",
    "impact.change": "将会修改 {what}",
    "impact.delete": "将会删除 {what}",
    "impact.move": "将会移动 {what}",
    "impact.absent": "将会删除 {what}，但它不存在",
    "impact.folder": "{name}/（{files}，{size}）",
    "ask.headline": "{tool} 请求执行：{what}",
    "ask.why": "询问原因：{why}",
    "ask.described": "模型的说明：{text}",
    "ask.dangerous": "此操作可能造成破坏或对外发布，每次都会询问。",
    "ask.network": "该命令需要网络，而沙箱默认关闭网络。",
    "ask.network_reason": "模型说明的联网原因：{text}",
    "ask.always": "总是：{rule}",
    "ask.always_network": "总是（含网络），仅限此命令：{rule}",
    "ask.always_edits": "在本项目中总是允许编辑",
    "ask.choice_once": "[y] 允许一次",
    "ask.choice_session": "[s] 允许，并在本次会话中对所有命令开放网络",
    "ask.choice_always": "[a] {words}",
    "ask.choice_no": "[n] 拒绝并说明原因",
    "ask.prompt": "是否允许？",
    "ask.reason": "告诉模型的原因（可留空）：",
    "ask.remembered": "已为本项目记住：{rule}",
    # a turn
    "denied.count": "{calls} 次调用中有 {denied} 次被拒绝。",
    "denied.ways": "如需允许，请加上：{ways}",
    "denied.rules": "你的规则拒绝：{rules}",
    "denied.chat": "如需批准，请开始聊天。",
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
    "turn.rules": "{place}（规则）",
    # the last line of a headless run
    "closing.changed": "改动 {files}（+{added} -{removed}）",
    "closing.by_commands": "命令改动 {files}",
    "count.file": "{count} 个文件",
    "count.files": "{count} 个文件",
    "count.step": "{count} 步",
    "count.steps": "{count} 步",
    "closing.tokens": "{tokens} token",
    "closing.session": "会话 {id}",
    "closing.undo": "撤销：`overt undo`",
    # views
    "view.excerpt": "{path}，第 {first}–{last} 行，共 {total} 行",
    "view.found": "找到 {count} 项",
    "view.more": "… 另有 {lines} 行 …",
    # sessions
    "session.moved": "该会话始于 {there}；这里的文件尚未读取，需重新读取。",
    "session.new": "新会话 {id}。",
    "session.none": "{project} 中还没有会话。",
    # sessions: fork, rename, export, pin
    "session.forked": "已在会话 {parent} 的副本中继续；原会话保持不变。",
    "session.named": "本会话名为：{title}",
    "session.no_name": "请写明名称：/rename 名称",
    "session.no_file": "本会话未保存，或尚未说过任何内容；没有可执行 {what} 的内容。",
    "session.not_a_turn": "{text!r} 不是轮次：请给出数字，例如 /fork 3",
    "session.exported": "已写入：{path}",
    "session.exists": "{path} 已存在。请换个名称：/export 文件",
    "session.unwritable": "无法写入 {path}：{why}。请换个位置：/export 文件",
    "pin.none": "没有固定的内容。/pin last 固定上一条提示，/pin 文字 固定您说过的文字。",
    "pin.list": "已固定，任何压缩都不会改动（/pin --off N 取消）：",
    "pin.added": "已固定：{text}",
    "pin.removed": "已取消固定：{text}",
    "pin.not_said": "您在本会话中没有说过这句话，模型并不知道。请先说出来，再固定。",
    "pin.no_prompt": "还没有可固定的提示。",
    "pin.no_number": "没有第 {number} 条固定内容；/pin 可列出。",
    "slash.fork": "在本会话的副本中继续：/fork [轮次]",
    "slash.rename": "为本会话命名：/rename 名称",
    "slash.export": "将本会话写入文件：/export [文件.md | 文件.json | 文件.html]",
    "slash.pin": "使文字在压缩中保持原样：/pin last、/pin 文字、/pin --off N",
    # chat
    "sandbox.off": "沙箱已关闭（{why}）：命令以您的全部权限运行。",
    "permissions.none": "本项目中没有“总是允许”的规则。",
    "sandbox.none": "没有沙箱（{why}）。除 yolo 模式外，并非无害的命令都需要批准。详见 `overt doctor`。",
    "sandbox.partly": (
        "沙箱受限：{kind} 不能防护 {missing}（{why}）。除 yolo 模式外，并非无害的命令都需要批准。详见 `overt doctor`。"
    ),
    "chat.welcome": "Overt {version}，{model}，模式 {mode}。输入 /help 查看命令。",
    "chat.help": (
        "输入任务并按回车，或用 !命令 自己运行命令。"
        "运行时输入一行可引导它，以 + 开头则作为下一个任务。Ctrl-C 停止，连按两次退出。"
    ),
    "chat.again": "再按一次 Ctrl-C 退出。",
    "chat.goodbye": "再见。",
    "chat.unknown": "没有命令 {name}。输入 /help 查看命令。",
    "chat.mode": "模式：{mode}",
    "chat.model": "模型：{model}",
    "chat.no_todos": "待办列表为空。",
    "status.model": "{model}，模式 {mode}，沙箱 {sandbox}",
    "status.session": "会话 {id}，已有 {turns} 轮",
    "status.context": "上下文：{used} / {limit} 个 token（{percent} %）",
    "status.unbounded": "上下文：{used} 个 token；该模型的窗口大小未知",
    "status.spent": "已用：发送 {input} 个 token（缓存 {cached}），接收 {output}，{cost}",
    # prefixes
    "prefix.error": "错误：{text}",
    # commands
    "slash.help": "列出命令",
    "slash.new": "开始新会话",
    "slash.retry": "重新执行上一条提示",
    "slash.mode": "查看或设置模式：review、auto、plan、yolo",
    "slash.model": "查看或设置模型",
    "slash.todo": "显示待办列表",
    "slash.status": "显示模型、模式、上下文、费用和缓存",
    # what stands before a conversation
    "context.cut": "{where} 被截到 {cap} 个字符；`context.caps.{name}` 决定加入多少",
    "context.nothing": "instructions：没有文件符合 {pattern}",
    "context.untrusted": "没有读取 {where}，因为此文件夹未受信任。在此运行 `overt trust` 即可读取。",
    "context.denied": "{where} 没有加入：规则 {rule} 不许读它",
    # what a prompt points at
    "refer.missing_many": "以下引用什么也没有找到，因此没有附上：{what}",
    "refer.missing": "@{path}：那里什么都没有，所以没有附上",
    "refer.denied": "@{path}：没有附上，因为有规则不许不经询问就读它",
    "refer.failed": "@{path}：没有附上：{why}",
    "refer.too_many": "一次太多，没有附上：{what}",
    # notes
    "slash.memory": "列出、添加或删除笔记：add [--global] 文字，remove 名称",
    "memory.none": "还没有笔记。添加一条：{how} add 文字",
    "memory.head": "笔记在会话开始时加入。",
    "memory.cut": "{where}：{size} 个字符，其中 {cap} 个加入",
    "memory.added": "已记为 {name}，下一次会话开始时加入。",
    "memory.removed": "已删除 {name}，下一次会话开始时不再加入。",
    "memory.usage": "{how} 的用法：不带参数，add [--global] 文字，或 remove 名称",
    "slash.exit": "退出",
    # what the model was sent
    "slash.context": "显示下一个请求的内容、来源和剩余空间：[all]",
    "context.request": "会话 {session} 的请求 {number}（第 {turn} 轮，第 {step} 步{purpose}）：{model}，{length} 字节",
    "context.next": "按目前情况的下一个请求：{model}，{length} 字节",
    "context.summary": "，摘要",
    "context.title": "，会话标题",
    "context.reset": "从头开始：{cause}",
    "context.heads": "#|键|token|占比|缓存|来源|内容",
    "context.cached.yes": "是",
    "context.cached.part": "部分",
    "context.cached.no": "否",
    "context.used": "已用：{used} / {limit} 个 token（{percent} %）{estimated}",
    "context.used_unknown": "已用：{used} 个 token{estimated}；此模型的窗口大小未知",
    "context.estimated": "，估算值",
    "context.wire": "标点和参数",
    "context.earlier": "更早的 {count} 条消息；`/context all` 逐条显示",
    "context.list_heads": "#|轮次|字节|token|缓存|可能|比率|说明",
    "context.totals": (
        "{requests} 个请求，发送 {input} 个、接收 {output} 个 token，{possible} 个可能中有 {cached} 个来自缓存；"
        "不计重置为可能值的 {kept}，计入 {resets} 次重置为 {reached}"
    ),
    "context.differs": "无法重建：{why}",
    "context.unanswered": "没有回复",
    "context.same": "请求 {one} 和 {other} 逐字节相同。",
    "context.extends": "请求 {other} 从 {one} 结束处继续：前 {at} 个字节相同。",
    "context.first": "请求 {one} 和 {other} 直到第 {at} 个字节都相同；从那里开始不同：",
    "context.lies": "  {number}：在 {name} 中（{origin}）{about}",
    "context.cause": "原因：{cause}（记录在请求 {number} 之前）",
    "context.no_cause": "原因：两者之间没有记录重置；{name}（{origin}）不同。",
    "context.moved": "变化（- 离开，+ 加入）：",
    # the cache of the server
    "cache.so_far": "缓存：可来自缓存的 {possible} 个 token 中有 {cached} 个（不计重置为 {kept}；重置 {resets} 次）",
    "cache.unreported": "缓存：服务器没有报告；本可有 {possible} 个 token 来自缓存",
    "cache.missed": "最近一次未命中，请求 {number}：{missed}",
    # the question of trust
    "trust.question": "是否信任此文件夹？{project}",
    "trust.home": "这是您的主目录或其上级：其中一切都会成为工作区。在其下的文件夹中启动更安全。",
    "trust.root": "这是整个系统的根目录：其中一切都会成为工作区。请在项目文件夹中启动。",
    "trust.changed": "自您上次回答以来已更改：{files}",
    "trust.no_record": "您曾信任过它，但当时的内容没有记录，因此再问一次。",
    "trust.holds": "如果信任，这些文件可以设置权限、服务地址、要运行的程序和密钥：",
    "trust.empty": "其中没有任何可以运行、发送或放行的内容。一旦有变，会再次询问。",
    "trust.problem": "无法信任它：{problem}。",
    "trust.choices": "[y] 信任  [n] 不信任，继续工作但不采用其中的任何设置  [q] 退出",
    "trust.choices_no": "[n] 不信任，继续工作但不采用这些文件  [q] 退出",
    "trust.prompt": "是否信任？",
    "trust.more": "……以及另外 {count} 个文件",
    "trust.yes": "{project} 已受信任。",
    "trust.not": "{project} 未受信任。",
    # compaction
    "slash.compact": "立即压缩上下文：/compact [最需要保留的内容]",
    "compaction.started": "正在腾出空间：上下文约有 {tokens} 个 token，正在总结较早的部分……",
    "compaction.nothing": "没有足够早的内容可以压缩。",
    "compaction.failed": "上下文未被压缩，一切保持原样：{why}",
    "compaction.empty": "模型没有写出摘要。",
    "compaction.cut": "摘要在写完之前被截断。",
    "compaction.loops": "摘要不断重复自身。",
    "compaction.longer": "摘要并不比它要取代的内容短。",
    "compaction.done": "已压缩：{before} → {after} 个 token；{what}（查看：overt context --turn N）",
    "compaction.done.pruned": "移出了 {count} 个旧的工具结果",
    "compaction.done.summary": "{count} 条消息变成了一份摘要",
    "compaction.too_large": (
        "下一个请求约有 {tokens} 个 token，而 {model} 只接受 {cap} 个。最大的部分是{what}，约 {size} 个。"
        "没有发送任何内容。请用 /rewind 退回并缩短它，用 /compact 腾出空间，用 /new 重新开始；"
        "如果模型的窗口更大，请调大 context.context_window。"
    ),
    "compaction.is.head": "系统提示和工具",
    "compaction.is.result": "一个工具结果",
    "compaction.is.user": "您的一条消息",
    "compaction.is.summary": "之前对话的摘要",
    "compaction.is.model": "模型的一条回复",
    "compaction.is.message": "一条消息",
    # secrets
    "secret.prompt": "消息中的密钥已替换为 {mark}：模型看不到它，会话也不会记录它。",
    "ask.codes": "不可见的字符已显示为编码。",
    # the ledger
    "ledger.missed": "本次请求的用量未能记账（{why}：{path}）。工作继续，但 `overt stats` 中没有它。",
    # windows
    "window.assumed": (
        "没有人说明 {model} 的上下文窗口有多大，暂按 {window} 个 token 计算。"
        "可在 overt.toml 的提供方条目中用 `context_window` 设置。"
    ),
    # doctor
    "calls.schema": (
        "服务器不接受工具（{reason}）；从现在起，每次回复用一个 JSON 对象调用工具。"
        "`overt doctor --model` 会记住服务器的能力。"
    ),
    "calls.text": (
        "服务器不支持按模式约束回复（{reason}）；从现在起，工具在回复文本中调用。"
        "`overt doctor --model` 会记住服务器的能力。"
    ),
    # doctor --model
    # fetching weights
    # the list of models
    # overt auth
    "chat.offline": "离线：没有请求离开这台机器（{why}）",
    "chat.balance": "账户余额：{balance}",
    "local.limits": (
        "{model} 在本机运行，是个小模型：能创建小文件、根据文件回答、一次修改一处，速度慢，也可能出错。"
        "需要更强的模型，请设置密钥（OPENAI_API_KEY 等）或 OVERT_BASE_URL；参见 `overt models`。"
    ),
    # undo, redo, rewind
    "slash.undo": (
        "恢复上一轮改动过的文件；--yes：包括可能是您改的文件；--force：包括之后改过的文件；--git：包括提交、分支和贮藏"
    ),
    "slash.redo": "撤回上一次 /undo 或对文件的 /rewind",
    "slash.rewind": "列出各轮；N [conversation|files|both]：回到第 N 轮之前",
}
