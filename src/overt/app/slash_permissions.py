"""`/permissions`: the rules that hold here, where each comes from, and taking back what was answered with always."""

import asyncio

from overt.app.command_table import Done, misused
from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.app.permissions import always_used, revoke
from overt.app.setting import read_setting
from overt.lib.catalogue import say


async def permissions(conversation: Conversation, argument: str) -> Done:
    word, _, wanted = argument.partition(" ")
    if word == "revoke" and wanted.strip():
        gone = await asyncio.to_thread(revoke, conversation.workspace, wanted.strip())
        conversation.agent.gate.forget(gone)
        return Done(lines=(say("permissions.revoked", rule=gone),))
    if argument:
        raise misused("permissions")
    return Done(lines=await asyncio.to_thread(_lines, conversation.workspace, conversation.mode))


def _lines(workspace: str, mode: str) -> tuple[str, ...]:
    setting = read_setting(Options(directory=workspace))
    lines = [say("chat.mode", mode=mode)]
    rules = setting.config.permissions.rules
    lines += [f"  {rule.action:5}  {rule.shown()}  ({rule.origin})" for rule in rules]
    stored = always_used(workspace)
    lines.append(say("permissions.stored") if stored else say("permissions.none"))
    lines += [f"  {number:2}  {used.rule.action:5}  {used.rule.shown()}" for number, used in enumerate(stored, 1)]
    return tuple(lines)
