"""The slash commands that have a module of their own, each loaded when it is typed."""

from collections.abc import Awaitable, Callable

from overt.app.command_table import Done
from overt.app.conversation import Conversation

Command = Callable[[Conversation, str], Awaitable[Done]]


def load_command(name: str) -> Command:
    """Return the function of a command, or raise a KeyError if no module has it."""
    match name:
        case "budget":
            from overt.app.slash_budget import budget  # late: 16 ms

            return budget
        case "context":
            from overt.app.slash_context import context  # late: 45 ms

            return context
        case "copy":
            from overt.app.slash_copy import copy  # late: 0.3 ms

            return copy
        case "diff":
            from overt.app.slash_diff import diff  # late: 79 ms

            return diff
        case "effort":
            from overt.app.slash_effort import effort  # late: 0.3 ms

            return effort
        case "jobs":
            from overt.app.slash_jobs import jobs  # late: 0.4 ms

            return jobs
        case "memory":
            from overt.app.slash_memory import memory  # late: 30 ms

            return memory
        case "permissions":
            from overt.app.slash_permissions import permissions  # late: 23 ms

            return permissions
        case "resume":
            from overt.app.slash_resume import resume  # late: 21 ms

            return resume
        case "status":
            from overt.app.slash_status import status  # late: 14 ms

            return status
        case "export" | "fork" | "pin" | "rename":
            from overt.app import slash_sessions  # late: 1 ms

            return {
                "export": slash_sessions.export,
                "fork": slash_sessions.fork,
                "pin": slash_sessions.pin,
                "rename": slash_sessions.rename,
            }[name]
        case "undo" | "redo" | "rewind":
            from overt.app import slash_undo  # late: 1 ms

            return {"undo": slash_undo.undo, "redo": slash_undo.redo, "rewind": slash_undo.rewind}[name]
        case "cost" | "stats":
            from overt.app import slash_cost  # late: 1 ms

            return {"cost": slash_cost.cost, "stats": slash_cost.stats}[name]
        case "model" | "models":
            from overt.app import slash_model  # late: 1 ms

            return {"model": slash_model.model, "models": slash_model.models}[name]
        case "review" | "init":
            from overt.app import slash_prompts  # late: 1 ms

            return {"review": slash_prompts.review, "init": slash_prompts.init}[name]
        case "config" | "doctor":
            from overt.app import slash_config  # late: 1 ms

            return {"config": slash_config.config, "doctor": slash_config.doctor}[name]
        case _:
            raise KeyError(name)
