"""What the program says, in English."""

ENGLISH: dict[str, str] = {
    # trust
    "trust.done": "{project} is trusted from now on.",
    "trust.undone": "{project} is no longer trusted.",
    # approval
    "ask.affects": "It {what}",
    "impact.change": "would change {what}",
    "impact.delete": "would delete {what}",
    "impact.move": "would move {what}",
    "impact.absent": "would delete {what}, which does not exist",
    "impact.folder": "{name}/ ({files}, {size})",
    "ask.headline": "{tool} wants to run: {what}",
    "ask.why": "Why you are asked: {why}",
    "ask.described": "The model says: {text}",
    "ask.dangerous": "This can destroy or publish something. It is asked every time.",
    "ask.network": "It needs the network, which the sandbox keeps closed.",
    "ask.network_reason": "The model says why it needs the network: {text}",
    "ask.always": "always: {rule}",
    "ask.always_network": "always, with the network: exactly {rule}",
    "ask.always_edits": "always allow edits in this project",
    "ask.choice_once": "[y]es, once",
    "ask.choice_session": "[s] yes, and open the network to every command of this session",
    "ask.choice_always": "[a] {words}",
    "ask.choice_no": "[n]o, with a reason",
    "ask.prompt": "Allow? ",
    "ask.reason": "Reason for the model (may be empty): ",
    "ask.remembered": "Remembered for this project: {rule}",
    # a turn
    "denied.count": "Denied calls: {denied} of {calls}.",
    "denied.ways": "Allow them with: {ways}",
    "denied.rules": "Your rules deny: {rules}",
    "denied.chat": "Start a chat to approve them.",
    "turn.interrupted": "Interrupted.",
    "turn.limit": "Stopped after {steps} steps, the limit for one turn.",
    "turn.retrying": "{reason}; attempt {attempt} follows in {seconds} s.",
    "turn.waiting": "No answer for {seconds} s, still waiting (Ctrl-C stops).",
    "turn.used": "{input} tokens in ({cached} cached), {output} out, {seconds} s",
    "turn.cut": "The answer was cut at its token limit; ask it to go on.",
    "turn.filtered": "The server withheld the rest of the answer.",
    "turn.thinking": "thinking …",
    "turn.repaired": "repaired: {note}",
    "turn.reset": "The context starts anew: {cause}.",
    "turn.rules": "{place} (rules)",
    # the last line of a headless run
    "closing.changed": "{files} changed (+{added} -{removed})",
    "closing.by_commands": "{files} changed by commands",
    "count.file": "{count} file",
    "count.files": "{count} files",
    "count.step": "{count} step",
    "count.steps": "{count} steps",
    "closing.tokens": "{tokens} tokens",
    "closing.session": "session {id}",
    "closing.undo": "undo: `overt undo`",
    # views
    "view.excerpt": "{path}, lines {first}–{last} of {total}",
    "view.found": "{count} found",
    "view.more": "… {lines} lines more …",
    # sessions
    "session.moved": "This session began in {there}; its files are not known here, so they must be read again.",
    "session.new": "New session {id}.",
    "session.none": "There is no session in {project} yet.",
    # sessions: fork, rename, export, pin
    "session.forked": "Went on in a copy of session {parent}; the old one stays as it is.",
    "session.named": "This session is called: {title}",
    "session.no_name": "Say how: /rename NAME",
    "session.no_file": "This session is not kept, or nothing was said in it yet; there is nothing to {what}.",
    "session.not_a_turn": "{text!r} is no turn: give a number, as in /fork 3",
    "session.exported": "Written: {path}",
    "session.exists": "{path} is there already. Give another name: /export FILE",
    "session.unwritable": "{path} cannot be written: {why}. Give another place: /export FILE",
    "pin.none": "Nothing is pinned. /pin last pins your last prompt, /pin WORDS words that you said.",
    "pin.list": "Pinned, so that no compaction changes it (/pin --off N takes it back):",
    "pin.added": "Pinned: {text}",
    "pin.removed": "No longer pinned: {text}",
    "pin.not_said": "You did not say that in this session, so the model does not know it. Say it first, then pin it.",
    "pin.no_prompt": "There is no prompt to pin yet.",
    "pin.no_number": "There is no pin {number}; /pin lists them.",
    "slash.fork": "go on in a copy of this session: /fork [TURN]",
    "slash.rename": "give this session a name: /rename NAME",
    "slash.export": "write this session to a file: /export [FILE.md | FILE.json | FILE.html]",
    "slash.pin": "keep words through every compaction: /pin last, /pin WORDS, /pin --off N",
    # chat
    "sandbox.off": "The sandbox is switched off ({why}): commands run with all your rights.",
    "permissions.none": "No saved permission rules in this project.",
    "sandbox.none": (
        "No sandbox ({why}). Commands that are not harmless need approval, except in yolo mode. "
        "Details: `overt doctor`."
    ),
    "sandbox.partly": (
        "Limited sandbox: {kind} does not cover {missing} ({why}). Commands that are not harmless need approval, "
        "except in yolo mode. Details: `overt doctor`."
    ),
    "chat.welcome": "Overt {version}, {model}, mode {mode}. /help lists the commands.",
    "chat.help": (
        "Type a task, or !command to run one yourself. While it works, a line steers it, +line comes next; "
        "Ctrl-C stops it, twice leaves."
    ),
    "chat.again": "Press Ctrl-C again to leave.",
    "chat.goodbye": "Goodbye.",
    "chat.unknown": "There is no command {name}. /help lists the commands.",
    "chat.mode": "Mode: {mode}",
    "chat.model": "Model: {model}",
    "chat.no_todos": "The todo list is empty.",
    "status.model": "{model}, mode {mode}, sandbox {sandbox}",
    "status.session": "Session {id}, turns so far: {turns}",
    "status.context": "Context: {used} of {limit} tokens ({percent} %)",
    "status.unbounded": "Context: {used} tokens; the window of this model is not known",
    "status.spent": "Spent: {input} tokens sent ({cached} cached), {output} received, {cost}",
    # prefixes
    "prefix.error": "error: {text}",
    # commands
    "slash.help": "list the commands",
    "slash.new": "begin a new session",
    "slash.retry": "run the last prompt again",
    "slash.mode": "show or set the mode: review, auto, plan, yolo",
    "slash.model": "show or set the model",
    "slash.todo": "show the todo list",
    "slash.status": "show model, mode, context, cost and cache",
    # what stands before a conversation
    "context.cut": "{where} was cut to {cap} characters; `context.caps.{name}` sets how many join",
    "context.nothing": "instructions: no file fits {pattern}",
    "context.untrusted": "{where} was not read, because this folder is not trusted. Run `overt trust` here to read it.",
    "context.denied": "{where} was left out: the rule {rule} keeps it from being read",
    # what a prompt points at
    "refer.missing_many": "Nothing is there, so nothing was attached, for {what}",
    "refer.missing": "@{path}: nothing is there, so nothing was attached",
    "refer.denied": "@{path}: not attached, because a rule does not let it be read without asking",
    "refer.failed": "@{path}: not attached: {why}",
    "refer.too_many": "not attached, because it is too much at once: {what}",
    # notes
    "slash.memory": "list, add or remove notes: add [--global] TEXT, remove NAME",
    "memory.none": "There are no notes yet. Add one: {how} add TEXT",
    "memory.head": "They join at the start of a session.",
    "memory.cut": "{where}: {size} characters, of which {cap} join",
    "memory.added": "Noted as {name}. It joins at the start of the next session.",
    "memory.removed": "Removed {name}. It goes at the start of the next session.",
    "memory.usage": "{how} takes: nothing, add [--global] TEXT, or remove NAME",
    "slash.exit": "leave",
    # what the model was sent
    "slash.context": "show what the next request holds, from where, and the room that is left: [all]",
    "context.request": "Request {number} (turn {turn}, step {step}{purpose}) of {session}: {model}, {length} bytes",
    "context.next": "The next request as things stand: {model}, {length} bytes",
    "context.summary": ", a summary",
    "context.title": ", the title of the session",
    "context.reset": "It begins anew: {cause}",
    "context.heads": "#|key|tokens|share|cached|origin|about",
    "context.cached.yes": "yes",
    "context.cached.part": "partly",
    "context.cached.no": "no",
    "context.used": "Used: {used} of {limit} tokens ({percent} %){estimated}",
    "context.used_unknown": "Used: {used} tokens{estimated}; the window of this model is not known",
    "context.estimated": ", estimated",
    "context.wire": "punctuation and parameters",
    "context.earlier": "{count} earlier messages; `/context all` shows each",
    "context.list_heads": "#|turn|bytes|tokens|cached|possible|ratio|what",
    "context.totals": (
        "{requests} requests, {input} tokens sent and {output} received, {cached} from the cache of {possible} "
        "possible; {kept} of the possible without resets, {reached} with them (resets: {resets})"
    ),
    "context.differs": "cannot be made again: {why}",
    "context.unanswered": "no reply",
    "context.same": "Requests {one} and {other} are the same, byte for byte.",
    "context.extends": "Request {other} goes on where {one} ends: the first {at} bytes are the same.",
    "context.first": "Requests {one} and {other} are the same up to byte {at}; there they differ:",
    "context.lies": "  {number}: in {name} ({origin}){about}",
    "context.cause": "Cause: {cause} (recorded before request {number})",
    "context.no_cause": "Cause: no reset was recorded between them; {name} ({origin}) is another.",
    "context.moved": "What changed (- left, + came):",
    # the cache of the server
    "cache.so_far": (
        "Cache: {cached} of {possible} tokens that could come from it ({kept} without resets; resets: {resets})"
    ),
    "cache.unreported": "Cache: the server does not tell; {possible} tokens could have come from it",
    "cache.missed": "Last miss, request {number}: {missed}",
    # the question of trust
    "trust.question": "Do you trust this folder? {project}",
    "trust.home": "This is your home folder, or holds it: all of it would be the workspace. A folder in it is safer.",
    "trust.root": "This is the root of the whole system: all of it would be the workspace. Start in a project instead.",
    "trust.changed": "Changed since you last answered: {files}",
    "trust.no_record": "You trusted it before, but what it held then was not recorded; so it is asked once more.",
    "trust.holds": "If you do, these files may set permissions, endpoints, programs to run and keys:",
    "trust.empty": "It holds nothing that could run, send or allow something. When that changes, you are asked again.",
    "trust.problem": "It cannot be trusted: {problem}.",
    "trust.choices": "[y]es, trust it  [n]o, work here without obeying anything in it  [q]uit",
    "trust.choices_no": "[n]o, work here without obeying these files  [q]uit",
    "trust.prompt": "Trust? ",
    "trust.more": "… and {count} more files",
    "trust.yes": "{project} is trusted.",
    "trust.not": "{project} is not trusted.",
    # compaction
    "slash.compact": "make room in the context now: /compact [what to keep above all]",
    "compaction.started": "Making room: of about {tokens} tokens, the older part is being summarised …",
    "compaction.nothing": "There is nothing old enough to make room with.",
    "compaction.failed": "The context was not compacted, and nothing has changed: {why}",
    "compaction.empty": "the model wrote no summary.",
    "compaction.cut": "the summary was cut off before its end.",
    "compaction.loops": "the summary repeats itself.",
    "compaction.longer": "the summary is no shorter than what it would replace.",
    "compaction.done": "compacted: {before} → {after} tokens; {what} (read it: overt context --turn N)",
    "compaction.done.pruned": "{count} old results left",
    "compaction.done.summary": "{count} messages became a summary",
    "compaction.too_large": (
        "The next request would have about {tokens} tokens, and {model} takes {cap}. The largest part is {what}, with "
        "about {size}. Nothing was sent. Go back with /rewind and make it smaller, make room with /compact, begin anew "
        "with /new, or set a larger context.context_window if the model has one."
    ),
    "compaction.is.head": "the system prompt and the tools",
    "compaction.is.result": "the result of a tool",
    "compaction.is.user": "a message of yours",
    "compaction.is.summary": "the summary of what was said before",
    "compaction.is.model": "a reply of the model",
    "compaction.is.message": "a message",
    # secrets
    "secret.prompt": "A secret in your message was replaced by {mark}: neither the model nor the session sees it.",
    "ask.codes": "Characters that cannot be seen are shown as codes.",
    # the ledger
    "ledger.missed": (
        "What this request cost could not be booked ({why}: {path}). The work goes on; `overt stats` lacks it."
    ),
    # windows
    "window.assumed": (
        "Nobody says how many tokens {model} holds, so {window} are assumed. "
        "`context_window` in the provider's entry of overt.toml sets it."
    ),
    # doctor
    "calls.schema": (
        "The server takes no tools ({reason}); from here on they are called by a JSON object in each reply. "
        "`overt doctor --model` remembers what a server can do."
    ),
    "calls.text": (
        "The server holds replies to no schema ({reason}); from here on tools are called in the text of replies. "
        "`overt doctor --model` remembers what a server can do."
    ),
    # doctor --model
    # fetching weights
    # the list of models
    # overt auth
    "chat.offline": "offline: no request leaves this machine ({why})",
    "chat.balance": "left on the account: {balance}",
    "local.limits": (
        "{model} runs on this machine and is small: it creates small files, answers from a file and changes one place "
        "at a time, slowly, and may be wrong. For more, set a key (OPENAI_API_KEY, …) or OVERT_BASE_URL."
    ),
    # undo, redo, rewind
    "slash.undo": (
        "put back the files that the last turn changed; --yes: also files that may be yours; "
        "--force: also files changed since; --git: also commits, branches and stash"
    ),
    "slash.redo": "take the last /undo or /rewind of files back",
    "slash.rewind": "list the turns; N [conversation|files|both]: go back to before turn N",
}
