// A prompt: its form, its preview and what is copied (tests 14 to 16, 18 and 31).
import { rmSync } from "node:fs";
import { check, entered, fileOf, library, origin, run, shell, until } from "./kit.mjs";
import { violations } from "./screens.mjs";

export default async function tryIt({ shots }) {
  const { context, tab } = await entered();
  await tab.goto(`${origin}/p/team:code-review`);
  await tab.locator(".missing").first().waitFor();
  check(await tab.locator(".needs").innerText() === "Needs a value for “code”.", "a missing value is named and its place shown");
  await tab.locator("textarea[name=code]").fill("fn main() { <b>&amp;</b> }");
  await tab.locator("mark.value").first().waitFor();
  check((await tab.locator("mark.value").allInnerTexts()).includes("fn main() { <b>&amp;</b> }"), "the value is marked where it went");
  await tab.getByRole("radio", { name: "go" }).check();
  await tab.waitForFunction(() => document.querySelector("#preview")?.textContent?.includes("this go code"));
  const clipboard = () => tab.evaluate(() => navigator.clipboard.readText());
  const copied = async (what) => {
    await tab.locator("#copy > summary").click();
    await tab.locator(`#copy [data-copy=${what}]`).click();
    await tab.waitForFunction(() => document.querySelector("#said")?.textContent === "Copied");
    await tab.evaluate(() => { document.querySelector("#said").textContent = ""; });
    return clipboard();
  };
  const text = await run(["render", "team:code-review", "code=fn main() { <b>&amp;</b> }", "language=go"]);
  const copy = await copied("text");
  check(copy === text || `${copy}\n` === text, "the copied text is what `twig render` prints");
  check(await shell(await copied("command")) === text, "the copied command prints the same");
  const request = JSON.parse(await copied("json"));
  check(request.method === "prompts/get" && request.params.arguments.language === "go", "the copied request is one");
  check((await copied("line")) === "/mcp__twig__team:code-review fn main() { <b>&amp;</b> } go", "the copied line is Claude Code's");
  const address = await copied("link");
  check(address.startsWith(`${origin}/p/team:code-review?code=`), "the copied link has the values");
  await tab.reload();
  await tab.locator("mark.value").first().waitFor();
  check((await tab.inputValue("textarea[name=code]")).startsWith("fn main"), "what was typed survives a reload");
  await tab.evaluate(() => sessionStorage.clear());
  await tab.goto(address);
  await until("the link brings its values", async () => (await tab.inputValue("textarea[name=code]")).startsWith("fn main"));

  // How each client calls it
  await tab.getByText("In every client").click();
  const client = (name) => tab.locator(".lines-of li", { hasText: name });
  await client("VS Code").waitFor();
  check((await client("Claude Code").innerText()).includes("/mcp__twig__team:code-review"), "each client has its line");
  check((await client("VS Code").innerText()).includes("/mcp.twig.team_code-review") && (await client("VS Code").innerText()).includes("It asks for each value."), "and says how it takes values");
  check((await client("Zed").innerText()).includes("at most 1 argument"), "a client that does not show the prompt says so");
  if (shots) for (const [colorScheme, width] of [["light", 1440], ["dark", 1440], ["light", 390], ["dark", 390]]) {
    await tab.emulateMedia({ colorScheme });
    await tab.setViewportSize({ width, height: 1400 });
    await tab.screenshot({ path: `${shots}/clients-${width}-${colorScheme}.png`, animations: "disabled", fullPage: true });
    const found = await violations(context, tab);
    check(found.length === 0, `axe, all clients ${width} ${colorScheme}: ${found.join("; ")}`);
  }
  await tab.emulateMedia({ colorScheme: "light" });
  await tab.setViewportSize({ width: 1440, height: 900 });

  // A late answer does not replace a later one
  let first = true;
  await tab.route("**/page/render", async (route) => {
    if (first) { first = false; await new Promise((done) => setTimeout(done, 700)); }
    await route.continue().catch(() => undefined);
  });
  await tab.locator("textarea[name=code]").fill("the earlier value");
  await tab.locator("textarea[name=code]").fill("the later value");
  await tab.waitForTimeout(1000);
  const shown = await tab.locator("#preview").innerText();
  check(shown.includes("the later value") && !shown.includes("earlier"), "a late answer does not replace a later one");
  await tab.unroute("**/page/render");

  // Every rule of an argument
  await tab.goto(`${origin}/p/words:strict`);
  await tab.locator("textarea[name=required_one]").fill("a");
  await until("a default fills in", async () => (await tab.locator("#preview").innerText()).includes("a||m"));
  await tab.locator("textarea[name=small]").fill("UPPER");
  await tab.locator("#preview .failure").waitFor();
  check(await tab.locator("[data-argument=small].wrong").count() === 1, "a value against the pattern is refused at its field");
  await tab.locator("textarea[name=small]").fill("low");
  await tab.selectOption("select[name=size]", "xxl");
  await until("a choice of a list is taken", async () => (await tab.locator("#preview").innerText()).includes("a|low|xxl"));
  const long = "x".repeat(256 * 1024);
  await tab.locator("textarea[name=required_one]").fill(long);
  await until("a value of 256 KiB is rendered", async () => (await tab.locator("#preview").innerText()).length > long.length);
  await tab.evaluate(() => sessionStorage.clear());

  // Text as it was written, at the line of a problem
  await tab.goto(`${origin}/problems`);
  await tab.getByRole("link", { name: "Open at line in team:broken" }).first().click();
  await tab.locator("#panel-text:not([hidden])").waitFor();
  check(await tab.evaluate(() => [...(CSS.highlights.get("line") ?? [])].map(String).join("")).then((it) => it.startsWith("{%") || it.startsWith("Never")), "a problem opens at its line");

  // The same for documents, and for manifests that can be edited
  library('//- odd/twig.toml\n[prompts.plain]\n\n[prompts.outside]\nfile = "../outside.md"\n//- odd/prompts/plain.md\nPlain.\n//- odd/docs/long.md\n# Long\n\nSee zero\\u200bwidth.\n');
  await tab.goto(`${origin}/problems`);
  await tab.getByRole("link", { name: "Open at line in odd", exact: true }).first().click();
  await tab.waitForURL(/\/edit\?manifest=odd#line=\d+$/);
  await tab.locator("twig-editor[data-rich]").waitFor();
  await until("a problem of a manifest opens in the editor, at its line", async () => (await tab.locator(".cm-activeLine").innerText()).includes("../outside.md"));
  await tab.goto(`${origin}/problems`);
  await tab.getByRole("link", { name: "Open at line in twig://odd/long" }).first().click();
  await tab.waitForURL(/\?raw=1#line=\d+$/);
  await until("a problem of a document opens at its line", async () => (await tab.evaluate(() => [...(CSS.highlights.get("line") ?? [])].map(String).join(""))).startsWith("See zero"));
  rmSync(fileOf("odd"), { recursive: true });

  await tab.goto(`${origin}/p/skills:tide-tables`);
  await tab.getByRole("link", { name: "Files" }).click();
  await tab.waitForURL(/\/s\/skills:tide-tables\/SKILL.md$/);
  await tab.getByRole("link", { name: "tables/dover.md" }).click();
  await tab.waitForURL(/\/s\/skills:tide-tables\/tables\/dover.md$/);
  await tab.locator(".document table").waitFor();
  await tab.getByRole("link", { name: "As written" }).click();
  await tab.getByText("|---|---|").waitFor();
  check(true, "the files of a skill are shown, rendered and as they were written");
  await context.close();
}
