# Sourced by the repository's scripts: words, time and progress for people. No side effects.

say() { printf '%s\n' "$*"; }
warn() { printf '%s\n' "$*" >&2; }
die() {
  warn "$*"
  exit 1
}

# A live line is drawn on terminals alone; elsewhere a plain line every kPlainSeconds.
kPlainSeconds=10
live_terminal() { [[ -t 1 && ${TERM:-dumb} != dumb ]]; }

live_last=0
terminal_columns() {
  local size
  size=$(stty size 2>/dev/null </dev/tty) || size='24 80'
  size=${size#* }
  ((size >= 40)) && echo "$size" || echo 80
}
# live LABEL PERCENT TEXT: redraws one line, or prints it where enough time has passed.
live() {
  local label=$1 percent=$2 text=$3 width=24 room
  if live_terminal; then
    local filled=$((percent * width / 100)) bar
    printf -v bar '%*s' "$filled" ''
    printf -v bar '%-*s' "$width" "${bar// /#}"
    room=$(($(terminal_columns) - ${#label} - width - 10))
    printf '\r\033[K%s [%s] %3d%% %.*s' "$label" "$bar" "$percent" $((room > 0 ? room : 0)) "$text"
  elif ((SECONDS - live_last >= kPlainSeconds)); then
    live_last=$SECONDS
    printf '%s %3d%% %s\n' "$label" "$percent" "$text"
  fi
}
live_done() { if live_terminal; then printf '\r\033[K'; fi; }

# 75 -> "1 m 15 s"
duration() {
  if (($1 < 60)); then printf '%d s' "$1"; else printf '%d m %02d s' $(($1 / 60)) $(($1 % 60)); fi
}

# Compilers at once: a core each, but no more than memory holds.
kMebibytesPerCompiler=1500
build_jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemTotal/ {print int($2 / 1024)}' /proc/meminfo)
  memory=$((memory / kMebibytesPerCompiler))
  ((memory < 1)) && memory=1
  echo $((cores < memory ? cores : memory))
}
