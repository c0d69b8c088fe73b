"""What a host that summarises may replace. refold itself never calls a model."""

from refold.events import AssistantMessage, SystemMessage, ToolResult, ToolUse
from refold.reducer import _surface as surface
from refold.reducer._view import View


def compaction_range(view: View, retain_tokens: int) -> tuple[int, int] | None:
    """Seqs of the first and last node that a summary may take the place of, None where there is nothing to take.

    The range begins at the head, behind system messages; it leaves at least `retain_tokens` (by the reducer's meter)
    at the tail and never parts a tool call from its result. Rule: DSH's compaction-basic; where that calls a surface
    corrupt because a result stands without its call, the range ends before it.
    """
    nodes = [node for _, node in surface.nodes(view)]
    while nodes and isinstance(nodes[0].message, SystemMessage):
        del nodes[0]
    kept, tokens = len(nodes), 0
    while kept > 0 and (tokens < retain_tokens or kept == len(nodes)):
        kept -= 1
        tokens += nodes[kept].tokens
    waiting, balanced = 0, 0
    for place, node in enumerate(nodes[:kept]):
        if isinstance(node.message, AssistantMessage):
            waiting += sum(type(block) is ToolUse for block in node.content)
        elif isinstance(node.message, ToolResult):
            waiting -= 1
        if waiting < 0:
            break
        if waiting == 0:
            balanced = place + 1
    return (nodes[0].seq, nodes[balanced - 1].seq) if balanced else None
