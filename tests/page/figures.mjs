// Measures the page of a server with 10,000 prompts against the goals of docs/benchmarks.md.
// Usage: node figures.mjs TWIG; the modules are in NODE_MODULES. The machine should be idle.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { loadavg } from "node:os";
import { end, entered, fileOf, library, origin, serverId, startServer } from "./kit.mjs";

const PROMPTS = Number(process.env.PAGE_PROMPTS ?? 10_000);
const LIBRARIES = 20;
const WORDS = ["review", "summary", "harbour", "timber", "release", "garden", "letter", "budget", "kitchen", "meeting"];
const rows = [];
const row = (what, measured, goal, is) => rows.push([what, measured, goal, is]);
const sorted = (numbers) => [...numbers].sort((one, two) => one - two);
const at = (numbers, share) => sorted(numbers)[Math.min(numbers.length - 1, Math.floor(numbers.length * share))];
const median = (numbers) => at(numbers, 0.5);
const ms = (number) => `${number.toFixed(number < 10 ? 1 : 0)} ms`;

function fill() {
  for (let of = 0; of < LIBRARIES; of += 1) {
    const name = `lib${String(of).padStart(2, "0")}`;
    const numbers = Array.from({ length: PROMPTS / LIBRARIES }, (_, at) => at);
    const word = (at) => WORDS[(of + at) % WORDS.length];
    library(`//- ${name}/twig.toml\n[library]\ndescription = "Library ${of}"\n\n${numbers.map((at) =>
      `[prompts.${word(at)}-${at}]\ndescription = "Number ${at} of ${name}, about a ${word(at + 3)}"\n\n[[prompts.${word(at)}-${at}.arguments]]\nname = "text"\n`).join("\n")}`
      + numbers.map((at) => `//- ${name}/prompts/${word(at)}-${at}.md\nWrite about the ${word(at + 5)}: {{ text }}\n`).join(""));
  }
}

