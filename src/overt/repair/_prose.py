"""Where prose explains a call and where it makes one: code, quotations, and the words that lead up to it."""

import re

FENCE = re.compile(
    r"^[ \t]*(?:\**(?:Action|Tool [Cc]all|Function [Cc]all)s?\**:\**[ \t]*)?(?P<run>`{3,}|~{3,})(?P<info>[^\n`]*)$",
    re.MULTILINE,
)
THOUGHT = re.compile(r"</(?:think|thinking|seed:think|reasoning)>")
QUOTED = re.compile(r"^\s*(?:[+>|#*-]|//|\d+[:\t]|\d+[.)]\s)|^(?: {4}|\t)")
LABEL = re.compile(
    r"(?:^|\n)[\s*_#]*(?:tool[ _]call|function[ _]call|action|call|tool|thought)s?[\s*_]*:?[\s*_]*$", re.I
)
EXPLAINS = re.compile(
    r"\b(?:for (?:example|instance)|e\.g\.|i\.e\.|(?:an?|this|another|one|following|simple|minimal|typical) example"
    r"|examples?:|example of|sample call|such as|like (?:this|so)"
    r"|(?<!^)(?<!\bit )look(?:s|ed)? (?:like|as follows|something)"
    r"|(?:would|might|could) (?:then )?be"
    r"|(?:would|might|could|(?<!\bi )(?<!\bwe )should) (?:then )?"
    r"(?:look|have|write|send|emit|call|contain|produce|return)"
    r"|(?:general|this|following|same|exact|right|correct|documented) (?:form|format|shape|syntax|structure)"
    r"(?! (?:this time|now|again))"
    r"|(?:format|syntax|shape|schema|form) (?:is|of|for|looks)|under the hood|as follows"
    r"|(?:models?|agents?|assistants?|clients?|servers?|llms?|hermes|qwen|claude|llama|mistral|deepseek|kimi|gpt)"
    r"(?: \w+)? (?:writes?|emits?|outputs?|sends?|produces?|generates?|wrote|printed|called|sent|calls?|uses?|reads?)"
    r"|you (?:can|could|would|should|may|might|must|wrote|sent|asked)|if you|users? (?:can|could|should)"
    r"|contain(?:s|ed|ing)?|noticed|understands|supports?|support for|the \w+ form"
    r"|following (?:text|lines?|block|content)"
    r"|(?:add|added|adding|write|wrote|insert|put|store|document\w*|include|return|sent|receive\w*|got)(?: \w+)?"
    r" (?:this|these|the following)|show(?:ing)? you|explain\w*|illustrat\w*|demonstrat\w*|hypothetical\w*"
    r"|imagine|suppose|instead of|(?:listing|figure|table|section|question|exercise) \d"
    r"|please (?:confirm|approve|check)|i(?:['’]d| would) (?:recommend|suggest|propose)"
    r"|(?:do not|don't|never) (?:write|send|use|call|emit|put)|zum beispiel|par exemple|por ejemplo)(?!\w)"
    r"|例如|比如|示例|例子|格式|语法|你可以|您可以|如下所示|形如|相当于|例えば|예를 들어|например",
    re.IGNORECASE,
)
"""The sentence gives an example."""
FORBIDS = re.compile(
    r"\b(?:not|never|\w+n['’]t|cannot|refuse[sd]? to|declined? to|avoid|without|rather than)"
    r"(?: (?:ever|just|blindly|actually|to|want to|going to|be))*"
    r" (?:run|runn?ing|execut\w+|call(?:ing)?|copy|paste|trust|do|doing|start|issu\w+|perform\w*"
    r"|send(?:ing)?|use|using)\b"
    r"|\blet(?:'s|’s| us| me) not\b|\b(?:i|we) (?:was|were) (?:about|going) to\b"
    r"|切勿|请勿|(?:不要|不会|不应该?|不能|不可|拒绝|别)(?:再|去|直接)?(?:执行|运行|调用|使用|复制|照做)",
    re.IGNORECASE,
)
"""The sentence says that it is not to be done."""
HOW = re.compile(r"\bhow (?:\w+ ){0,5}(?:looks?|works?|calls?|writes?|is (?:made|written|called))\b|\bhow to\b", re.I)
TELLS = re.compile(
    r"\b(?:examples?|format|syntax|schema|template|spec(?:ification)?|documentation|docs|tutorial|means|describes?d?"
    r"|defin(?:es?|ed|ition)|snippet|fixture|payload|config(?:uration)?|response|request|log(?:s|ged)?|previously"
    r"|earlier|your|shows?|shown|equivalent|represents?|corresponds?|expected|wrong|invalid|bad|returns?)\b",
    re.IGNORECASE,
)
"""The paragraph speaks of something else than the next step, unless it says whose step it is."""
ACTS = re.compile(
    r"\b(?:i'?ll|i’ll|i will|i'm going|i’m going|i am going|i need|i should|i must|i have to|i want to|i'd|let me|let's"
    r"|let’s|let us|we need|we should|we(?:'|’)ll|we will)\b|我来|我先|我会|我将|我需要|让我|我要"
    r"|先(?:看|查|读|运行|检查|搜)"
    r"|\b(?:ich (?:werde|lese|schaue|prüfe|öffne|führe|suche)|je vais|voy a|vou)\b"
    r"|確認します|제가|сделаю|посмотрю|проверю",
    re.IGNORECASE,
)
"""Somebody is about to act."""
BEGINS = re.compile(
    r"\b(?:i can|need to|going to|first|next|now|then|start(?:ing)? (?:by|with)|okay|ok|sure|certainly|of course|got it"
    r"|alright|understood|great|absolutely|here(?:'s| is| are) (?:the|my) (?:tool|function)? ?calls?"
    r"|reading|checking|looking|searching|listing|running|opening|calling|using|creating|writing|editing|executing"
    r"|inspecting|exploring|finding|fetching|updating|fixing|viewing|applying|replacing|adding)\b"
    r"|现在|接下来|首先|好的|开始|まず|読み|먼저|сейчас",
    re.IGNORECASE,
)
DOING = re.compile(
    r"[\s*_#>-]*(?:\w+ly )?\w+ing\b|\s*(?:再|先|正在)?(?:查看|读取|运行|执行|搜索|检查|修改|创建|打开|列出|看)"
)
"""The sentence begins with what is being done."""
SPEAKS = re.compile(
    r"\b(?:snippets?|transcripts?|fixtures?|templates?|raw|leak(?:s|ed)?|dataset|notation|docs|documentation|playground"
    r"|prompts?|(?:tool|function) calls?|markup|(?:the|this|that|these|each|which) calls?"
    r"|logs?|quot\w+|below|above|following|follows"
    r"|(?:copy|paste|send|type|enter|save|submit) (?:this|that|it))\b"
    r"|日志中|的内容|内容[:：]|片段|下面的?是|上面|以下是|文档|论文",
    re.IGNORECASE,
)
"""The sentence speaks of the markup, unless it says whose step it is."""
ASKS = re.compile(
    r"\b(?:shall|should|may|can|could) (?:i|we)\b|\b(?:do|would) you\b|\bwant me to\b"
    r"|\bconfirm\b|\bpermission\b|\bok(?:ay)? to\b"
    r"|需要我|要我|是否|可以吗|好吗",
    re.IGNORECASE,
)
TELLING = re.compile(
    rf"(?:{ACTS.pattern})(?: (?:just|also|now|first|quickly|to|briefly))*\s*"
    r"(?:show|give|quot|document|mention|explain|illustrat|describ|present|defin|share|clarif|summari|note|say|tell|cite"
    r"|解释|说明|展示|介绍|描述|给出|举|引用)",
    re.IGNORECASE,
)
"""The act that is announced is one of words."""
DANGLING = re.compile(
    r"(?:\b(?:in|as|of|from|like|into|is|are|was|were|be|says?|said|reads?|prints?)|[为成是])\W*$", re.IGNORECASE
)
DATA = re.compile(
    r"\b(?:json|object|payload|body|request|response|api|client|server|script|logs?|repl|curl|line|code|python|xml"
    r"|returns?|prints?|receives?|sends?|found|works?)\b|请求|返回|响应|[您你]要的",
    re.IGNORECASE,
)
CALLING = re.compile(r"\b(?:tool|function)[ _-]?calls?\b|工具调用|函数调用", re.IGNORECASE)
BIDS = re.compile(
    r"(?:\W*(?:and|then|now|next|first|finally|after that|lastly)\b)*\W*"
    r"(?:call|run|use|type|execute|add|put|send|copy|paste|enter|invoke|write|try)\b",
    re.IGNORECASE,
)
"""The reader is told to do it."""
DECIDES = re.compile(r"(?:\b(?:so|but|therefore|hence)\b|所以|因此|但)[ ,，]*")
AHEAD = re.compile(
    r"\b(?:will|once|wait\w*|after|then|when|going to|next|let me|pending)\b|['’]ll\b|会|将|等|然后|之后", re.I
)
"""What is to come once the call was made."""
ENDED = re.compile(r"[.!?…。！？:：)\]*_`\"'”」>]\s*$")
HEADING = re.compile(r"\s*(?:[Ss]tep \d|#|\*\*|\d+[.)]|[-*•])")
SPEAKS_OF = re.compile(
    r"[—–]|\W*(?:(?:the|as) (?:above|shown)|above|(?:this|that) (?:is|was|would)(?: just| only)?"
    r" (?:how|what|an?|the (?:format|text|way|markup|output|call)|not|all|have|be|delete|remove)\b|以上|上面|这就?是)",
    re.IGNORECASE,
)
"""What stands behind the markup is about it."""
HEREDOC = re.compile(r"<<-?\s*['\"]?\w+['\"]?\s*$")
INSIDE = re.compile(r"<([A-Za-z][\w-]*)[^<>]*>\s*$")
SPEAKING = {"think", "thinking", "thought", "reasoning", "answer", "response", "assistant", "action", "output", "step"}
"""Elements in which a model speaks for itself; in any other it shows something."""
SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n")
PATH = re.compile(r"[\w*/.~)\]}-]")
"""Behind these, `/*` is the end of a path."""
PLANS = re.compile(
    r"\b(?:plan|steps?|todo|tasks?|approach|fix|changes?|goal|next|thoughts?)\b|计划|步骤|任务|方案", re.I
)
PRESENTS = re.compile(r"\b(?:here(?:'s|’s| is| are)|below (?:is|are)|this is)\b|(?:这|以下|下面)是", re.IGNORECASE)
SHAPED = re.compile(r"^(?:[ \t]*(?:[#|>]|[-*+] |\d+[.)](?:\s|$))| {4}|\t)|[;{}=\\(,]$", re.MULTILINE)
"""A line of a document or of code rather than of prose."""
POINTS = re.compile(r"\b(?:this|these|here|next)\W*$", re.IGNORECASE)
STEP = re.compile(r"(?:#{3,} |Step \d|\W*Thought\b)[^\n]+", re.IGNORECASE)
"""Nothing but a thought or a heading, one so low that it is not a document's."""
STRAY = re.compile(r"(?:^|(?<=\n))(?:court|count|course|call)\s*\Z")
"""A token that was read wrongly stands before the markup of some models."""
SHORT = 600
"""What a model says before it acts."""
NEAR = 400
LONGEST_CODE = 2000


