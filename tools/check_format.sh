#!/usr/bin/env bash
# tools/check_format.sh: fails where clang-format would change a C++ file; ./dev format mends it.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v clang-format-19 >/dev/null || {
  echo "clang-format-19 is missing; tools/install.sh test brings it" >&2
  exit 1
}
git ls-files -co --exclude-standard -z '*.cc' '*.h' |
  xargs -0 -r clang-format-19 --dry-run -Werror || {
  echo "format: ./dev format lays these files out" >&2
  exit 1
}
echo "format: every file is laid out"
