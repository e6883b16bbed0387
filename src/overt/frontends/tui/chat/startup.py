"""From the first paint to the first prompt: how the terminal is to look, whether the folder is trusted, which model.

All of it is done behind the terminal, in one thread as far as nothing must be asked, so that a person can already
type; what is sent meanwhile waits its turn.
"""

from collections.abc import Sequence
from time import sleep
from typing import TYPE_CHECKING

from msgspec.structs import replace

from overt import __version__
from overt.core.errors import ConfigError, OvertError
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.screen import SETTLE_TMUX
from overt.frontends.tui.terminal.theme import shade
from overt.frontends.tui.terminal.theme import theme as make_theme
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.chat.chat_preferences import ChatStart, Depth, TerminalTraits
    from overt.app.chat.input_history import InputHistory
    from overt.app.chat.interface import ChatPreferences
    from overt.app.chat.trust_question import TrustQuestion
    from overt.app.conversation import Conversation
    from overt.app.setting import Setting
    from overt.app.setup.run import MissingModel
    from overt.frontends.tui.chat.chat import Chat
    from overt.frontends.tui.chat.transcript import RecordedEvent
    from overt.frontends.tui.chat.welcome import StartupPanel

HEADSTART = 0.05
"""Seconds that a request has to itself before anything is loaded for its answer."""


