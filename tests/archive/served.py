import sys, types
from refold.events._dsh_read import read_dsh
m=types.ModuleType("refold.files"); m.open_log=lambda s, max_line: read_dsh([open(s,'rb').read()], name=s, max_line=max_line)
import refold.events
refold.events.read_dsh=read_dsh
from refold.events._log import Log
refold.events.Log=Log
sys.modules["refold.files"]=m
n=types.ModuleType("refold.cli._main"); n.main=None; sys.modules["refold.cli._main"]=n
from refold.cli.recall import recall

if __name__ == "__main__":
    recall.main(sys.argv[1:], prog_name="refold recall")
