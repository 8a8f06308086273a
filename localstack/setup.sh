#!/bin/sh
# Installs the emulator of requirements.txt into a virtual environment under .cache, unless it is there, and prints the
# environment's directory. Exits with 3 where this machine has no Python that can make one.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# The name says what is in it, so that an environment of other requirements is left alone.
version=$(sed -n 's/^ministack==//p' "$root/localstack/requirements.txt")-$(cksum <"$root/localstack/requirements.txt" | cut -d' ' -f1)
dir=$root/.cache/ministack-$version
[ ! -x "$dir/bin/python" ] || { echo "$dir"; exit 0; }

command -v python3 >/dev/null || { echo "python3 is not installed" >&2; exit 3; }
python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
	{ echo "$(python3 --version) cannot make the environment: it takes 3.10 or newer, with venv (Debian: python3-venv)" >&2; exit 3; }

mkdir -p "$root/.cache"
# Several test binaries may come here at once. One of them does the work, where there is a lock to take.
if [ -z "${SETUP_LOCKED:-}" ] && command -v flock >/dev/null; then
	SETUP_LOCKED=1 exec flock "$root/.cache/ministack.lock" sh "$0"
fi

# It is made aside and then moved, so that a directory with this name is always complete.
new=$(mktemp -d "$root/.cache/ministack.XXXXXX")
trap 'rm -rf "$new"' EXIT
python3 -m venv "$new/env" >&2
"$new/env/bin/python" -m pip install --quiet --disable-pip-version-check --no-input -r "$root/localstack/requirements.txt" >&2
[ -e "$dir" ] || mv "$new/env" "$dir"
echo "$dir"
