// Finds files of src that import each other in a circle, types included, and fails with the first one.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const SRC = join(import.meta.dirname ?? dirname(new URL(import.meta.url).pathname), "src");
const files = readdirSync(SRC, { recursive: true }).filter((name) => /\.tsx?$/.test(name));
const known = new Set(files);

function importsOf(file) {
  const imports = [];
  for (const [, path] of readFileSync(join(SRC, file), "utf8").matchAll(/(?:from|import)\s+"(\.[^"]+)"/g)) {
    const name = relative(SRC, join(SRC, dirname(file), path));
    const found = [name, `${name}.ts`, `${name}.tsx`].find((each) => known.has(each));
    if (found) imports.push(found);
  }
  return imports;
}

const done = new Set();
function walk(file, path) {
  if (path.includes(file)) {
    console.error(`a circle of imports: ${[...path.slice(path.indexOf(file)), file].join(" -> ")}`);
    process.exit(1);
  }
  if (done.has(file)) return;
  for (const next of importsOf(file)) walk(next, [...path, file]);
  done.add(file);
}
for (const file of files) walk(file, []);
