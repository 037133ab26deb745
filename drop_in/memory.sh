#!/bin/sh
# The commands of fix history, on the folder AIMemory here (or the one that HARDWON_AIMEMORY names):
#   ./memory.sh stats | model NAME | export [FILE] | recent [DAYS] | successful | patterns | cleanup [DAYS]
# docs/reference/cli.md tells what each prints. Copy or link this file to where you want it.

if command -v hardwon >/dev/null 2>&1; then
    exec hardwon fix-history "$@"
fi
# -P: what lies in the current folder is not taken for a module.
if python3 -P -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("hardwon") is None)' 2>/dev/null; then
    exec python3 -P -m hardwon.surfaces.cli.main fix-history "$@"
fi
echo "memory.sh: there is no hardwon on the PATH, and no python3 that has it: pip install hardwon" >&2
exit 127
