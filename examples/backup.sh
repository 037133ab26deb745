#!/bin/sh
# Copies a memory into a folder, checks the copy, and keeps the newest ones. Others may use the memory meanwhile.
#
#   backup.sh FOLDER [KEEP]      KEEP: how many copies stay, 7 where nothing is said
#
# HARDWON_MEMORY names the memory. From cron, every night at three, two weeks of copies:
#
#   0 3 * * *  HARDWON_MEMORY="$HOME/agent_brain" PATH="$HOME/.local/bin:$PATH" /path/to/backup.sh /backup/hardwon 14
#
# To put one back: hardwon care restore /backup/hardwon/memory-20260115T030000Z.db

set -eu
LC_ALL=C # so that names sort by their time
export LC_ALL
umask 077 # what a memory holds is not for everybody

folder=${1:-}
keep=${2-7}
case $keep in
'' | 0* | *[!0-9]*) folder= ;;
esac
if [ -z "$folder" ]; then
    echo "usage: backup.sh FOLDER [KEEP], KEEP being 1 or more" >&2
    exit 2
fi

name=memory-$(date -u +%Y%m%dT%H%M%SZ).db
mkdir -p -- "$folder"
hardwon care backup "$folder/$name"

cd -- "$folder"
if command -v sha256sum >/dev/null; then
    sha256sum --check --quiet "$name.sha256"
else
    shasum -a 256 --check "$name.sha256" >/dev/null
fi

# Old copies go only now that the new one is known to be good: any failure above has ended this.
set -- memory-[0-9]*T[0-9]*Z.db
while [ "$#" -gt "$keep" ]; do
    rm -f -- "$1" "$1.sha256"
    shift
done
