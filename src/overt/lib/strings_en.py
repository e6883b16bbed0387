"""What the program says, in English."""

ENGLISH: dict[str, str] = {
    # trust
    "trust.done": "{project} is trusted from now on.",
    "trust.undone": "{project} is no longer trusted.",
    # approval
    "ask.headline": "{tool} wants to run: {what}",
    "ask.why": "Why you are asked: {why}",
    "ask.dangerous": "This can destroy or publish something. It is asked every time.",
    "ask.choices": "[y]es  [a]lways ({rule})  [n]o, with a reason",
    "ask.choices_once": "[y]es  [n]o, with a reason",
    "ask.prompt": "Allow? ",
    "ask.reason": "Reason for the model (may be empty): ",
    "ask.remembered": "Remembered for this project: {rule}",
    # a turn
    "turn.interrupted": "Interrupted.",
    "turn.limit": "Stopped after {steps} steps, the limit for one turn.",
    "turn.retrying": "{reason}; attempt {attempt} follows in {seconds} s.",
    "turn.waiting": "No answer for {seconds} s, still waiting (Ctrl-C stops).",
    "turn.used": "{input} tokens in ({cached} cached), {output} out, {seconds} s",
    "turn.cut": "The answer was cut at its token limit; ask it to go on.",
    "turn.filtered": "The server withheld the rest of the answer.",
    "turn.thinking": "thinking …",
    "turn.repaired": "put right: {note}",
    "turn.reset": "The context starts anew: {cause}.",
    # views
    "view.excerpt": "{path}, lines {first}–{last} of {total}",
    "view.found": "{count} found",
    "view.more": "… {lines} lines more …",
    # sessions
    "session.moved": "This session began in {there}; its files are not known here, so they must be read again.",
    "session.new": "New session {id}.",
    "session.none": "There is no session to continue in {project}.",
    # chat
    "chat.welcome": "Overt {version}, {model}, mode {mode}. /help lists the commands.",
    "chat.help": "Type a task. While it works, a line steers it, +line comes next; Ctrl-C stops it, twice leaves.",
    "chat.again": "Press Ctrl-C again to leave.",
    "chat.goodbye": "Goodbye.",
    "chat.unknown": "There is no command {name}. /help lists the commands.",
    "chat.mode": "Mode: {mode}",
    "chat.model": "Model: {model}",
    "chat.no_todos": "The todo list is empty.",
    "chat.status": (
        "{model}, mode {mode}; session {id}, {turns} turns, about {used} of {limit} tokens of context; "
        "sent {input} ({cached} cached), received {output}"
    ),
    # prefixes
    "prefix.error": "error: {text}",
    # commands
    "slash.help": "list the commands",
    "slash.new": "begin a new session",
    "slash.retry": "run the last prompt again",
    "slash.mode": "show or set the mode: review, auto, plan, yolo",
    "slash.model": "show or set the model",
    "slash.todo": "show the todo list",
    "slash.status": "show model, mode and context use",
    "slash.exit": "leave",
}
