"""The gauges of a conversation, cheap enough to be read after every event; for the thread that the engine runs in."""

from weakref import WeakKeyDictionary

from overt.app.context.git_branch import Branch
from overt.app.conversation import Conversation
from overt.app.limits.caps import spend_limit
from overt.core.status_values import Gauges

PROMPT_TITLE_CHARACTERS = 80
"""Characters of a prompt that stands in for a title."""


def read_gauges(conversation: Conversation) -> Gauges:
    agent, history, spend = conversation.agent, conversation.history, conversation.spend
    budget, sandbox = agent.runtime.budget, agent.runtime.hands.guess()
    return Gauges(
        model=agent.spec.params.model,
        provider=agent.runtime.provider.name,
        mode=conversation.mode,
        sandbox=sandbox.kind,
        lacking=sandbox.missing if sandbox.boxed else (),
        used=budget.count(agent.spec.prefix, history.messages) if budget else 0,
        limit=(budget.window if budget else 0) or conversation.window,
        cost=spend.turn.known_cost,
        session_cost=spend.session.known_cost,
        unpriced=spend.session.unpriced > 0,
        estimated=spend.session.estimated > 0,
        spend_limit=spend_limit(history, conversation.setting.config.limits.budget_usd),
        cache=spend.turn.cached_share,
        session_cache=spend.session.cached_share,
        jobs=sum(job.state == "running" for job in conversation.session_workspace.list_jobs()),
        agents=len(conversation.agents.running()) if conversation.agents else 0,
        branch=_branch(conversation).name(),
        offline=conversation.offline,
        title=history.title or _prompt_title(conversation),
        turn=conversation.session.turn,
    )


def _prompt_title(conversation: Conversation) -> str:
    """The first line of the first prompt."""
    prompt = next((mark.text for mark in conversation.session.marks if mark.text), "")
    return prompt.strip().partition("\n")[0][:PROMPT_TITLE_CHARACTERS]


def _branch(conversation: Conversation) -> Branch:
    return _BRANCHES.get(conversation) or _BRANCHES.setdefault(conversation, Branch(conversation.workspace))


_BRANCHES: WeakKeyDictionary[Conversation, Branch] = WeakKeyDictionary()
"""Each remembers the file of git that it has read last."""
