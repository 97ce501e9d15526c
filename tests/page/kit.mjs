// What the browser tests share: a home with libraries and a project, a server, Chromium, and checks.
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

const here = import.meta.dirname;
const require = createRequire(join(process.env.NODE_MODULES ?? here, "x.js"));
const { chromium } = require("playwright-core");
export const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const twig = resolve(process.argv[2]);
export const home = mkdtempSync(join(tmpdir(), "twig-page-"));
export const env = { PATH: process.env.PATH, HOME: home };
/** A host that is no secure context, and leads here. */
export const plainHost = "page.test";

const failures = [];
export function check(is, what) {
  console.log(`${is ? "ok  " : "FAIL"} ${what}`);
  if (!is) failures.push(what);
}
export const failed = () => failures;

const libraries = join(home, ".local/share/twig/prompts");
/** Writes files from a text such as `library.txt`. */
export function library(text) {
  for (const part of text.split(/^\/\/- /m).slice(1)) {
    const [name, ...lines] = part.split("\n");
    const path = join(libraries, name);
    mkdirSync(dirname(path), { recursive: true });
    const hidden = { "\\u202e": "\u202e", "\\u200b": "\u200b" };
    writeFileSync(path, lines.join("\n").replace(/\\u20(2e|0b)/g, (it) => hidden[it]));
    if (name.includes("/bin/")) chmodSync(path, 0o755);
  }
}
export const fileOf = (name) => join(libraries, name);

const running = new Set();
/** Runs Twig to its end; gives its output. */
export function run(args) {
  return new Promise((done) => {
    const child = spawn(twig, args, { env, cwd: home, stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    child.stdout.on("data", (data) => { out += data; });
    child.stderr.on("data", (data) => { if (process.env.PAGE_VERBOSE) process.stderr.write(data); });
    child.on("close", () => done(out));
  });
}

/** Runs a command line that the page gave, with this Twig. */
export function shell(command) {
  return new Promise((done) => {
    const child = spawn("sh", ["-c", command.replace(/^twig/, `'${twig}'`)], { env, cwd: home });
    let out = "";
    child.stdout.on("data", (data) => { out += data; });
    child.on("close", () => done(out));
  });
}

const freePort = () => new Promise((done) => {
  const probe = createServer();
  probe.listen(0, "127.0.0.1", () => { const { port } = probe.address(); probe.close(() => done(port)); });
});
const port = await freePort();
export const origin = `http://127.0.0.1:${port}`;

let server;
/** Starts the server, again at the same address. */
export async function startServer(args = []) {
  server = spawn(twig, ["serve", "--http", `127.0.0.1:${port}`, "--allow-host", plainHost, ...args], { env, cwd: home, stdio: ["ignore", "ignore", "pipe"] });
  running.add(server);
  let said = "";
  server.stderr.on("data", (data) => { said += data; });
  for (let tries = 0; tries < 600; tries += 1) {
    if (await fetch(origin).then((it) => it.ok, () => false)) return;
    if (server.exitCode !== null) throw new Error(`the server ended: ${said}`);
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error("the server does not answer");
}
export function stopServer() {
  return new Promise((done) => { server.on("exit", done); server.kill("SIGTERM"); });
}

/** The number of its process. */
export const serverId = () => server.pid;

/** A link of `twig page` to the server that runs. */
export const link = async () => (await run(["page", "--no-open"])).trim();

/** A client on standard input and output, such as an agent. */
export function agent(name, project) {
  const child = spawn(twig, ["serve", "-p", project], { env, cwd: home, stdio: ["pipe", "pipe", "ignore"] });
  running.add(child);
  const waiting = new Map();
  let text = "";
  child.stdout.on("data", (data) => {
    text += data;
    const lines = text.split("\n");
    text = lines.pop();
    for (const line of lines) { const message = JSON.parse(line); waiting.get(message.id)?.(message.result ?? message.error); }
  });
  let id = 0;
  const ask = (method, params) => new Promise((done) => {
    id += 1;
    waiting.set(id, done);
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  });
  const started = ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name, version: "1" } })
    .then(() => { child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`); });
  return {
    call: async (tool, args) => { await started; return ask("tools/call", { name: tool, arguments: args }); },
    end: () => child.kill(),
  };
}

export const reports = [];
export const hosts = new Set();
let browser;
export async function visitor(options = {}) {
  browser ??= await chromium.launch({
    executablePath: "/usr/bin/chromium", headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", `--host-resolver-rules=MAP ${plainHost} 127.0.0.1`],
  });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  context.setDefaultTimeout(20_000);
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin });
  await context.exposeFunction("reported", (text) => reports.push(text));
  await context.addInitScript(() => document.addEventListener("securitypolicyviolation",
    (event) => window.reported(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`)));
  const newTab = async () => {
    const tab = await context.newPage();
    tab.on("console", (message) => { if (/Content Security|TrustedHTML/.test(message.text())) reports.push(message.text()); });
    tab.on("pageerror", (error) => reports.push(`error: ${error}`));
    tab.on("dialog", (dialog) => { reports.push("a dialog"); void dialog.dismiss(); });
    tab.on("request", (request) => { if (/^http/.test(request.url())) hosts.add(new URL(request.url()).origin); });
    return tab;
  };
  return { context, newTab, tab: await newTab() };
}

/** A visitor who came in. */
export async function entered(options = {}) {
  const made = await visitor(options);
  await made.tab.goto(await link());
  await made.tab.locator("a.row").first().waitFor();
  return made;
}

// A row that is not drawn yet has a text, and no inner text.
export const names = (tab) => tab.locator("a.row .name").allTextContents();
export const focused = (tab) => tab.evaluate(() => document.activeElement?.textContent ?? "");
export const said = (tab) => tab.locator("#said").textContent();
export const settled = (tab) => tab.locator("#live[data-state=on]").waitFor({ state: "attached" });
/** Waits until something is so. */
export async function until(what, is, times = 200) {
  for (let at = 0; at < times; at += 1) {
    if (await is()) { check(true, what); return; }
    await new Promise((done) => setTimeout(done, 50));
  }
  check(false, what);
}

export async function end() {
  await browser?.close();
  for (const child of running) child.kill();
  rmSync(home, { recursive: true, force: true });
}

/** The home that all themes start from. */
export async function fill() {
  library(readFileSync(join(here, "library.txt"), "utf8"));
  writeFileSync(fileOf("pictures/docs/leaf.png"), Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==", "base64"));
  await run(["library", "trust", "programs", "--yes"]);
  for (const folder of [".claude", ".cursor/extensions", ".config/Code/User", ".gemini/tmp"]) mkdirSync(join(home, folder), { recursive: true });
  await run(["connect", "cursor"]);
  writeFileSync(join(home, ".gemini/settings.json"), JSON.stringify({ mcpServers: { twig: { command: "/gone/twig", args: ["serve"] } } }));
  await run(["project", "create", "garden"]);
  const gardener = agent("<img src=x onerror=window.hacked=20>", "garden");
  await gardener.call("create_prompt", { name: "water", content: "Water the beds.\nTwice a week.\nUse the old can.\n", description: "What to water today" });
  await gardener.call("update_prompt", { name: "water", content: "Water the raised beds.\nTwice a week.\nUse the old can.\n", description: "What to water today" });
  gardener.end();
}
