#!/usr/bin/env bash
# Installs the emulators from PyPI, once for each state of the requirements, and prints the folder they are in:
# FOLDER/ec2/bin/python runs ec2.py, FOLDER/messages/bin/python runs messages.py. Half a minute, 450 MB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

key="$(cat ec2.txt messages.txt | sha256sum | cut -c1-16)"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/journeyman/emulators"
folder="$cache/$key"
mkdir -p "$cache"

# Two test runs that start at once: the second waits, then finds everything there.
exec 9>"$cache/.lock"
if command -v flock >/dev/null; then flock 9; fi
if [[ -e "$folder/complete" ]]; then
  echo "$folder"
  exit
fi

python="${PYTHON:-python3}"
if ! "$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "no Python 3.11 or newer with venv: the emulators can't be installed" >&2
  exit 3
fi

rm -rf "$folder"
for name in ec2 messages; do
  "$python" -m venv "$folder/$name" >&2
  "$folder/$name/bin/pip" install --quiet --disable-pip-version-check --requirement "$name.txt" >&2
done
touch "$folder/complete"
echo "$folder"