def explained(before: str) -> bool:
    """The sentence right before a piece of markup says that it is an example, not an act.

    A colon, or a sentence without an end, leads up to an act that is announced or to something quoted.
    """
    lead = _lead(before)
    sentence = _sentence(lead).strip()
    if _explains(sentence) or (sentence.endswith(("?", "？", "吗。")) and ASKS.search(sentence)):
        return True
    if sentence.endswith(("?", "？")) and not ACTS.search(sentence):
        return True
    if LABEL.search(lead) or ACTS.search(sentence) or BEGINS.search(sentence) or DOING.match(sentence):
        return False
    if SPEAKS.search(sentence):
        return True
    if sentence.rstrip("*_ ").endswith((":", "：")):
        return ACTS.search(lead) is None
    line = lead.rstrip().rpartition("\n")[2]
    return not ENDED.search(sentence) and not HEADING.match(line) and told(sentence)


def given_as_example(before: str) -> bool:
    """The last sentence says in so many words that what follows is an example, or not to be done."""
    return _explains(_sentence(_lead(before)))


def intended(before: str) -> bool:
    """The words right before a bare call announce it; nothing there announces it as well."""
    lead = _lead(before)
    if not lead.strip():
        return True
    label = LABEL.search(lead)
    sentence = _sentence(lead[: label.start()] if label else lead)
    if _explains(sentence):
        return False
    if label or ACTS.search(sentence):
        return True
    if BIDS.match(sentence):
        return False
    return TELLS.search(lead) is None and (BEGINS.search(sentence) is not None or ACTS.search(lead) is not None)