let long = 0;
let shift = 0;
/** Keeps what a page was seen to do, before it goes. */
async function note(tab) {
  const seen = await tab.evaluate(() => window.seen);
  long = Math.max(long, seen.long);
  shift = Math.max(shift, seen.shift);
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let id = 0;
function call(method, params) {
  id += 1;
  const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": { name: "figures", version: "1" } } } });
  const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream", "Content-Length": Buffer.byteLength(body),
    "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, ...(params.name ? { "Mcp-Name": params.name } : {}) };
  return new Promise((done, failed) => {
    const sent = request(`${origin}/mcp`, { method: "POST", headers, agent }, (answer) => {
      let text = "";
      answer.on("data", (data) => { text += data; });
      answer.on("end", () => (answer.statusCode === 200 && text.includes("messages") ? done() : failed(new Error(`${answer.statusCode} ${text.slice(0, 300)}`))));
    });
    sent.on("error", failed);
    sent.end(body);
  });
}
async function gets(count) {
  const times = [];
  for (let at = 0; at < count; at += 1) {
    const begun = performance.now();
    await call("prompts/get", { name: "lib03:timber-0", arguments: { text: `${at}` } });
    times.push(performance.now() - begun);
  }
  return times;
}
const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${serverId()}/status`, "utf8"))[1]) / 1024;

try {
  fill();
  await startServer();
  await gets(200);
  const started = memory();
  // What saves cost a server without a page, which has two catalogs for a moment each time.
  for (let times = 0; times < 8; times += 1) {
    const manifest = fileOf("lib00/twig.toml");
    writeFileSync(manifest, readFileSync(manifest, "utf8").replace(/^description = "[^"]*"/m, `description = "Saved without a page ${times}"`));
    await new Promise((done) => setTimeout(done, 700));
  }
  await gets(200);
  const before = memory();

  // Sizes, as they are sent
  const shell = await (await fetch(origin)).text();
  const dist = new URL("../../crates/twig-page/dist/", import.meta.url);
  const size = (name) => readFileSync(new URL(name, dist)).length / 1024;
  const fonts = readdirSync(dist).filter((it) => it.endsWith(".woff2")).reduce((sum, it) => sum + size(it), 0);
  const html = shell.length / 1024;
  row("HTML + style + script, compressed", `${html.toFixed(1)} + ${size("page.css.gz").toFixed(1)} + ${size("page.js.gz").toFixed(1)} KB`, "3 + 14 + 16 KB",
    html <= 3 && size("page.css.gz") <= 14 && size("page.js.gz") <= 16);
  row("first view with fonts", `${(html + size("page.css.gz") + size("page.js.gz") + fonts).toFixed(0)} KB`, "90 KB", html + size("page.css.gz") + size("page.js.gz") + fonts <= 90);

  const { context, tab } = await entered();
  await context.addInitScript(() => {
    window.seen = { long: 0, shift: 0, list: 0 };
    new PerformanceObserver((list) => list.getEntries().forEach((it) => { window.seen.long = Math.max(window.seen.long, it.duration); })).observe({ type: "longtask", buffered: true });
    new PerformanceObserver((list) => list.getEntries().forEach((it) => { if (!it.hadRecentInput) window.seen.shift += it.value; })).observe({ type: "layout-shift", buffered: true });
    const watch = () => { if (document.querySelector("a.row")) window.seen.list = performance.now(); else requestAnimationFrame(watch); };
    requestAnimationFrame(watch);
  });
  const paints = [];
  const lists = [];
  for (let times = 0; times < 12; times += 1) {
    await tab.goto(`${origin}/`);
    await tab.waitForFunction(() => window.seen.list > 0);
    paints.push(await tab.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0));
    lists.push(await tab.evaluate(() => window.seen.list));
    await note(tab);
  }
  row("first contentful paint", ms(median(paints)), "150 ms", median(paints) <= 150);
  row("list to be seen", ms(median(lists)), "250 ms", median(lists) <= 250);

  // 100 more rows: what they cost beyond a request that makes nothing
  const asked = await tab.evaluate(async () => {
    const headers = { Authorization: `Bearer ${localStorage.getItem("twig-key")}` };
    const times = async (path) => {
      const all = [];
      for (let at = 0; at < 60; at += 1) {
        const begun = performance.now();
        await (await fetch(path, { headers, cache: "no-store" })).text();
        all.push(performance.now() - begun);
      }
      return all;
    };
    return { none: await times("/page/palette?q="), rows: await times("/page/list?after=5000") };
  });
  const made = median(asked.rows) - median(asked.none);
  row("100 rows beyond an empty answer", ms(made), "1 ms", made <= 1);

  // The prompt and its preview
  const opened = [];
  for (let times = 0; times < 10; times += 1) {
    await tab.goto(`${origin}/`);
    await tab.locator("a.row").nth(times).waitFor();
    opened.push(await tab.evaluate((at) => new Promise((done) => {
      const begun = performance.now();
      document.querySelectorAll("a.row")[at].click();
      const watch = () => { if (document.querySelector(".prompt h1")) done(performance.now() - begun); else requestAnimationFrame(watch); };
      watch();
    }), times));
  }
  row("prompt opened", ms(median(opened)), "60 ms", median(opened) <= 60);
  await tab.goto(`${origin}/p/lib03:timber-0`);
  await tab.locator("#client:not([hidden])").waitFor();
  const previews = [];
  for (let times = 0; times < 30; times += 1) {
    previews.push(await tab.evaluate((text) => new Promise((done) => {
      const field = document.querySelector("#arguments textarea");
      const begun = performance.now();
      field.value = text;
      field.dispatchEvent(new Event("input", { bubbles: true }));
      const watch = () => { if (document.querySelector("#preview").textContent.includes(text)) done(performance.now() - begun); else requestAnimationFrame(watch); };
      watch();
    }), `value ${times} of many`));
  }
  await note(tab);
  row("preview after a key, p95", ms(at(previews, 0.95)), "100 ms", at(previews, 0.95) <= 100);

  // A file that is saved
  const saved = [];
  for (let times = 0; times < 8; times += 1) {
    await tab.goto(`${origin}/?library=lib00`);
    await tab.locator("#live[data-state=on]").waitFor({ state: "attached" });
    const name = await tab.locator("a.row .name").first().textContent(); // A row that is not drawn yet has no inner text.
    const manifest = fileOf("lib00/twig.toml");
    const text = readFileSync(manifest, "utf8");
    const words = `Saved for the ${times}th time`;
    const seen = tab.waitForFunction((words) => document.body.textContent.includes(words), words, { polling: "raf", timeout: 120_000 });
    await tab.waitForTimeout(300);
    const begun = performance.now();
    writeFileSync(manifest, text.replace(new RegExp(`(\\[prompts.${name}\\]\ndescription = ")[^"]*`), `$1${words}`));
    await seen;
    saved.push(performance.now() - begun);
  }
  row("file saved → seen", ms(median(saved)), "150 ms", median(saved) <= 150);
  const after = memory();
  row("memory after use, without the index", `+${(after - before).toFixed(1)} MB`, "+1.5 MB", after - before <= 1.5);
  console.log(`(memory: ${started.toFixed(1)} MB after 200 gets, ${before.toFixed(1)} MB after eight saves, ${after.toFixed(1)} MB with the page)`);

  // Search: from the key to what is shown
  await tab.goto(`${origin}/`);
  await tab.locator("a.row").first().waitFor();
  await tab.focus("#query");
  await tab.keyboard.type("x");
  await tab.getByText("Nothing found.").or(tab.locator("#sum")).first().waitFor();
  await tab.waitForTimeout(1500);
  const typed = (word) => tab.evaluate(async (word) => {
    const query = document.querySelector("#query");
    const all = [];
    for (let end = 1; end <= word.length; end += 1) {
      const part = word.slice(0, end);
      document.querySelector(".results").dataset.old = "";
      const begun = performance.now();
      query.value = part;
      query.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise((done) => {
        const watch = () => {
          const shown = document.querySelector(".results:not([data-old])");
          if (shown) done(); else requestAnimationFrame(watch);
        };
        watch();
      });
      all.push(performance.now() - begun);
    }
    return all;
  }, word);
  const keys = [];
  for (const word of WORDS) keys.push(...await typed(word));
  row("key press → results, p95", ms(at(keys, 0.95)), "50 ms", at(keys, 0.95) <= 50);

  await note(tab);

  // Clients beside a page that is typed in
  const alone = await gets(1500);
  let isOver = false;
  const typing = (async () => { while (!isOver) for (const word of WORDS) { if (isOver) break; await typed(word); } })();
  const beside = await gets(1500);
  isOver = true;
  await typing;
  const slower = (at(beside, 0.99) / at(alone, 0.99) - 1) * 100;
  row("prompts/get p99 while a page types", `${ms(at(alone, 0.99))} → ${ms(at(beside, 0.99))} (${slower > 0 ? "+" : ""}${slower.toFixed(0)} %)`, "+5 %", slower <= 5);

  // The document, with all rows of a scroll
  await tab.goto(`${origin}/`);
  await tab.waitForFunction(() => window.seen.list > 0);
  for (let times = 0; times < 4; times += 1) { await tab.mouse.move(700, 500); await tab.mouse.wheel(0, 5000); await tab.waitForTimeout(250); }
  await note(tab);
  const seen = await tab.evaluate(() => ({ elements: document.querySelectorAll("*").length, rows: document.querySelectorAll("a.row").length }));
  row("elements with the first rows", `${Math.round(seen.elements / seen.rows * 100)}`, "3,000", seen.elements / seen.rows * 100 <= 3000);
  row("longest task", ms(long), "50 ms", long <= 50);
  row("layout shift", shift.toFixed(3), "0", shift < 0.001);

  const width = Math.max(...rows.map(([what]) => what.length));
  console.log(`${PROMPTS.toLocaleString("en")} prompts; load of the machine ${loadavg()[0].toFixed(1)}\n`);
  for (const [what, measured, goal, is] of rows) console.log(`${what.padEnd(width)}  ${measured.padEnd(28)} ${`≤ ${goal}`.padEnd(18)} ${is ? "ok" : "MISSED"}`);
  if (rows.some(([, , , is]) => !is)) process.exitCode = 1;
} finally { await end(); }
