"""The one tree of errors.

OvertError
├── ToolError       the model reads it and tries again
├── ProviderError   the model's server failed; `retryable` says whether waiting helps
├── ConfigError     a person must change a file or a variable
├── UsageError      the command line is wrong; the program ends with code 2
├── SessionError    a session file cannot be read, written or locked
└── InternalError   an unexpected exception of ours, already written to a crash file

A message says what happened, what was expected and what to do.
"""


class OvertError(Exception):
    """Anything Overt reports to a person or a model in words."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ToolError(OvertError):
    """`code` is a stable word a program can test: outside, missing, binary, stale, denied, invalid …"""

    def __init__(self, message: str, *, code: str = "failed") -> None:
        super().__init__(message)
        self.code = code


class ProviderError(OvertError):
    """`kind` is a stable word: key, balance, overflow, parameter, model, down, not_api, cut, stalled, server,
    tools, form and image (what this one cannot take), proxy, tls … `server_text` is what the server itself said."""

    def __init__(
        self,
        message: str,
        *,
        kind: str = "server",
        retryable: bool = False,
        status: int = 0,
        retry_after: float | None = None,
        server_text: str = "",
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retryable = retryable
        self.status = status
        self.retry_after = retry_after
        self.server_text = server_text

    def reworded(self, message: str, *, server_text: str) -> "ProviderError":
        """Return the same error with other texts."""
        return ProviderError(
            message,
            kind=self.kind,
            retryable=self.retryable,
            status=self.status,
            retry_after=self.retry_after,
            server_text=server_text,
        )


class ConfigError(OvertError):
    """The message begins with the place: ``overt.toml:12: …``.

    `code` is `no_model` if there is none to talk to, with what was looked for in `details`, or `offline` if the
    provider named in `details` may not be asked.
    """

    def __init__(self, message: str, *, code: str = "", details: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.details = details


class UsageError(OvertError):
    """The message names the flag or the word."""


class SessionError(OvertError):
    """`code`: locked, missing, ambiguous, newer, unreadable, full, invalid, taken."""

    def __init__(self, message: str, *, code: str = "unreadable") -> None:
        super().__init__(message)
        self.code = code


class InternalError(OvertError):
    """`path` is the crash file, empty if it could not be written; `summary` is type and message of the exception."""

    def __init__(self, message: str, *, path: str = "", summary: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.summary = summary
