#!/usr/bin/env bash
# Run a command that can write only below one folder of the tree and in a /dev/shm of its own.
#
#     tools/confined.sh FOLDER COMMAND...
#
# For `make mutants`: wrong code that writes, moves and removes files must not reach those of the
# machine (one such change, run as root, replaced /dev/null).  Linux namespaces do it.  Where there
# are none an ordinary user goes on without, and root is refused.
set -euo pipefail
folder=$(realpath -m "$1")
shift
mkdir -p "$folder/tmp"
export TMPDIR=$folder/tmp

namespaces=(unshare --mount --pid --fork --mount-proc)
[ "$(id -u)" = 0 ] || namespaces+=(--map-root-user)
if ! "${namespaces[@]}" true 2>/dev/null; then
  [ "$(id -u)" != 0 ] || { echo "no namespaces here: do not run this as root" >&2; exit 2; }
  exec "$@"
fi
exec "${namespaces[@]}" bash -c '
  set -e
  mount --make-rprivate /
  mount --bind "$0" "$0"
  mount --bind /dev /dev
  mount -t tmpfs none /dev/shm
  while read -r _ _ _ _ place _; do
    case $place in
      "$0" | /dev/shm | /proc*) ;;
      *) mount -o remount,bind,ro "$place" 2>/dev/null || true ;;
    esac
  done < <(cat /proc/self/mountinfo)
  exec "$@"
' "$folder" "$@"
