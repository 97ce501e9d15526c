// Builds the script, the style and the fonts of the page into crates/twig-page/dist.
// The same sources give the same bytes: CI builds them again and compares.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const [modules, target] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(modules, "package.json"));
const esbuild = require("esbuild");
const out = target ?? join(here, "../crates/twig-page/dist");
mkdirSync(out, { recursive: true });
for (const name of readdirSync(out)) rmSync(join(out, name));

const assets = [];
function add(name, ending, mime, bytes) {
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 10);
  const isText = mime.startsWith("text/");
  const file = `${name}.${ending}${isText ? ".gz" : ""}`;
  writeFileSync(join(out, file), isText ? gzipped(bytes) : bytes);
  const served = `${name}-${hash}.${ending}`;
  assets.push({ served, mime, isText, file });
  return served;
}

/** The header names no system and no time, so that every machine makes the same bytes. */
function gzipped(bytes) {
  const made = gzipSync(bytes, { level: 9 });
  made.fill(0, 4, 8);
  made[9] = 255;
  return made;
}

const font = (pack, file) => readFileSync(join(modules, "node_modules/@fontsource-variable", pack, "files", file));
const fonts = {
  "instrument-sans": font("instrument-sans", "instrument-sans-latin-wght-normal.woff2"),
  "geist-mono": font("geist-mono", "geist-mono-latin-wght-normal.woff2"),
};
let css = readFileSync(join(here, "page.css"), "utf8");
for (const [name, bytes] of Object.entries(fonts)) {
  css = css.replace(`./${name}.woff2`, `/page/assets/${add(name, "woff2", "font/woff2", bytes)}`);
}
const style = await esbuild.transform(css, { loader: "css", minify: true, target: "chrome123" });
const bundle = (entry) => esbuild.build({
  entryPoints: [join(here, entry)], bundle: true, minify: true, write: false, metafile: true, legalComments: "none",
  format: "esm", target: "es2022", nodePaths: [join(modules, "node_modules")],
});
const [script, editor] = [await bundle("main.ts"), await bundle("editor.ts")];
const styleName = add("page", "css", "text/css; charset=utf-8", Buffer.from(style.code));
const scriptName = add("page", "js", "text/javascript; charset=utf-8", Buffer.from(script.outputFiles[0].contents));
const editorName = add("editor", "js", "text/javascript; charset=utf-8", Buffer.from(editor.outputFiles[0].contents));

/** What a first view, and the first edit, may cost. */
const MOST = { "page.css.gz": 14, "page.js.gz": 16, "editor.js.gz": 135 };
for (const [name, most] of Object.entries(MOST)) {
  const { size } = statSync(join(out, name));
  console.log(`${name}: ${size} of ${most * 1024} bytes`);
  if (size > most * 1024) throw new Error(`${name} has ${size} bytes: ${most} KB is the most`);
}

/** The packages that are in a bundle, each with its licence. */
const bundled = new Set();
for (const input of [script, editor].flatMap((it) => Object.keys(it.metafile.inputs))) {
  const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (found) bundled.add(found[1]);
}
const licenseOf = (pack) => {
  const folder = join(modules, "node_modules", pack);
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  if (!file) throw new Error(`${pack} has no licence`);
  return `${pack}\n\n${readFileSync(join(folder, file), "utf8").trimEnd()}\n`;
};
const packs = [...Object.keys(fonts).map((pack) => `@fontsource-variable/${pack}`), ...[...bundled].sort()];
writeFileSync(join(out, "LICENSES"), packs.map(licenseOf).join("\n----\n\n"));
const rows = assets.map((it) =>
  `    (\n        "${it.served}",\n        "${it.mime}",\n        ${it.isText},\n        include_bytes!("${it.file}"),\n    ),\n`);
writeFileSync(join(out, "assets.rs"), `// Written by page/build.mjs.
pub(crate) const SCRIPT: &str = "/page/assets/${scriptName}";
pub(crate) const EDITOR: &str = "/page/assets/${editorName}";
pub(crate) const STYLE: &str = "/page/assets/${styleName}";
pub(crate) static ASSETS: [(&str, &str, bool, &[u8]); ${assets.length}] = [
${rows.join("")}];
`);
