"""Whether the text before a call lets it run: is the call quoted, do the words announce an act or show something."""

import re

FENCE = re.compile(
    r"^[ \t]*(?:\**(?:Action|Tool [Cc]all|Function [Cc]all)s?\**:\**[ \t]*)?(?P<run>`{3,}|~{3,})(?P<info>[^\n`]*)$",
    re.MULTILINE,
)
QUOTED = re.compile(r"^\s*(?:[+>|#*-]|//|\d+[:\t]|\d+[.)](?:\s|$))|^(?: {4}|\t)|[\"'“‘«「(]$")
"""A line of a quotation, a list, a diff or a table, or a quotation mark right before the call."""
HEREDOC = re.compile(r"<<-?\s*['\"]?\w+['\"]?\s*\Z")
LABEL = re.compile(
    r"(?:^|\n)[\s*_#]*(?:tool[ _]call|function[ _]call|action|call|tool|thought)s?[\s*_]*:?[\s*_]*$"
    r"|\bhere(?: is|['’]s) (?:the|my) (?:\w+ for the )?(?:tool|function) calls?\b[^.\n]*$",
    re.IGNORECASE,
)
ACTS = re.compile(
    r"\b(?:i['’]?ll|i will|i['’]m going|i am going|i (?:still )?need|i should|i must|i have to|i want to|i can"
    r"|first,? i|let me|let['’]s|let us|we need|we should|we['’]ll|we will|voy a|je vais|vou|laissez"
    r"|ich (?:werde|lese|schaue|prüfe|öffne|führe|suche))\b"
    r"|^\W*(?:(?:now|first|next|then|ok|okay|perfect|great)\W+)*(?:\w+ly )?(?!listing \d)\w+ing\b"
    r"|我来|我先|我会|我将|我需要|让我|我要|需要先|先看|马上|现在运行|接下来|修改配置|^查看|下面进行"
    r"|確認します|сделаю|посмотрю|проверю",
    re.IGNORECASE,
)
"""The sentence announces an act."""
STOPS = re.compile(
    r"\b(?:(?:for|an?|another|following|simple) example|examples? of|examples?[:：]|counterexample|e\.g|such as"
    r"|like (?:this|so|the following)|(?<!it )looks? like|about to|if you|you (?:can|could|should|wanted)|would|could"
    r"|might|only run|(?:not|never|against|refuse[sd]? to|without|avoid) (?:run|execut|call|send|follow|us[ei]|do)\w*"
    r"|risky|dangerous|please (?:review|confirm)|your permission)\b"
    r"|(?:\bme|['’]ll|\bwill|\bus|\bto|\bshould|\bi)(?: (?:just|also|now|first|briefly))* (?:explain|illustrat|show"
    r"|give(?! it)|quote|document|mention|summari[sz]e|read out|escape|add (?:this|these))"
    r"|\b(?:in|as|of|from|like|is|are|was|read|found|prints?|body works)[\s:：]*$"
    r"|例|请勿|不要(?!担心)|解释|写成|你可以|如果",
    re.IGNORECASE,
)
"""The sentence shows something, or says that it is not to be done."""
SPEAKS = re.compile(
    r"\b(?:messages?|repl(?:y|ies|ied)|tags?|texts?|instructions?|(?:tool|function|next|this|the) call|markup|notation"
    r"|inputs?|payload|body|malformed|injection|injected|snippets?|transcript|fixtures?|paper|listing \d|attached"
    r"|models?|agent|assistant|attackers?|contain\w*|support for|follow(?:s|ing)|below|above|your|document\w*|json|here"
    r"|comment|commit|received|changed to|pages?|says|the \w+ form|printed|posted|pasted|wrote|sent|answer|rows?"
    r"|command|request|xml|nobody|whole|is not|output)\b|\bthis (?:way|into|one)\b"
    r"|\b(?:this|these|that|so)\W*$|格式|日志中的|用户|一行|您要的|论文|这样的|请求体",
    re.IGNORECASE,
)
"""The sentence speaks of texts."""
STEP = re.compile(r"(?:#{3,} |\W*Step \d|\d+[.)] |\W*Thought\b)[^\n]+", re.IGNORECASE)
"""Nothing but a thought or a heading, one so low that it is not a document's."""
ENDED = re.compile(r"[.!…。！)*_`\"'”」>]\Z")
SHAPED = re.compile(r"^(?:[ \t]*(?:[#|>]|[-*+] |\d+[.)](?:\s|$))| {4}|\t)|[;{}=\\(,]$", re.MULTILINE)
"""A line of a document or of code rather than of prose."""
SENTENCE = re.compile(r"(?<=[.!?;。！？])\s+|(?<=[。！？])|, so (?=i\b|let)|\n", re.IGNORECASE)
THOUGHT = re.compile(r".*(?:</(?:think|thinking|seed:think|reasoning)>|<\|[^|>]*\|>|<channel\|>)|\A\s*<\w+>", re.DOTALL)
STRAY = re.compile(r"(?:^|(?<=\n))(?:court|count|course|call)\s*\Z")
"""A token that was read wrongly stands before the markup of some models."""
PATH = re.compile(r"[\w*/.~)\]}-]")
"""Behind these, `/*` is the end of a path."""
SHORT, LONGEST_CODE = 600, 2000
"""Characters a model says before it acts; those of inline code."""


def leads_to_call(before: str, *, explicit: bool) -> bool:
    """Return True if a call that ends the reply is to be run after this text.

    Most models say one sentence before they act. A sentence that shows something stops the call, one that announces
    an act lets it run. A complete sentence that does neither, and does not speak of texts, is enough for `explicit`
    markup in a reply of one short paragraph: a longer text may be a document that ends in a call.
    """
    lead = STRAY.sub("", THOUGHT.sub("", before[-LONGEST_CODE:]).strip()).strip()
    sentence = next((part for part in reversed(SENTENCE.split(lead)) if part.strip()), "").strip()
    if not lead or LABEL.search(lead):
        return True
    *paragraphs, _ = re.split(r"\n[ \t]*\n", lead)
    if sentence.endswith(("?", "？")) or STOPS.search(sentence):
        return False
    if any(paragraph.rstrip("*_ ").endswith((":", "：")) for paragraph in paragraphs):
        return False
    if ACTS.search(sentence) or STEP.fullmatch(lead):
        return True
    is_short = not paragraphs and len(lead) <= SHORT
    is_told = ENDED.search(sentence) is not None and not SPEAKS.search(sentence)
    return explicit and is_short and is_told and not SHAPED.search(lead)


def is_quoted(text: str, start: int) -> bool:
    """Return True if the line before this place, or a heredoc, makes what follows a quotation."""
    head = text[max(text.rfind("\n", 0, start) + 1, start - 1000) : start]
    return QUOTED.search(head) is not None or HEREDOC.search(text, max(0, start - 200), start) is not None


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
