"""Subscribers of every session: the usage ledger, the expiry of the cache, and the relay to the parent session."""

from collections.abc import Callable

from overt.app.session import Session
from overt.app.setting import Setting
from overt.app.subagents.parent_link import ParentLink, Relay
from overt.core.events import Event, TurnEnded
from overt.sessions.usage_ledger import LedgerWriter


def subscribe_records(session: Session, setting: Setting, parent: ParentLink | None) -> None:
    """Write the costs of a session to the ledger. A sub-agent relays its events to its parent instead."""
    if parent:
        session.subscribe(Relay(session, parent).receive, name="relay", hidden=True, agents=True)
        return
    session.subscribe(_make_ledger(setting, session).receive, name="ledger", hidden=True)
    session.subscribe(_expire_cache(setting), name="cache expiry")


def _make_ledger(setting: Setting, session: Session) -> LedgerWriter:
    data_dir, project = setting.environment.data_dir, setting.roots.project
    return LedgerWriter(data_dir, project, session.id, spend=session.spend, notify=session.publish)


def _expire_cache(setting: Setting) -> Callable[[Event], None]:
    """Delete old cache files in the background after each turn."""

    def see(event: Event) -> None:
        if isinstance(event, TurnEnded) and event.agent == "main":
            from overt.app.diagnostics.cache_expiry import start_expiry  # late: 0.4 ms

            start_expiry(setting.environment.cache_dir, setting.config.cache)

    return see
