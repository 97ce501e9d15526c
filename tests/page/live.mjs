// What changes elsewhere (tests 28 to 30).
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { agent, check, entered, fileOf, focused, library, origin, said, settled, startServer, stopServer, until } from "./kit.mjs";

export default async function live() {
  const { context, newTab, tab } = await entered();
  await settled(tab);
  const manifest = fileOf("team/twig.toml");
  const before = readFileSync(manifest, "utf8");
  writeFileSync(fileOf("team/prompts/fresh.md"), "New.\n");
  await tab.locator("a.row", { hasText: "Review a text" }).focus();
  await tab.evaluate(() => scrollTo(0, 120));
  const top = await tab.evaluate(() => scrollY);
  writeFileSync(manifest, `${before}\n[prompts.fresh]\ndescription = "Came a moment ago"\n`);
  await tab.getByText("Came a moment ago").waitFor();
  check(true, "a new prompt shows without a reload");
  check((await focused(tab)).includes("Review a text"), "the focus stays where it was");
  check(await tab.evaluate(() => scrollY) === top, "the page does not move");
  await until("the change is told", async () => /changed/.test(await said(tab) ?? ""));
  renameSync(fileOf("team/prompts/fresh.md"), fileOf("team/prompts/renamed.md"));
  writeFileSync(manifest, `${before}\n[prompts.renamed]\ndescription = "Renamed a moment ago"\n`);
  await tab.getByText("Renamed a moment ago").waitFor();
  check(await tab.getByText("Came a moment ago").count() === 0, "a renamed prompt has its new name");
  rmSync(fileOf("team/prompts/renamed.md"));
  writeFileSync(manifest, before);
  await until("a deleted prompt goes", async () => await tab.getByText("Renamed a moment ago").count() === 0);

  // A prompt that is open: what was typed stays
  await tab.goto(`${origin}/p/team:code-review`);
  await tab.locator("textarea[name=code]").fill("typed here");
  const text = readFileSync(fileOf("team/prompts/code-review.md"), "utf8");
  writeFileSync(fileOf("team/prompts/code-review.md"), "Another text: {{ code }} {{ language }} {{ depth }}\n");
  await until("a saved text is seen in the preview", async () => (await tab.locator("#preview").innerText()).includes("Another text: typed here"));
  writeFileSync(manifest, before.replace("Review code for quality", "Review code for beauty"));
  await tab.getByText("Review code for beauty").waitFor();
  check(await tab.inputValue("textarea[name=code]") === "typed here", "what was typed stays");
  check(await tab.evaluate(() => document.activeElement?.name) === "code", "the field keeps the focus");
  writeFileSync(fileOf("team/prompts/code-review.md"), text);
  writeFileSync(manifest, before);

  await texts(tab);
  await everythingStays(tab, manifest, before);

  // Hidden tabs hold no connection: seven of them, and the seventh is served.
  const tabs = [];
  for (let at = 0; at < 6; at += 1) {
    const hidden = await newTab();
    await hidden.goto(`${origin}/`);
    await settled(hidden);
    await hidden.evaluate(() => {
      Object.defineProperty(document, "hidden", { value: true, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    tabs.push(hidden);
  }
  const seventh = await newTab();
  await seventh.goto(`${origin}/?q=review`);
  await seventh.locator("a.row").first().waitFor();
  await settled(seventh);
  check(true, "a seventh tab is served");
  writeFileSync(manifest, `${before}\n[prompts.while]\ndescription = "Came while nobody looked"\n`);
  writeFileSync(fileOf("team/prompts/while.md"), "While.\n");
  await tab.goto(`${origin}/`);
  await tab.getByText("Came while nobody looked").waitFor();
  const [woken] = tabs;
  check(await woken.getByText("Came while nobody looked").count() === 0, "a hidden tab asks for nothing");
  await woken.evaluate(() => {
    Object.defineProperty(document, "hidden", { value: false, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await woken.getByText("Came while nobody looked").waitFor();
  check(true, "a tab that is shown again is up to date");
  for (const it of [...tabs, seventh]) await it.close();
  rmSync(fileOf("team/prompts/while.md"));
  writeFileSync(manifest, before);

  // The server ends, and comes back
  await settled(tab);
  await stopServer();
  await tab.locator("#live[data-state=off]").waitFor({ state: "attached" });
  check(await tab.locator("a.row").count() > 0, "what is shown stays while the server is away");
  await startServer();
  await settled(tab);
  check(await tab.locator("a.row").count() > 0, "the page finds the server again, with the same key");
  await context.close();
}

/** Texts that no list shows are seen on each screen that has them. */
async function texts(tab) {
  const file = fileOf("team/prompts/review.md");
  const before = readFileSync(file, "utf8");
  await tab.goto(`${origin}/p/team:review`);
  await settled(tab);
  await tab.getByRole("tab", { name: "Text" }).click();
  writeFileSync(file, "Saved by another editor.\n");
  await until("a saved text is seen as it was written", async () => (await tab.locator("#panel-text:not([hidden])").innerText()).includes("Saved by another editor."));
  await tab.goto(`${origin}/p/garden:water`);
  await settled(tab);
  await tab.locator("#preview").getByText("Water").first().waitFor();
  const writer = agent("codex", "garden");
  await writer.call("update_prompt", { name: "water", content: "Water what an agent planted.\n" });
  await until("a new version is seen in the preview", async () => (await tab.locator("#preview").innerText()).includes("an agent planted"));
  await tab.goto(`${origin}/p/garden:water/history`);
  await settled(tab);
  const versions = await tab.locator(".version").count();
  await tab.locator("#from-1").focus();
  await writer.call("update_prompt", { name: "water", content: "Water what two agents planted.\n" });
  await until("a new version is seen in the history", async () => await tab.locator(".version").count() === versions + 1);
  check(await tab.evaluate(() => document.activeElement.id) === "from-1", "and the focus stays there");
  writer.end();
  writeFileSync(file, before);
}

/** News change what differs, and nothing else. */
async function everythingStays(tab, manifest, before) {
  library(`//- many/twig.toml\n${Array.from({ length: 1150 }, (_, at) => `[prompts.item-${1000 + at}]\ndescription = "One of many"\n`).join("")}`
    + Array.from({ length: 1150 }, (_, at) => `//- many/prompts/item-${1000 + at}.md\nText of ${1000 + at}.\n`).join(""));
  await tab.setViewportSize({ width: 1720, height: 900 });
  await tab.goto(`${origin}/?library=many`);
  await settled(tab);
  const rows = tab.locator("a.row");
  await until("a list is there", async () => await rows.count() >= 100);
  for (let times = 0; times < 40 && await rows.count() < 1150; times += 1) {
    await tab.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await tab.waitForTimeout(100);
  }
  check(await rows.count() === 1150, "more than 1,000 rows are loaded");
  const row = tab.locator("a.row", { hasText: "item-2100" });
  await row.scrollIntoViewIfNeeded();
  await row.hover();
  await tab.locator("#peek").getByText("Text of 2100.").waitFor();
  await tab.locator("#query").focus();
  await tab.evaluate(() => {
    getSelection().selectAllChildren(document.querySelector("#peek h2"));
    document.querySelectorAll("a.row, #peek h2, .rail a").forEach((it) => { it.isKept = true; });
  });
  const place = () => row.evaluate((it) => Math.round(it.getBoundingClientRect().top));
  const top = await place();
  const many = readFileSync(fileOf("many/twig.toml"), "utf8");
  writeFileSync(fileOf("many/prompts/item-1500b.md"), "Text of the new one.\n");
  writeFileSync(fileOf("many/twig.toml"), many.replace("[prompts.item-1501]", '[prompts.item-1500b]\ndescription = "In the middle"\n[prompts.item-1501]'));
  await until("a new row appears among the others", async () => await tab.getByText("In the middle").count() === 1);
  check(await rows.count() === 1151, "rows past the first 1,000 stay");
  check(await tab.evaluate(() => document.activeElement.id) === "query", "the field keeps the focus");
  check(Math.abs(await place() - top) <= 1, `what one looks at does not move: ${top} ${await place()}`);
  check((await tab.locator("#peek").innerText()).includes("Text of 2100."), "the entry beside the list stays");
  check(await tab.evaluate(() => String(getSelection())) === await tab.locator("#peek h2").innerText(), "what is selected stays selected");
  check(await tab.locator('.rail [aria-current=true] .name').first().innerText() === "many", "the chosen library stays chosen");
  check(await tab.evaluate(() => [...document.querySelectorAll("a.row")].filter((it) => !it.isKept).length) === 1, "no other row was made again");
  writeFileSync(fileOf("many/prompts/item-2100.md"), "Another text of 2100.\n");
  await until("the entry beside the list is up to date", async () => (await tab.locator("#peek").innerText()).includes("Another text of 2100."));

  // News that come before the screen that they are about
  await tab.route(/\/page\/list/, async (route) => {
    const response = await route.fetch();
    await new Promise((done) => setTimeout(done, 1500));
    await route.fulfill({ response }).catch(() => undefined);
  });
  const asked = tab.waitForRequest(/\/page\/list/);
  await tab.goto(`${origin}/?library=team`);
  await asked;
  await settled(tab);
  writeFileSync(fileOf("team/prompts/early.md"), "Early.\n");
  writeFileSync(manifest, `${before}\n[prompts.early]\ndescription = "Came before the list"\n`);
  await until("news that come before the list are not missed", async () => await tab.getByText("Came before the list").count() === 1);
  await tab.unroute(/\/page\/list/);
  rmSync(fileOf("team/prompts/early.md"));
  writeFileSync(manifest, before);

  // A search that is being typed
  await tab.route(/\/page\/list/, async (route) => {
    await new Promise((done) => setTimeout(done, 400));
    await route.continue().catch(() => undefined);
  });
  await tab.goto(`${origin}/`);
  await settled(tab);
  await tab.locator("#query").pressSequentially("item-10", { delay: 60 });
  writeFileSync(manifest, `${before}\n# another line\n`);
  await tab.locator("#query").pressSequentially("42", { delay: 60 });
  await until("a search that is being typed gets its results", async () => (await rows.locator(".name").first().innerText()) === "item-1042");
  await tab.waitForTimeout(1200);
  check((await rows.locator(".name").first().innerText()) === "item-1042" && await tab.inputValue("#query") === "item-1042", "and they stay");
  await tab.unroute(/\/page\/list/);
  rmSync(fileOf("many"), { recursive: true });

  // Fields of a prompt
  await tab.goto(`${origin}/p/team:code-review`);
  await settled(tab);
  await tab.locator("textarea[name=code]").fill("typed in here");
  await tab.getByRole("radio", { name: "go" }).check();
  await tab.locator("#copy > summary").click();
  await tab.locator("textarea[name=code]").evaluate((it) => { it.focus(); it.setSelectionRange(6, 8); it.isKept = true; });
  const described = before.replace("Review code for quality", "Review code for honesty")
    .replace('name = "language"', 'name = "extra"\n\n[[prompts.code-review.arguments]]\nname = "language"');
  writeFileSync(manifest, described);
  await tab.getByText("Review code for honesty").waitFor();
  const field = await tab.evaluate(() => { const it = document.activeElement; return [it.name, it.isKept, it.value, it.selectionStart, it.selectionEnd].join(); });
  check(field === "code,true,typed in here,6,8", `a field keeps its text, its focus and its selection: ${field}`);
  check(await tab.locator("textarea[name=extra]").count() === 1, "a new field is there");
  check(await tab.getByRole("radio", { name: "go" }).isChecked(), "a field after it keeps its value");
  check(await tab.locator("#copy[open]").count() === 1, "an open menu stays open");
  await tab.locator("textarea[name=extra]").fill("x");
  writeFileSync(manifest, before);
  await until("a field that is gone goes", async () => await tab.locator("textarea[name=extra]").count() === 0);

  // Problems: the chosen code stays chosen
  await tab.goto(`${origin}/problems`);
  await settled(tab);
  const chip = tab.locator(".chip").first();
  const code = await chip.innerText();
  await chip.click();
  const shown = await tab.locator(".problem:visible").count();
  library("//- wrong/twig.toml\n[prompts.wrong]\n//- wrong/prompts/wrong.md\n{% if x %}\n");
  await tab.locator(".file", { hasText: "wrong" }).first().waitFor({ state: "attached" });
  check(await chip.getAttribute("aria-pressed") === "true" && await chip.innerText() === code, "the chosen code stays chosen");
  check((await tab.locator(".problem:visible .code").allInnerTexts()).every((it) => it === code) && shown > 0, "new problems of other codes stay hidden");
  rmSync(fileOf("wrong"), { recursive: true });
  await tab.setViewportSize({ width: 1440, height: 900 });
}
