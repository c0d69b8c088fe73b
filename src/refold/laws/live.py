"""A live host: plays a script against a reducer, the way a harness would, and remembers all that happened.

The order of events is DeepSeek Harness's: turn/start, the pre-step, step/start, the user's messages, the answer, its
calls and results, step/end. In `commit` mode the host writes the operations it is given to its log, each behind its
shadow price; in `derive` mode it writes nothing. refold is asked last in a pre-step, so that whatever other plugins
do there is done.
"""

from itertools import permutations

from msgspec import structs

from refold.events import (
    AssistantChunks,
    AssistantMessage,
    Block,
    BlockEnd,
    BlockStart,
    CompactionPrune,
    EndSeed,
    Envelope,
    Event,
    Finish,
    FinishReason,
    Other,
    Overflow,
    RequestContext,
    RequestHeader,
    StepEnd,
    StepStart,
    SystemMessage,
    Text,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolResult,
    ToolUse,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from refold.events._events import Chunk
from refold.laws import others
from refold.laws.provider import Provider
from refold.laws.run import Beat, Run, Sent
from refold.laws.script import (
    Act,
    Ask,
    Blocked,
    Call,
    Compact,
    EndTurn,
    Header,
    Note,
    Overrun,
    Pause,
    Piece,
    Restart,
    Resume,
    Retry,
    Rewind,
    Rewrite,
    Script,
    Step,
    Window,
    blocks,
)
from refold.reducer import Operation, Reducer, dump, load

EPOCH_MS = 1_700_000_000_000


class Host:
    """One session under way.

    `order` picks the order in which the results of parallel calls are logged. `asks_early` says that the host asks
    refold, and commits, before it knows whether the pre-step will be blocked.
    """

    def __init__(self, reducer: Reducer, script: Script, order: int = 0, *, asks_early: bool = True) -> None:
        self.reducer, self.script, self.order, self.asks_early = reducer, script, order, asks_early
        self.view = reducer.start()
        self.events: list[Event] = []
        self.views = [self.view]
        self._beats: list[Beat] = []
        self._sent: list[Sent] = []
        self._since: list[Operation] = []
        self._quiet = self._same_process = False
        self._cut = False
        self._provider = Provider()
        self._now = EPOCH_MS if script.timed else 0
        self._turn = self._step = 0
        self._turn_open = self._step_open = False
        self._prompts: list[tuple[Piece, ...]] = []
        self._header: Header | None = Header(script.system)
        self._shown_header = Header(script.system)
        self._window: Window | None = None
        self._waiting: dict[int, tuple[Call, int | None]] = {}
        self._answers = self._results = self._summaries = 0
        self._labels: dict[int, tuple[int, int]] = {}
        self._dead = False

    def run(self) -> Run:
        beats, sent = tuple(self._beats), tuple(self._sent)
        return Run(self.reducer, tuple(self.events), tuple(self.views), beats, sent, self._labels)

    # --- the log

    @property
    def _next(self) -> int:
        return self.view.position

    def _log(self, event: Event) -> int:
        self.view = self.reducer.fold(self.view, event)
        self.events.append(event)
        self.views.append(self.view)
        return event.seq

    def _consult(self, *, overflow: bool = False) -> None:
        """Ask refold what is due, and write it down where the host commits."""
        at = len(self.events)
        operations = self.reducer.plan(self.view)
        if self.reducer.mode == "commit":
            for operation in operations:
                price = operation.tokens_before
                self._log(CompactionPrune(self._next, self._now, (operation.seq,), price))
                self._labels[self._next] = self._labels[operation.seq]
                self._log(committed(operation, self._next, self._now))
            self._in_force(Beat(at, len(self.events), operations, overflow))

    def _in_force(self, beat: Beat) -> None:
        self._beats.append(beat)
        self._since += beat.operations
        self._cut = self._cut or bool(beat.operations)

    # --- what happens in a session

    def play(self, act: Act) -> None:
        self._now += 1000 * self.script.timed
        if self._dead and not isinstance(act, Resume):
            self._resume(fork=False)
        match act:
            case Ask(pieces):
                self._start_turn()
                self._prompts.append(pieces)
            case Step():
                self._play_step(act)
            case EndTurn(reason):
                self._end_turn(reason)
            case Blocked():
                self._start_turn()
                if self.asks_early:
                    self._consult()
                self._end_turn("blocked")
            case Rewrite() | Compact():
                self._replace(act)
            case Resume(fork):
                self._resume(fork=fork)
            case Rewind(at):
                self._rewind(at)
            case Header():
                self._header = act
            case Window():
                self._window = act
            case Note():
                self._log(Other(self._next, self._now, "agent/inbox/spliced"))
            case Pause(ms):
                self._now += ms * self.script.timed
                self._log(Other(self._next, self._now, "agent/inbox/spliced"))
            case Restart(from_dump):
                self._restart(from_dump=from_dump)

    def _start_turn(self) -> None:
        if not self._turn_open:
            self._turn, self._step, self._turn_open = self._turn + 1, 0, True
            self._log(TurnStart(self._next, self._now, self._turn))

    def _end_turn(self, reason: str) -> None:
        if self._turn_open:
            self._turn_open = False
            self._prompts.clear()
            self._log(TurnEnd(self._next, self._now, self._turn, reason))

    def _play_step(self, act: Step) -> None:
        if not self._turn_open:
            self.play(Ask())
        self._open_step()
        for failure in act.failures:
            self._send()
            match failure:
                case Retry(said):
                    self._stream(blocks((said,)), "error")
                case Overrun(acts):
                    self._overrun(acts)
        self._send()
        self._answer(act)
        if not self._dead:
            self._close_step()
            if not act.calls or act.interrupted:
                self._end_turn("aborted" if act.interrupted else "completed")

    def _open_step(self) -> None:
        at, operations = len(self.events), self.reducer.plan(self.view)
        if self.reducer.mode == "commit":
            self._consult()
        self._step, self._step_open = self._step + 1, True
        self._log(StepStart(self._next, self._now, self._turn, self._step))
        if self.reducer.mode != "commit":
            self._in_force(Beat(at, at + 1, operations, overflow=False))
        if self.script.version >= 3 and self._header is not None and not self._sent:
            self._log(SystemMessage(self._next, self._now, (Text(self._header.system),)))
        for pieces in self._prompts:
            self._log(UserMessage(self._next, self._now, blocks(pieces)))
        self._prompts.clear()
        if self._header is not None:
            system = self._header.system if self.script.version < 3 else None
            self._log(RequestHeader(self._next, self._now, system, self._header.tools, '{"model":"m"}'))
            self._quiet = self._quiet and self._header == self._shown_header
            self._shown_header, self._header = self._header, None
        if self._window is not None:
            self._log(RequestContext(self._next, self._now, "p", "m", self._window.tokens))
            self._window = None

    def _close_step(self) -> None:
        self._step_open = False
        self._log(StepEnd(self._next, self._now, self._turn, self._step))

    def _send(self) -> None:
        messages = self.reducer.messages(self.view)
        self._sent.append(Sent(len(self.events), messages, tuple(self._since), self._quiet, self._same_process))
        self._since.clear()
        self._quiet = self._same_process = True

    def _overrun(self, acts: tuple[Rewrite | Compact, ...]) -> None:
        at, operations = len(self.events), self.reducer.plan(structs.replace(self.view, overflow=True))
        self._log(Overflow(self._next, self._now, self._turn, self._step))
        if self.reducer.mode == "commit":
            self._consult(overflow=True)
        else:
            self._in_force(Beat(at, at + 1, operations, overflow=True))
        for act in acts:
            self._replace(act)

    def _answer(self, act: Step) -> None:
        usage = self._provider.report(self._sent[-1].messages, act.aim, cut=self._cut)
        calls = () if act.interrupted else act.calls
        uses = tuple(ToolUse(call.id, call.tool, f'{{"file_path":"{place}.txt"}}') for place, call in enumerate(calls))
        content = (*blocks(act.said), *uses)
        cited = self._stream(content, "tool-calls" if calls else "stop")
        answer = AssistantMessage(
            self._next, self._now, content, self._turn, self._step, usage, act.interrupted, "m", sources=cited
        )
        self._log(answer)
        self._answers += 1
        self._waiting = {
            place: (call, self._start(place, call) if act.together else None) for place, call in enumerate(calls)
        }
        for number, place in enumerate(_permutation(len(calls), self.order)):
            if act.dies is not None and number >= act.dies:
                self._dead = True
                return
            call, started = self._waiting.pop(place)
            if not act.together:
                started = self._start(place, call)
            self._result(place, call, started, blocks(call.result), is_error=call.is_error or started is None)

    def _start(self, place: int, call: Call) -> int | None:
        if not call.started:
            return None
        event = ToolCall(
            self._next, self._now, self._turn, self._step, call.id, call.tool, f'{{"file_path":"{place}.txt"}}'
        )
        return self._log(event)

    def _result(
        self, place: int, call: Call, started: int | None, content: tuple[Block, ...], *, is_error: bool
    ) -> None:
        self._results += 1
        failure = '{"name":"AbortError","code":"ABORTED"}' if is_error else ""
        envelope = Envelope(f"r{self._answers}.{place}", f'{{"kind":"tool","callId":"{call.id}"}}', failure)
        sources = None if started is None else (started,)
        self._labels[self._next] = (self._answers, place)
        self._log(
            ToolResult(
                self._next,
                self._now,
                content,
                self._turn,
                self._step,
                call.id,
                is_error,
                envelope,
                sources=sources,
            )
        )

    def _stream(self, content: tuple[Block, ...], finish: str) -> tuple[int, ...] | None:
        """Log the chunks an answer came in, where the format logs them; gives their seqs."""
        if self.script.version >= 2:
            return None
        chunks = [chunk for index, block in enumerate(content) for chunk in _chunks(index, block)]
        chunks.append(Finish(FinishReason(finish)))
        first = self._next
        run = AssistantChunks(first, self._now, self._turn, self._step, tuple(chunks))
        self._log(run)
        return tuple(range(first, first + run.width))

    # --- what others do to the surface

    def _replace(self, act: Rewrite | Compact) -> None:
        if isinstance(act, Rewrite):
            new = others.rewritten(self.view, act, self._labels, self._now)
            if new is not None and new.replaces is not None:
                self._labels[new.seq] = self._labels[new.replaces[0]]
            written: tuple[Event, ...] = () if new is None else (new,)
        else:
            self._summaries += 1
            turn = self._turn if self._turn_open else None
            written = others.compacted(self.view, act, f"c{self._summaries}", turn, self._now)
        self._quiet = self._quiet and not written
        for event in written:
            self._log(event)

    def _rewind(self, at: int) -> None:
        self._end_turn("aborted")
        event = others.taken_back(self.view, at, self._now)
        if event is not None:
            self._quiet = False
            self._log(event)

    # --- what ends and starts again

    def _resume(self, *, fork: bool) -> None:
        """Close what stands open, as the harness does with a log it finds, and mark the end of what is inherited."""
        self._dead = False
        for place, (call, started) in self._waiting.items():
            self._result(place, call, started, (Text("Error: interrupted"),), is_error=True)
        self._waiting.clear()
        if self._step_open:
            self._close_step()
        self._end_turn("interrupted")
        self._log(EndSeed(self._next, self._now, fork))
        self._header = self._header or self._shown_header

    def _restart(self, *, from_dump: bool) -> None:
        if from_dump:
            self.view = load(self.reducer, dump(self.view))
        else:
            self.view = self.reducer.fold_all(self.reducer.start(), self.events)
        self.views[-1] = self.view
        self._same_process = False


def _chunks(index: int, block: Block) -> tuple[Chunk, ...]:
    if isinstance(block, ToolUse):
        delta = ToolCallDelta(index, block.arguments, block.name)
        return (BlockStart(index, "tool-call"), delta, BlockEnd(index, block))
    if isinstance(block, Text):
        return (BlockStart(index, "text"), TextDelta(index, block.text), BlockEnd(index, block))
    return (BlockStart(index, "other"), BlockEnd(index, block))


def committed(operation: Operation, seq: int, time: int) -> ToolResult:
    """The event that puts an operation into force: everything of the result before it, but the content."""
    cited = (operation.seq,)
    return structs.replace(
        operation.before, seq=seq, time=time, content=operation.content, replaces=cited * 2, sources=cited
    )


def play(script: Script, reducer: Reducer, order: int = 0, *, asks_early: bool = True) -> Run:
    """Play a whole script."""
    host = Host(reducer, script, order, asks_early=asks_early)
    for act in script.acts:
        host.play(act)
    return host.run()


def _permutation(length: int, number: int) -> tuple[int, ...]:
    every = list(permutations(range(length)))
    return every[number % len(every)]
