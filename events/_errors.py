"""The errors of refold: one class for each reaction a caller may have."""


class RefoldError(Exception):
    """Base of every error that refold raises on purpose."""


class LogError(RefoldError):
    """A session log breaks a rule of its own format.

    `path` is the log's name as the caller gave it, `line` its 1-based line, `seq` the event's place in the
    log; each is None where the rule concerns none. `rule` says what was found and what the format asks for.
    """

    def __init__(self, rule: str, *, path: str | None = None, line: int | None = None, seq: int | None = None) -> None:
        self.rule, self.path, self.line, self.seq = rule, path, line, seq
        where = path or "log"
        if line is not None:
            where += f":{line}"
        if seq is not None:
            where += f" (seq {seq})"
        super().__init__(f"{where}: {rule}")


class SurfaceError(RefoldError):
    """An event cannot be folded: it is out of order, or names nodes that are not on the surface.

    `seq` is the refused event's; `rule` says which rule it breaks. The view it was folded into is unchanged.
    """

    def __init__(self, rule: str, *, seq: int) -> None:
        self.rule, self.seq = rule, seq
        super().__init__(f"event {seq}: {rule}")


class PolicyError(RefoldError):
    """A policy, meter or mode is impossible: `field` names the parameter, the message what it allows."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        self.field = field
        super().__init__(f"{field}: {message}" if field else message)


class FormatError(RefoldError):
    """The bytes are in no format refold reads; the message says what was tried."""
