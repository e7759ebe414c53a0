// Builds the page: `node build.mjs FOLDER` writes index.html, page.js and page.css there. The same sources
// and the same package-lock.json make the same bytes.
import { build } from "esbuild";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import openapi, { astToString } from "openapi-typescript";

const here = new URL(".", import.meta.url);
if (!process.argv[2]) {
  console.error("usage: node build.mjs FOLDER");
  process.exit(2);
}
const folder = resolve(process.argv[2]); // esbuild would look for it beside the sources

// The types of the API are those of the document that the server has of it.
const document = JSON.parse(await readFile(new URL("../../server/serve/gateway/openapi.json", here), "utf8"));
await writeFile(new URL("src/api/schema.d.ts", here), astToString(await openapi(document)));

await mkdir(folder, { recursive: true });
await build({
  absWorkingDir: new URL(".", here).pathname,
  entryPoints: { page: "src/main.tsx" },
  outdir: folder,
  bundle: true,
  minify: true,
  charset: "utf8",
  legalComments: "none",
  format: "iife",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
});
await copyFile(new URL("src/index.html", here), `${folder}/index.html`);
