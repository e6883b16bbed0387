"""What each request cost, entered into the ledger as soon as its reply is known."""

from collections.abc import Callable
from time import time

from overt.app.models import Models
from overt.app.session import Session
from overt.app.setting import Setting
from overt.context.cache import CacheMeter
from overt.core.cost import cost, savings
from overt.core.events import Compacted, Event, Noticed, Replied, RequestSent
from overt.core.settings import Price
from overt.core.spend import Purpose
from overt.core.usage import Usage
from overt.lib.catalogue import say
from overt.lib.paths import slug
from overt.providers.discover import Found, is_local
from overt.sessions.ledger import Booked, Ledger

FREE = Price(input=0.0, output=0.0, cached=0.0, cache_write=0.0)


class Books:
    """The ledger of one conversation. `tell` hears once when a line could not be written."""

    def __init__(self, data_dir: str, project: str, session: str, tell: Callable[[Noticed], None]) -> None:
        self._ledger = Ledger(data_dir)
        self._project = slug(project)
        self._session = session
        self._tell = tell
        self._meters: dict[str, CacheMeter] = {}

    def enter(
        self,
        event: Replied | Compacted,
        *,
        sent: RequestSent | None,
        found: Found,
        turn: int,
        step: int,
    ) -> None:
        """`sent` is the request that waits for its reply; what answers none, as a command of the person, costs nothing.

        A reply that was cut off came without a count, so its cost is not known.
        """
        purpose = _purpose(event, sent)
        if purpose is None:
            return
        usage = event.usage
        price = price_of(found)
        whole = not (isinstance(event, Replied) and event.finish == "interrupted" and usage == Usage())
        trouble = self._ledger.book(
            Booked(
                ts=round(time(), 3),
                session=self._session,
                project=self._project,
                agent=event.agent,
                provider=found.entry.name,
                model=found.model,
                turn=turn,
                step=step,
                purpose=purpose,
                input=usage.input,
                cached=usage.cached,
                cache_write=usage.cache_write,
                output=usage.output,
                reasoning=usage.reasoning,
                possible=self._possible(event, sent),
                cost=cost(usage, price) if whole else None,
                saved=savings(usage, price) if whole else None,
                ms=event.ms,
            )
        )
        if trouble and self._ledger.missed == 1:
            text = say("ledger.missed", path=self._ledger.path, why=trouble)
            self._tell(Noticed(text=text, level="warning"))

    def _possible(self, event: Replied | Compacted, sent: RequestSent | None) -> int:
        """What a cache could have held of the request, in tokens."""
        if sent is None:
            return 0
        meter = self._meters.setdefault(event.agent, CacheMeter())
        meter.feed(sent)
        step = meter.feed(event)
        return step.possible if step else 0


def price_of(found: Found) -> Price | None:
    """As it was set or is known; what works on this machine costs nothing unless somebody says so."""
    return found.about.price or (FREE if is_local(found.entry) else None)


def _purpose(event: Replied | Compacted, sent: RequestSent | None) -> Purpose | None:
    if isinstance(event, Compacted):
        return "summary" if sent and sent.purpose == "summary" else None
    return sent.purpose if sent else None  # a summary that was of no use has its price all the same


class LedgerWriter:
    """Writes what each request of a session cost into the ledger, which is loaded with the first reply."""

    def __init__(self, setting: Setting, session: Session, models: Models, notify: Callable[[Noticed], None]) -> None:
        self._setting = setting
        self._session = session
        self._models = models
        self._notify = notify
        self._sent: dict[str, RequestSent] = {}
        self._books: Books | None = None

    def see(self, event: Event) -> None:
        if isinstance(event, RequestSent):
            self._sent[event.agent] = event
        elif isinstance(event, Replied | Compacted):
            # A turn goes on with the model it began with, whichever was chosen since.
            sent = self._sent.pop(event.agent, None)
            found = self._models.used(sent.params.model, event.agent) if sent else None
            if found:
                session, places = self._session, self._setting
                data_dir, project = places.environment.data_dir, places.roots.project
                self._books = self._books or Books(data_dir, project, session.id, self._notify)
                self._books.enter(event, sent=sent, found=found, turn=session.turn, step=session.step)