def quoted(text: str, start: int, end: int) -> bool:
    """In a quotation, a diff, a table or a comment, in quotation marks, or in the middle of a sentence."""
    head = text[max(text.rfind("\n", 0, start) + 1, start - 1000) : start]
    if QUOTED.match(head) or (head and head[-1] in "\"'“‘«「("):
        return True
    tail = text[end : end + 500].partition("\n")[0].strip()
    after = text[end : end + 500].lstrip()
    if (after[:1].islower() and after[:1].isascii() and not ACTS.match(after)) or SPEAKS_OF.match(after):
        return True
    if (around := INSIDE.search(text[max(0, start - 200) : start])) and after.startswith(f"</{around[1]}"):
        return around[1].lower() not in SPEAKING
    if HEREDOC.search(text[max(0, start - 200) : start]):
        return True
    return bool(re.search(r"\w", head)) and bool(re.match(r"[\w,.;:)—–-]", tail)) and len(tail) > 2


def led_up_to(head: str) -> bool:
    """The words in whose line a call stands announce it."""
    sentence = _sentence(head)
    if ACTS.search(sentence):
        return True
    return ENDED.search(sentence) is not None and (
        BEGINS.search(sentence) is not None or DOING.match(sentence) is not None
    )


def meant(before: str) -> bool:
    """The words before a call that changes something are the model's own: they announce it, or are one short paragraph.

    A quotation has words that lead up to it and paragraphs of its own.
    """
    lead = STRAY.sub("", before.strip()).strip()
    paragraphs = re.split(r"\n[ \t]*\n", lead)
    if any(_presents(paragraph) for paragraph in paragraphs[:-1]):
        return False
    sentence = _sentence(_lead(lead))
    if ACTS.search(sentence) or DOING.match(sentence) or LABEL.search(lead):
        return True
    if not lead or STEP.fullmatch(lead):
        return True
    if len(lead) > SHORT or SHAPED.search(lead) or POINTS.search(sentence):
        return False
    if len(paragraphs) > 1 or not ENDED.search(lead):
        return BEGINS.match(sentence.lstrip()) is not None
    return True