class Startup:
    """`panel` is a question that must be answered first.

    `setting` and `preferences` are None until the configuration has been read.
    """

    def __init__(self, chat: "Chat") -> None:
        self._chat = chat
        self.panel: StartupPanel | None = None
        self.preferences: ChatPreferences | None = None
        self.setting: Setting | None = None
        self.outside = ""
        """What is to be done without the terminal, when the loop has let go of it: `setup` or `fetch`."""
        self._question: TrustQuestion | None = None
        self._prompts: InputHistory | None = None
        self._ahead = False
        self._early: list[str] = []
        self._told: set[str] = set()
        self._dark: bool | None = None
        self._depth: Depth = 0

    def begin(self) -> None:
        self._chat.background.run_in_thread(self._read_surroundings, _nothing, self._failed)

    def _read_surroundings(self) -> None:
        chat = self._chat
        from overt.app.chat import chat_preferences  # late: 33 ms
        from overt.app.chat.trust_question import trust_question  # late: 18 ms

        chat.background.post(self._apply_traits, chat_preferences.terminal_traits())
        question = trust_question(chat.options)
        if question is None:
            self._open_session()
        else:
            chat.background.post(self._ask, question)

    def _open_session(self) -> None:
        chat = self._chat
        from overt.app.chat import chat_preferences  # late: 33 ms
        from overt.app.setting import read_setting  # late: 29 ms

        self.setting = setting = read_setting(chat.options)
        start = chat_preferences.start(setting)
        chat.background.post(self._apply_preferences, start)
        if not start.preferences.plain:
            chat.background.post(self._greet, chat.background.open_blocking(chat.options, setting))

    def _apply_traits(self, looks: "TerminalTraits") -> None:
        """Colours before anything is asked; the background is asked of the terminal where nothing tells it."""
        chat, self._depth, self._dark = self._chat, looks.depth, looks.dark
        chat.terminal.reflows = looks.reflows
        if looks.tmux:
            chat.terminal.settle = SETTLE_TMUX
            chat.terminal.anchored = True
        self.theme("auto")
        if looks.dark is None and looks.depth:
            chat.terminal.ask_colour()

    # ── is the folder trusted? ───────────────────────────────────────────────────────────────────────────

    def _ask(self, question: "TrustQuestion") -> None:
        self._question = question
        from overt.frontends.tui.chat.welcome import trust_panel  # late: 26 ms

        self._show(trust_panel(question))

    def _show(self, panel: "StartupPanel") -> None:
        self.panel = panel
        self._chat.terminal.commit(panel.opening(self._chat.terminal.columns))

    def press(self, key: Key) -> None:
        assert self.panel is not None
        match self.panel.press(key):
            case "leave":
                self._chat.over = True
            case "yes" | "no" as said:
                self.panel, question = None, self._question
                assert question is not None
                from overt.app.chat.trust_question import answer  # late: 18 ms

                self._chat.background.run_in_thread(
                    lambda: answer(question, said == "yes"), self._answered, self._unkept
                )
            case "setup" | "fetch" as wanted:
                self.outside = wanted
                self._chat.over = True
            case _:
                pass

    def _unkept(self, error: OvertError) -> None:
        """An answer that cannot be kept does not keep anybody from working; the folder counts as untrusted then."""
        self._chat.tell_error(error)
        self._answered()

    def _answered(self, _kept: None = None) -> None:
        self._chat.background.run_in_thread(self._open_session, _nothing, self._failed)

    # ── how it looks ─────────────────────────────────────────────────────────────────────────────────────

    def _apply_preferences(self, start: "ChatStart") -> None:
        """`start` is what the configuration says, and the prompts of earlier sessions."""
        chat, self.preferences = self._chat, start.preferences
        self._prompts = start.prompts
        chat.composer.keys = start.preferences.keys
        chat.composer.placeholder = say("tui.composer.placeholder")
        chat.composer.load_history(start.history)
        chat.terminal.links = start.preferences.links
        if start.preferences.plain:
            self.outside = "plain"
            chat.over = True
            return
        self.theme(start.preferences.theme)

    def theme(self, wanted: str) -> None:
        """`auto` follows the background that the terminal told of, and is dark where it has told nothing."""
        light = wanted == "light" or (wanted == "auto" and self._dark is False)
        self._chat.terminal.theme = make_theme("light" if light else "dark", depth=self._depth)
        self._chat.terminal.repaint()

    def choose_theme(self, wanted: str) -> None:
        """Until the program ends; without a word it only tells which."""
        assert self.preferences is not None
        if wanted:
            self.preferences = replace(self.preferences, theme=wanted)
            self.theme(wanted)
        self._chat.tell((say("tui.chat.theme", theme=self.preferences.theme),), "dim")

    def reply(self, text: str) -> None:
        """An answer of the terminal: only its background is of interest."""
        dark = shade(text)
        if dark is not None:
            self._dark = dark
            if self.preferences is None or self.preferences.theme == "auto":
                self.theme("auto")

    # ── the conversation ─────────────────────────────────────────────────────────────────────────────────

    def _greet(self, conversation: "Conversation") -> None:
        model, mode = conversation.agent.spec.params.model, conversation.mode
        self._chat.tell((say("tui.chat.welcome", version=__version__, model=model, mode=mode),), "dim")
        self.show_conversation(conversation)

    def show_conversation(self, conversation: "Conversation") -> None:
        """A conversation stands, the first one or another: what it was before is shown, and what waited goes on."""
        chat = self._chat
        for notice in conversation.notices:
            if notice not in self._told:  # once: most are of the settings, which are the same
                self._told.add(notice)
                chat.tell((notice,), "dim")
        if conversation.session.turn and conversation.path:
            from overt.app.inspect.queries import entries_after_rewinds  # late: 45 ms

            chat.background.run_in_thread(lambda: entries_after_rewinds(conversation.path), self._replay, self._unread)
        else:
            self._open_queue()

    def _replay(self, entries: "Sequence[RecordedEvent]") -> None:
        self._chat.replay(entries)
        self._open_queue()

    def _unread(self, error: OvertError) -> None:
        self._chat.tell_error(error)
        self._open_queue()

    def _open_queue(self) -> None:
        early, self._early = self._early, []
        for text in early:
            self.remember(text)
        chat = self._chat
        chat.prompt_queue.set_open()
        if chat.prompt_queue.running:  # a prompt waited: nothing that can be loaded later comes before it
            chat.background.run_in_thread(lambda: sleep(HEADSTART), self._settle, _nothing)
        else:
            self._settle()

    def _settle(self, _waited: None = None) -> None:
        self._chat.gauge()
        self._chat.completion.begin()

    def _failed(self, error: OvertError) -> None:
        setting = self.setting
        if setting is None or not isinstance(error, ConfigError) or error.code != "no_model":
            raise error  # main tells it, when the terminal is as it was
        self._chat.background.run_in_thread(lambda: _missing(setting, error), self._offer, self._failed)

    def _offer(self, missing: "MissingModel") -> None:
        from overt.frontends.tui.chat.welcome import no_model_panel  # late: 26 ms

        self._show(no_model_panel(missing.told, embedded=missing.embedded, size=missing.size))

    def load_ahead(self) -> None:
        """What the answer will need is loaded while the model thinks: a thread of its own, so that keys are echoed."""
        if not self._ahead:
            self._ahead = True
            self._chat.background.run_in_thread(_load, _nothing, _nothing)

    def remember(self, text: str) -> None:
        """The history of prompts is a file: no secret goes there."""
        conversation, prompts = self._chat.background.conversation, self._prompts
        if prompts is None or conversation is None:
            self._early.append(text)
            return
        if self.preferences and self.preferences.history:
            self._chat.background.run_in_thread(lambda: prompts.add(conversation.redact(text)), _nothing, _nothing)


def _load() -> None:
    """Load what drawing an answer needs, and the lexer for the code that answers contain most often."""
    sleep(HEADSTART)
    import markdown_it  # noqa: F401  # late: 23 ms

    from overt.app.chat import citations  # noqa: F401  # late: 4 ms
    from overt.frontends.tui.chat import diffs  # noqa: F401  # late: 5 ms
    from overt.frontends.tui.markdown import markdown  # noqa: F401  # late: 4 ms
    from overt.frontends.tui.markdown.highlight import Highlighter  # late: 2 ms

    Highlighter("python").feed("x = 1\n")


def _nothing(_value: object) -> None:
    """Nobody waits for it."""


def _missing(setting: "Setting", problem: ConfigError) -> "MissingModel":
    from overt.app.setup.run import explain_missing_model  # late: 91 ms

    return explain_missing_model(setting, problem)
