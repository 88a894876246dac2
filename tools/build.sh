#!/usr/bin/env bash
# tools/build.sh PRESET [TARGET...]: configures and builds with a live line; errors are shown whole.
#
# The release preset leaves the program at build/hearth. The full log is build/PRESET/build.log.
# KEEP_GOING=1 shows every error, not the first alone.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/shell.sh

preset=${1:?usage: tools/build.sh PRESET [TARGET...]}
shift
tools/build_page.sh
folder=build/$preset
mkdir -p "$folder"
log=$folder/build.log
started=$SECONDS

# A folder configured somewhere else (a copied tree) would build the other one.
if [[ -f $folder/CMakeCache.txt ]] &&
  ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$folder/CMakeCache.txt"; then
  rm -rf "$folder"
  mkdir -p "$folder"
fi
if [[ ! -f $folder/build.ninja ]] || [[ CMakePresets.json -nt $folder/build.ninja ]]; then
  cmake --preset "$preset" >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    die "cmake --preset $preset failed (above)"
  }
fi

set +e
: >"$log"
NINJA_STATUS='[%f/%t] ' ninja -C "$folder" -j"$(build_jobs)" ${KEEP_GOING:+-k 0} "$@" 2>&1 |
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$log"
    case $line in
      \[[0-9]*/[0-9]*\]\ *)
        counts=${line%%]*}
        counts=${counts#[}
        live "build $preset" $((${counts%/*} * 100 / ${counts#*/})) "$counts ${line##*/}"
        ;;
      ninja:*) ;;
      *)
        live_done
        printf '%s\n' "$line" >&2
        ;;
    esac
  done
status=${PIPESTATUS[0]}
set -e
live_done
((status == 0)) || die "The build of $preset failed; the whole log is $log"
if [[ $preset == release && -x $folder/src/app/hearth ]]; then
  ln -sfn release/src/app/hearth build/hearth
fi
say "Built $preset in $(duration $((SECONDS - started)))"
