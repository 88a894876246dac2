#!/usr/bin/env bash
# tools/install.sh GROUP...: installs what the groups of tools/packages.txt need and is not there.
#
# Touches nothing when all is there. Uses sudo when not root; without root or a usable sudo it names
# what is missing and the one line that installs it, and exits 1.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/shell.sh
export LC_ALL=C # sort and comm must agree

kLockSeconds=600 # how long another package manager may hold the lock

(($#)) || { warn "usage: tools/install.sh GROUP...; groups: $(awk '/^[a-z]/ {print $1}' tools/packages.txt | sort -u | xargs)"; exit 2; }
command -v dpkg-query >/dev/null ||
  die "This needs Debian 12 (apt and dpkg). Elsewhere, install what tools/packages.txt lists."

# wanted HOW: "PACKAGE PROGRAM" of the groups asked for
wanted() {
  local how=$1
  shift
  awk -v how="$how" -v groups=" $* " \
    '/^[a-z]/ && index(groups, " " $1 " ") && $2 == how {print $3, $4}' tools/packages.txt | sort -u
}
for group in "$@"; do
  grep -q "^$group " tools/packages.txt || { warn "install: no group '$group' in tools/packages.txt"; exit 2; }
done

mapfile -t packages < <(wanted install "$@" | cut -d ' ' -f 1)
mapfile -t missing < <(
  { dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true; } |
    awk '$2 == "installed" {print $1}' | sort -u |
    comm -13 - <(printf '%s\n' "${packages[@]}") | sed '/^$/d'
)
unpack=()
while read -r package program; do
  [[ -z $package ]] || command -v "${program##*/}" >/dev/null ||
    [[ -x build/tools/bin/${program##*/} ]] || unpack+=("$package $program")
done < <(wanted unpack "$@")
((${#missing[@]} + ${#unpack[@]})) || exit 0

place=$(mktemp -d "${TMPDIR:-/tmp}/hearth-install.XXXXXX")
trap 'rm -rf "$place"' EXIT
log=$place/log

# Root by itself, by sudo without a prompt, or by sudo that can ask on this terminal.
root=()
if ((EUID != 0)); then
  if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    root=(sudo -n)
  elif command -v sudo >/dev/null && [[ -t 0 && -t 2 ]] && ((${#missing[@]})); then
    say "Installing ${#missing[@]} Debian packages needs sudo."
    sudo -v && root=(sudo)
  fi
fi
may_install() { ((EUID == 0 || ${#root[@]})); }

if ((${#missing[@]})) && ! may_install; then
  warn "Missing Debian packages: ${missing[*]}"
  warn "There is no root here and no usable sudo. This line, run as root, installs them:"
  warn "apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  exit 1
fi

# Runs apt-get, waiting while another package manager holds a lock.
apt() {
  local give_up=$((SECONDS + kLockSeconds)) told=
  until "${root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get -y \
    -o DPkg::Lock::Timeout=$kLockSeconds -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 "$@" >"$log" 2>&1; do
    grep -qE 'Could not get lock|Unable to (lock|acquire)' "$log" || return 1
    ((SECONDS < give_up)) || return 1
    [[ -n $told ]] || { say "Another package manager is at work; waiting for it."; told=yes; }
    sleep 2
  done
}
failed() {
  tail -n 20 "$log" >&2
  die "apt-get $1 failed (above). Mend that, or install these yourself: ${missing[*]}"
}

lists_there() { compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; }
if may_install; then
  say "Looking up Debian's package lists"
  apt update || failed update
elif ! lists_there; then
  warn "Not taken (no package lists and no root to fetch them): ${unpack[*]}"
  exit 0
fi

if ((${#missing[@]})); then
  started=$SECONDS
  size=$("${root[@]}" env LC_ALL=C apt-get install --no-install-recommends --assume-no "${missing[@]}" 2>/dev/null |
    sed -nE 's/^Need to get ([0-9.,]+ .?B).*/\1/p') || true
  say "Installing ${#missing[@]} Debian packages${size:+ and what they need, $size}: ${missing[*]}"
  # The status lines of apt: dlstatus:N:PERCENT:TEXT while fetching, pmstatus:PACKAGE:PERCENT:TEXT.
  set +e
  # sudo closes other descriptors, so the inner shell makes the one for the status lines.
  "${root[@]}" bash -c 'exec 3>&1 >>"$0" 2>&1; exec env DEBIAN_FRONTEND=noninteractive "$@"' "$log" \
    LC_ALL=C.UTF-8 apt-get install -y --no-install-recommends -o APT::Status-Fd=3 \
    -o DPkg::Lock::Timeout=$kLockSeconds -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 \
    "${missing[@]}" </dev/null |
    while IFS=: read -r kind _ percent text; do
      [[ $kind == dlstatus ]] && step=fetching || step=installing
      [[ $percent == *[0-9]* ]] && live "  $step" "${percent%.*}" "$text"
    done
  status=${PIPESTATUS[0]}
  set -e
  live_done
  ((status == 0)) || failed install
  say "Installed in $(duration $((SECONDS - started)))"
  mkdir -p build
  printf '%s\n' "${missing[@]}" >>build/installed-packages # for ./quickstart --uninstall to name
fi

for pair in "${unpack[@]}"; do
  read -r package program <<<"$pair"
  mkdir "$place/$package"
  if (cd "$place/$package" && apt-get download -qq "$package" && dpkg-deb -x ./*.deb .) >"$log" 2>&1; then
    mkdir -p build/tools/bin
    cp "$place/$package/$program" build/tools/bin/
    say "Took ${program##*/} out of Debian's package $package, into build/tools/bin"
  else
    warn "Could not take ${program##*/} out of Debian's package $package: $(tail -n 1 "$log")"
  fi
done
