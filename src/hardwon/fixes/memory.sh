#!/bin/sh
# The commands of fix history, by Hardwon (hardwon drop-in remove puts back what was here before):
#   ./memory.sh stats | model NAME | export [FILE] | restore FILE | recent [DAYS] | successful | patterns | cleanup [DAYS] | help
# They work on the folder that HARDWON_AIMEMORY names, else on AIMemory here, beside this file, or above it.
# docs/reference/cli.md tells what each prints. Copy or link this file to where you want it.

[ $# -gt 0 ] || set -- help
if [ -z "$HARDWON_AIMEMORY" ] && [ ! -e AIMemory ]; then
    case $0 in */*) here=${0%/*} ;; *) here=. ;; esac
    for folder in "$here/AIMemory" "$here/../AIMemory"; do
        if [ -e "$folder" ]; then
            HARDWON_AIMEMORY=$folder
            export HARDWON_AIMEMORY
            break
        fi
    done
fi
# `hardwon drop-in install` names the Python here that it ran with: cron knows no PATH.
python=
if [ ! -x "$python" ]; then
    if command -v hardwon >/dev/null 2>&1; then
        exec hardwon fix-history "$@"
    fi
    python=python3
fi
# -P: what lies in the current folder is not taken for a module.
if "$python" -P -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("hardwon") is None)' 2>/dev/null; then
    exec "$python" -P -m hardwon.surfaces.cli.main fix-history "$@"
fi
echo "memory.sh: there is no hardwon on the PATH, and no python3 that has it: pip install . in a checkout of Hardwon" >&2
exit 127
