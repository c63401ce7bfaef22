// Writes Discord's published API as JSON Schema: one body per operation, every definition it names.
// Usage: node write_discord.mjs FOLDER_WITH_NODE_MODULES OUTPUT

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [folder, output] = process.argv.slice(2);
const at = createRequire(join(folder, "package.json"));
const z = await import(at.resolve("zod/mini"));
const schemas = await import(join(folder, "node_modules/discord-api-spec/build/discord-api-spec.zod.js"));
const types = readFileSync(
  join(folder, "node_modules/discord-api-spec/build/discord-api-spec.ts"), "utf8");

const SUFFIX = "Schema";
const registry = z.registry();
const known = new Set();
for (const [name, schema] of Object.entries(schemas)) {
  if (!name.endsWith(SUFFIX)) continue;
  known.add(name.slice(0, -SUFFIX.length));
  registry.add(schema, { id: name.slice(0, -SUFFIX.length) });
}
const written = z.toJSONSchema(registry, {
  io: "input", unrepresentable: "any", uri: (id) => `#/$defs/${id}`,
});

// A field that the document does not name is a mistake of ours, so every object is closed.
function close(node) {
  if (Array.isArray(node)) return node.map(close);
  if (node === null || typeof node !== "object") return node;
  const { $id, $schema, ...rest } = node;
  const closed = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, close(value)]));
  if (closed.type === "object" && closed.properties && closed.additionalProperties === undefined) {
    closed.additionalProperties = false;
  }
  return closed;
}

const $defs = Object.fromEntries(
  Object.entries(written.schemas).filter(([name]) => name !== "__shared").map(
    ([name, schema]) => [name, close(schema)]));

// The expressions of the type file are names, lists of names, and null.
function bodyOf(expression) {
  const choices = expression.split("|").map((piece) => piece.trim()).filter(Boolean);
  if (choices.length === 1 && choices[0] === "undefined") return null;
  return { anyOf: choices.map((choice) => {
    if (choice === "null") return { type: "null" };
    const name = choice.replace(/\[\]$/, "");
    if (!known.has(name)) throw new Error(`unread request body: ${choice}`);
    const one = { $ref: `#/$defs/${name}` };
    return choice.endsWith("[]") ? { type: "array", items: one } : one;
  }) };
}

const operations = {};
const unread = {};
let path = "";
const block = types.slice(types.indexOf("export interface Paths {"));
for (const found of block.matchAll(
  /^ {2}"(\/[^"]*)": \{$|^ {4}(get|put|post|patch|delete)\??: \{\n([\s\S]*?)^ {4}\};$/gm)) {
  if (found[1]) { path = found[1]; continue; }
  const address = `${found[2].toUpperCase()} ${path}`;
  const query = /^ {8}query\??: \{\n([\s\S]*?)^ {8}\};$/m.exec(found[3]);
  const body = /^ {6}requestBody\??:([\s\S]*?);\n {6}responses/m.exec(found[3]);
  const names = query ? [...query[1].matchAll(/^ {10}(\w+)\??:/gm)].map((one) => one[1]) : [];
  try {
    operations[address] = { query: names, body: bodyOf(body ? body[1] : "undefined") };
  } catch (error) {
    unread[address] = String(error.message);
  }
}
writeFileSync(output, JSON.stringify({ operations, unread, $defs }));
