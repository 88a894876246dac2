// What can be known of the page without a browser: types, unit tests, layout, sizes, the lock file.
import {execFileSync} from "node:child_process";
import {existsSync, readFileSync, statSync} from "node:fs";

const kHomeBytes = 200_000;  // of script, gzip, for the first view
const kViewBytes = 320_000;  // for any view, with what it needs
const root = new URL("../../", import.meta.url).pathname;

function run(folder, program, ...args) {
  execFileSync(program, args, {cwd: root + folder, encoding: "utf8", stdio: "pipe"});
}

// Script of a chunk and of all that it imports, each once.
function bytesOf(manifest, names) {
  const seen = new Set();
  const add = (name) => {
    if (seen.has(name)) return;
    seen.add(name);
    (manifest[name].imports ?? []).forEach(add);
  };
  names.forEach(add);
  return [...seen].map((name) => statSync(`${root}build/web/dist/${manifest[name].file}.gz`).size)
    .reduce((a, b) => a + b, 0);
}

function sizes() {
  const manifest = JSON.parse(readFileSync(`${root}build/web/dist/manifest.json`, "utf8"));
  const home = bytesOf(manifest, ["index.html"]);
  console.log(`  home: ${Math.round(home / 1000)} KB of script, gzip`);
  if (home > kHomeBytes) throw new Error(`home takes ${home} bytes of script, ${kHomeBytes} at most`);
  for (const [name, chunk] of Object.entries(manifest)) {
    if (!chunk.isDynamicEntry) continue;
    const size = bytesOf(manifest, ["index.html", name]);
    if (size > kViewBytes) throw new Error(`${name} takes ${size} bytes of script, ${kViewBytes} at most`);
  }
}

// No address of whoever gave the packages; every one with its digest.
function lockFiles() {
  for (const path of ["web/package-lock.json", "web/gen/package-lock.json", "tests/page/lighthouse/package-lock.json"]) {
    const lock = JSON.parse(readFileSync(root + path, "utf8"));
    for (const [name, one] of Object.entries(lock.packages)) {
      if (name === "") continue;
      if (one.resolved) throw new Error(`${path}: ${name} has an address`);
      if (!one.integrity) throw new Error(`${path}: ${name} has no digest`);
    }
  }
}

// The types are those of the API's document.
function types() {
  if (!existsSync(`${root}web/gen/node_modules`))
    run("web/gen", "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error");
  const path = `${root}web/src/api/schema.d.ts`;
  const before = readFileSync(path, "utf8");
  run("web/gen", "npm", "run", "make");
  if (readFileSync(path, "utf8") !== before)
    throw new Error("web/src/api/schema.d.ts was not made from api/openapi.json; it is now: commit it");
}

export const checks = {
  "types hold": () => run("web", "npx", "--no-install", "tsc"),
  "unit tests": () => run("web", "npx", "--no-install", "vitest", "run"),
  "laid out by prettier": () => run("web", "npx", "--no-install", "prettier", "--check", "."),
  "types are the API's": types,
  "lock files": lockFiles,
  "sizes": sizes,
};
