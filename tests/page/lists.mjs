// The list, its search and the palette (tests 10 to 13).
import { rmSync } from "node:fs";
import { check, entered, fileOf, library, names, origin, until } from "./kit.mjs";

export default async function lists({ shots }) {
  const { context, tab } = await entered();
  check((await names(tab)).includes("code-review"), "the list has the prompts");
  const search = async (words) => {
    await tab.fill("#query", words);
    await tab.waitForFunction((words) => document.querySelector("#sum")?.textContent?.includes(words) || document.querySelector(".blank"), words);
    return names(tab);
  };
  await tab.keyboard.press("/");
  check((await search("review"))[0] === "review", "the exact name comes first");
  check(tab.url().endsWith("?q=review"), "the address has the words");
  await tab.reload();
  await tab.locator("a.row").first().waitFor();
  check(await tab.inputValue("#query") === "review", "a reload keeps the words");
  check((await search("带伞")).includes("weather"), "Chinese words are found");
  check((await search("codeReview"))[0] === "codeReview", "a name in camel case is found");
  check((await search("weakest sentences")).includes("review"), "words of a description are found");
  await tab.fill("#query", "zzzzzz");
  await tab.getByText("Nothing found.").waitFor();
  await tab.keyboard.press("Escape");
  await tab.locator("a.row").nth(2).waitFor();

  // Facets, back and forward
  await tab.getByRole("link", { name: /takes arguments/ }).click();
  await tab.waitForURL(/arguments=1/);
  await until("only prompts with arguments are listed", async () => (await names(tab)).sort().join() === "attack,code-review,strict,tide-tables");
  await tab.goBack();
  await until("back shows everything", async () => (await names(tab)).includes("review"));
  await tab.goForward();
  await until("forward filters again", async () => !(await names(tab)).includes("review"));
  await tab.goto(`${origin}/?problems=1`);
  await until("prompts with problems are listed", async () => (await names(tab)).includes("broken") && !(await names(tab)).includes("review"));
  await tab.goto(`${origin}/`);
  await until("the number of problems is in the title", async () => /^\(\d+\) Library · Twig$/.test(await tab.title()));

  // What a row says: what is wrong, what matched, and of a project's prompt who wrote it and when
  const row = (name) => tab.locator(`[data-key="p:${name}"]`);
  await row("team:broken").getByRole("img", { name: /has (errors|warnings)/ }).waitFor();
  check(await row("team:review").getByRole("img").count() === 0, "a row with problems has a mark, and others have none");
  await until("a project's prompt says who wrote it and when", async () => (await row("garden:water").textContent()).includes("<img src=x")
    && await row("garden:water").locator("time").evaluate((it) => /now|min/.test(getComputedStyle(it, "::after").content)));
  library('//- half/twig.toml\n[prompts.outside]\ndescription = "Names a file outside"\nfile = "../outside.md"\n[prompts.served]\n//- half/prompts/served.md\nServed, with <b>marks</b> & more.\n');
  await row("half:outside").getByText("not served").waitFor();
  const why = await row("half:outside").textContent();
  check(why.includes("../outside.md") && !why.includes("`"), `a prompt that is not served has a row that says why: ${why}`);
  if (shots) for (const [colorScheme, width] of [["light", 1440], ["dark", 1440], ["light", 390], ["dark", 390]]) {
    await tab.emulateMedia({ colorScheme });
    await tab.setViewportSize({ width, height: 900 });
    await tab.screenshot({ path: `${shots}/rows-${width}-${colorScheme}.png`, animations: "disabled" });
  }
  await tab.emulateMedia({ colorScheme: "light" });
  await tab.setViewportSize({ width: 1440, height: 900 });
  await search("marks more");
  await until("what matched is marked, and is text", async () => (await row("half:served").locator("mark").allTextContents()).join() === "marks,more"
    && (await row("half:served").textContent()).includes("<b>marks</b> & more"));
  if (shots) await tab.screenshot({ path: `${shots}/matches-1440-light.png`, animations: "disabled" });
  await tab.goto(`${origin}/?problems=1`);
  await row("half:outside").waitFor();
  rmSync(fileOf("half"), { recursive: true });
  await row("half:outside").waitFor({ state: "detached" });
  await tab.goto(`${origin}/`);

  // More rows than one answer has
  library(`//- many/twig.toml\n[library]\ndescription = "Many"\n${Array.from({ length: 240 }, (_, at) => `[prompts.item-${1000 + at}]\ndescription = "Number ${at}"\n`).join("")}`
    + Array.from({ length: 240 }, (_, at) => `//- many/prompts/item-${1000 + at}.md\nText.\n`).join(""));
  await tab.goto(`${origin}/?library=many`);
  await until("rows are there at once", async () => await tab.locator("a.row").count() >= 100);
  for (let times = 0; times < 10 && await tab.locator("a.row").count() < 240; times += 1) {
    await tab.mouse.move(700, 500);
    await tab.mouse.wheel(0, 6000);
    await tab.waitForTimeout(120);
  }
  check(await tab.locator("a.row").count() === 240, "scrolling brings all rows");
  const far = tab.locator("a.row", { hasText: "item-1150" });
  await far.scrollIntoViewIfNeeded();
  const top = await tab.evaluate(() => scrollY);
  await far.click();
  await tab.locator(".prompt h1").waitFor();
  await tab.goBack();
  await tab.locator("a.row").first().waitFor();
  check(top > 0, "the list was scrolled");
  await until("going back returns to the place in the list", async () => Math.abs(await tab.evaluate(() => scrollY) - top) < 400);
  rmSync(fileOf("many"), { recursive: true });

  // The palette
  await tab.goto(`${origin}/`);
  await tab.locator("a.row").first().waitFor();
  await tab.keyboard.press("Control+k");
  await tab.getByRole("combobox", { name: "Find or do something" }).waitFor();
  await until("what was opened last comes first", async () => (await tab.locator(".palette [role=option] .name").first().innerText()).includes("item-1150"));
  await tab.keyboard.type("code-rev");
  await until("the palette finds prompts", async () => (await tab.locator(".palette [role=option] .name").first().innerText()) === "code-review");
  check(await tab.locator(".palette [aria-selected=true]").count() === 1, "one option is chosen");
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("ArrowUp");
  await tab.keyboard.press("Enter");
  await tab.waitForURL(/\/p\/team:code-review/);
  await until("Enter opens and the palette closes", async () => await tab.locator("dialog").count() === 0);
  await tab.getByRole("button", { name: "Find or do anything" }).click();
  await tab.keyboard.type("conn");
  await until("the palette finds screens", async () => (await tab.locator(".palette [aria-selected=true] .name").innerText()) === "Connect");
  await tab.keyboard.press("Enter");
  await tab.waitForURL(/\/connect/);
  await tab.keyboard.press("Control+k");
  await tab.keyboard.press("Escape");
  await until("Esc closes the palette", async () => await tab.locator("dialog").count() === 0);
  await context.close();

  // Beside the list, on wide windows
  const wide = await entered({ viewport: { width: 1720, height: 1000 } });
  await wide.tab.keyboard.press("j");
  await wide.tab.locator("#peek h2").waitFor();
  await wide.tab.locator("a.row", { hasText: "Review a text" }).hover();
  await until("the entry that is pointed at is beside the list", async () => (await wide.tab.locator("#peek").innerText()).includes("Review this text."));
  await wide.context.close();
}