def _presents(paragraph: str) -> bool:
    """What follows is shown, not said."""
    sentence = _sentence(paragraph).strip().rstrip("*_ ")
    if TELLING.search(sentence):
        return True
    if ACTS.search(sentence) or PLANS.search(sentence):
        return False
    if PRESENTS.search(sentence) or sentence.endswith((":", "：")):
        return True
    return not ENDED.search(sentence) and not HEADING.match(sentence) and told(sentence)


def commented(before: str) -> bool:
    """A comment is open at the end of this text."""
    opened = max(before.rfind("<!--"), before.rfind("/*"))
    return opened >= 0 and comment_end(before, opened) >= len(before)


def comment_end(text: str, start: int) -> int:
    """The end of the comment that opens here; the end of the text when it is not closed."""
    if text.startswith("/*", start) and start and PATH.match(text[start - 1]):
        return start + 2
    mark = "-->" if text.startswith("<!--", start) else "*/"
    end = text.find(mark, start + len(mark))
    return end + len(mark) if end >= 0 else len(text)


def fence_end(text: str, opening: re.Match[str], end: int | None = None) -> tuple[int, int]:
    """Where the content of a fence ends and where the fence does; the end of the text when it is not closed."""
    run = opening["run"]
    closing = re.compile(rf"^[ \t]*{re.escape(run[0])}{{{len(run)},}}[ \t]*$", re.MULTILINE)
    stop = len(text) if end is None else end
    found = closing.search(text, opening.end(), stop)
    return (found.start(), found.end()) if found else (stop, stop)


def ticked_end(text: str, start: int) -> int:
    """The end of the inline code that begins here, in the same paragraph; else past the backticks."""
    stop = start
    while stop < len(text) and text[stop] == "`":
        stop += 1
    blank = text.find("\n\n", stop, stop + LONGEST_CODE)
    limit = min(blank if blank >= 0 else len(text), stop + LONGEST_CODE)
    found = re.compile(rf"(?<!`)`{{{stop - start}}}(?!`)").search(text, stop, limit)
    return found.end() if found else stop


def announced(before: str, after: str) -> bool:
    """The sentence before a call says that something is about to be done, or the one behind it what comes then."""
    sentence = _sentence(_lead(before))
    if sentence:
        return ACTS.search(sentence) is not None or BEGINS.search(sentence) is not None
    behind = next((part for part in SENTENCE.split(after.strip()) if part and part.strip()), "")
    return AHEAD.search(behind) is not None or ACTS.search(behind) is not None


def told(after: str) -> bool:
    """The text goes on in words."""
    return len(re.findall(r"[\u3040-\u9fff]|\w+", after[:200])) >= 3


def _explains(sentence: str) -> bool:
    if sentence.lstrip().startswith("#") and TELLS.search(sentence):
        return True
    if FORBIDS.search(sentence):
        return True
    if any(ACTS.match(sentence, decided.end()) for decided in DECIDES.finditer(sentence)):
        return False
    if EXPLAINS.search(sentence) or (sentence.rstrip(" *_\n").endswith((":", "：")) and _introduces(sentence)):
        return True
    return HOW.search(sentence) is not None and ACTS.search(sentence) is None


def _introduces(sentence: str) -> bool:
    """What follows the colon is the object of this sentence, not the act it announces."""
    if TELLING.search(sentence) or DANGLING.search(sentence):
        return True
    return ACTS.search(sentence) is None and DATA.search(sentence) is not None and not CALLING.search(sentence)


def _lead(before: str) -> str:
    """The paragraph that leads up to this place."""
    near = before[-NEAR:].rstrip()
    return near[near.rfind("\n\n") + 1 :]


def _sentence(lead: str) -> str:
    return next((part for part in reversed(SENTENCE.split(lead)) if part and part.strip()), "")
