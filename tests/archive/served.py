"""`python served.py recall ...`: the command alone, as a process of its own that an MCP client can start."""

import sys

from refold.cli.recall import recall

if __name__ == "__main__":
    recall.main(sys.argv[1:], prog_name="refold recall")
