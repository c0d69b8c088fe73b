"""The protocol of `refold serve`: one request line in, one reply line out, for hosts that are not Python.

What the server keeps of a session is the view and nothing else: a host that lost it sends the log again and gets the
same answers. docs/serve.md describes every message.
"""

import json
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version as version_of
from typing import Annotated, Any, Literal

import msgspec

from refold.bridges.dsh_rows import DshRows, replacement
from refold.events import LogError, PolicyError, RefoldError, SurfaceError
from refold.events import _json as js
from refold.events._dsh_header import NEWEST
from refold.reducer import Counted, Dsh, DshEstimator, Meter, Operation, Policy, Reducer, Reported, View, results

PROTOCOL = 1


class Request(msgspec.Struct, tag_field="op", forbid_unknown_fields=True, kw_only=True):
    """What every request may carry: an `id` that its reply repeats."""

    id: str | int | None = None


class Hello(Request, tag="hello", kw_only=True):
    protocol: int
    policy: str | dict[str, Any]
    meter: Literal["dsh", "tiktoken", "usage"] = "dsh"


class Open(Request, tag="open", kw_only=True):
    session: Annotated[str, msgspec.Meta(min_length=1)]
    version: int


class Events(Request, tag="events", kw_only=True):
    session: str
    rows: list[msgspec.Raw]


class Plan(Request, tag="plan", kw_only=True):
    session: str
    position: int


class Status(Request, tag="status", kw_only=True):
    session: str


class Close(Request, tag="close", kw_only=True):
    session: str


_DECODER: msgspec.json.Decoder[Hello | Open | Events | Plan | Status | Close] = msgspec.json.Decoder(
    Hello | Open | Events | Plan | Status | Close
)


class RequestError(RefoldError):
    """The request is none, or cannot be answered where things stand."""


class Session:
    """One session's fold. A batch of rows is taken whole or not at all."""

    def __init__(self, reducer: Reducer, name: str, version: int) -> None:
        self.reducer, self.version = reducer, version
        self.view: View = reducer.start()
        self._rows = DshRows(name, version)

    def take(self, rows: list[msgspec.Raw]) -> list[str]:
        """Fold the rows; what had to be taken on trust. Raises LogError or SurfaceError, then nothing has changed."""
        events, notes = self._rows.read(map(bytes, rows), self.view.position)
        self.view = self.reducer.fold_all(self.view, events)
        return notes


class Server:
    """Answers the lines of one host. `policy_of` makes a policy of its text, and raises PolicyError."""

    def __init__(self, policy_of: Callable[[str], Policy]) -> None:
        self._policy_of = policy_of
        self._policy: Policy | None = None
        self._meters: Callable[[int], Meter] = Dsh
        self._sessions: dict[str, Session] = {}

    def answer(self, line: bytes) -> bytes:
        """The reply to one line, with its line end. Never raises: what went wrong is the reply."""
        try:
            request = _request(line)
            return _line({"id": request.id, "ok": self._answer(request)})
        except RefoldError as error:
            return _line({"id": _id_of(line), "error": _told(error)})
        except Exception as error:  # a bug must not take the other sessions with it
            return _line({"id": _id_of(line), "error": {"kind": "internal", "message": repr(error)}})

    def refuse(self, message: str) -> bytes:
        """The reply to a line that cannot even be held."""
        return _line({"id": None, "error": {"kind": "request", "message": message}})

    def _answer(self, request: Hello | Open | Events | Plan | Status | Close) -> dict[str, Any]:
        match request:
            case Hello():
                return self._hello(request)
            case Open():
                return self._open(request)
            case Events():
                session = self._session(request.session)
                notes = session.take(request.rows)
                return {"position": session.view.position, "notes": notes}
            case Plan():
                return self._plan(request)
            case Status():
                return _status(self._session(request.session))
            case Close():
                self._session(request.session)
                del self._sessions[request.session]
                return {"sessions": len(self._sessions)}

    def _hello(self, request: Hello) -> dict[str, Any]:
        if request.protocol != PROTOCOL:
            raise RequestError(f"protocol {request.protocol} is asked for, and {PROTOCOL} is spoken: upgrade the older")
        if isinstance(request.policy, str):
            self._policy = self._policy_of(request.policy)
        else:
            try:
                self._policy = msgspec.convert(request.policy, Policy)
            except ValueError as error:  # msgspec's own, and Python's for half a character
                raise PolicyError(str(error), field="policy") from None
        counted, reported = Counted(), Reported()
        meters: dict[str, Callable[[int], Meter]] = {
            "dsh": Dsh,
            "tiktoken": lambda version: counted,
            "usage": lambda version: reported,
        }
        self._meters = meters[request.meter]
        self._sessions.clear()
        return {
            "refold": version_of("refold"),
            "protocol": PROTOCOL,
            "versions": list(range(NEWEST + 1)),
            "policy": self._policy.name,
            "meter": request.meter,
        }

    def _open(self, request: Open) -> dict[str, Any]:
        if self._policy is None:
            raise RequestError("no policy is known yet: say hello first")
        if not 0 <= request.version <= NEWEST:
            raise RequestError(f"log version {request.version} is not known: 0 to {NEWEST} are; upgrade refold")
        reducer = Reducer(self._policy, self._meters(request.version))
        self._sessions[request.session] = Session(reducer, request.session, request.version)
        return {"position": 0, "fingerprint": reducer.fingerprint}

    def _session(self, name: str) -> Session:
        session = self._sessions.get(name)
        if session is None:
            raise RequestError(f"no session {name!r} is open: open it and send its log from the start")
        return session

    def _plan(self, request: Plan) -> dict[str, Any]:
        session = self._session(request.session)
        view = session.view
        if request.position != view.position:
            raise RequestError(
                f"the plan is asked for a log of {request.position} events, and {view.position} have been sent: "
                "send the rest, or open the session again"
            )
        operations = [_spelled(operation, session.version) for operation in session.reducer.plan(view)]
        return {"position": view.position, "turn_open": view.turn_open, "operations": operations}


