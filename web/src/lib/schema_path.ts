// Where in a job file the cursor stands, and what its JSON Schema allows there. Pure.

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  type?: string | string[];
  description?: string;
  default?: unknown;
}

const indent = (line: string) => line.length - line.trimStart().length;

// The names of the maps around line `at` (from 0) at a column, outermost first; "[]" is a list.
export function pathAt(lines: readonly string[], at: number, column: number): string[] {
  const path: string[] = [];
  let least = column;
  for (let i = at - 1; i >= 0 && least > 0; i -= 1) {
    const line = lines[i] ?? "";
    if (line.trim() === "" || line.trimStart().startsWith("#")) continue;
    const depth = indent(line);
    if (depth >= least) continue;
    const item = /^(\s*)-\s+/.exec(line);
    const key = /^\s*(?:-\s+)?([^\s:#][^:]*):/.exec(line);
    if (item && item[0].length <= least && item[0].length > depth) path.unshift("[]");
    if (key?.[1] && (!item || item[0].length < least)) path.unshift(key[1].trim());
    least = depth;
  }
  return path;
}

// Inside {...} on one line: the key whose braces are open at the column.
export function flowKey(line: string): string | null {
  let depth = 0;
  for (let i = line.length - 1; i >= 0; i -= 1) {
    if (line[i] === "}") depth += 1;
    if (line[i] === "{" && depth-- === 0)
      return /([^\s,:{]+):\s*$/.exec(line.slice(0, i))?.[1] ?? null;
  }
  return null;
}

export function resolve(schema: Schema | undefined, root: Schema): Schema[] {
  if (!schema) return [];
  if (schema.$ref) {
    const name = schema.$ref.split("/").pop() ?? "";
    return resolve(root.$defs?.[name], root).map((one) => ({
      ...one,
      description: schema.description ?? one.description,
    }));
  }
  const many = schema.anyOf ?? schema.oneOf;
  if (!many) return [schema];
  // Beside its properties a schema may say which of them go together.
  const own = schema.properties ? [schema] : [];
  return [...own, ...many.flatMap((one) => resolve(one, root))];
}

// What may stand at a path: every form it may have.
export function schemasAt(root: Schema, path: readonly string[]): Schema[] {
  let found = resolve(root, root);
  for (const name of path) {
    found = found.flatMap((schema) => {
      if (name === "[]") return resolve(schema.items, root);
      const inner = schema.properties?.[name];
      if (inner) return resolve(inner, root);
      return typeof schema.additionalProperties === "object"
        ? resolve(schema.additionalProperties, root)
        : [];
    });
  }
  return found;
}

export function keysAt(root: Schema, path: readonly string[]): {name: string; doc: string}[] {
  const made = new Map<string, string>();
  for (const schema of schemasAt(root, path)) {
    for (const [name, one] of Object.entries(schema.properties ?? {}))
      made.set(name, one.description ?? resolve(one, root)[0]?.description ?? "");
  }
  return [...made].map(([name, doc]) => ({name, doc}));
}

export function valuesAt(root: Schema, path: readonly string[]): string[] {
  return schemasAt(root, path).flatMap((schema) =>
    schema.enum
      ? schema.enum.map(String)
      : schema.const !== undefined
        ? [String(schema.const)]
        : schema.type === "boolean"
          ? ["true", "false"]
          : [],
  );
}