def _line(reply: dict[str, Any]) -> bytes:
    return js.text(reply).encode() + b"\n"


def _request(line: bytes) -> Hello | Open | Events | Plan | Status | Close:
    try:
        return _DECODER.decode(line)
    except msgspec.ValidationError as error:
        raise RequestError(f"no request: {error}; docs/serve.md lists them") from None
    except (msgspec.DecodeError, RecursionError):
        pass
    # JavaScript writes a lone surrogate as an escape, which msgspec refuses and logs contain.
    try:
        value = js.parse(line)
        if isinstance(value, dict) and isinstance(value.get("rows"), list):
            value["rows"] = [msgspec.Raw(js.text(row).encode()) for row in value["rows"]]
        return msgspec.convert(value, Hello | Open | Events | Plan | Status | Close)
    except ValueError as error:
        raise RequestError(f"no request: {error}; one JSON object a line is wanted") from None


def _id_of(line: bytes) -> str | int | None:
    """The id of a line that is no request, None where it has none that can be repeated."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    id = value.get("id") if isinstance(value, dict) else None
    return id if isinstance(id, str) or type(id) is int else None


def _told(error: RefoldError) -> dict[str, Any]:
    match error:
        case LogError(rule=rule, seq=seq):
            return {"kind": "log", "message": rule, "seq": seq}
        case SurfaceError(rule=rule, seq=seq):
            return {"kind": "surface", "message": rule, "seq": seq}
        case PolicyError():
            return {"kind": "policy", "message": str(error)}
    return {"kind": "request", "message": str(error)}


def _spelled(operation: Operation, version: int) -> dict[str, Any]:
    """An operation with everything a host needs to append it, in the words of its log version."""
    return {
        "seq": operation.seq,
        "call_id": operation.before.call_id,
        "tool": operation.tool,
        "views": operation.views,
        "chars_before": operation.chars_before,
        "chars_after": operation.chars_after,
        "tokens_before": operation.tokens_before,
        "tokens_after": operation.tokens_after,
        "cut_at": operation.cut_at,
        "reason": operation.reason,
        **replacement(operation.seq, operation.content, DshEstimator(version).message(operation.before), version),
    }


def _status(session: Session) -> dict[str, Any]:
    view = session.view
    return {
        "position": view.position,
        "turn": view.turn,
        "step": view.step,
        "steps": view.steps,
        "tokens": session.reducer.measure(view).tokens,
        "latch": {"seq": view.latch.seq, "tokens": view.latch.tokens} if view.latch else None,
        "results": dict(Counter(result.state for result in results(session.reducer, view))),
        "fingerprint": session.reducer.fingerprint,
    }
