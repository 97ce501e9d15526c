// The page without a pointer (test 34).
import { check, entered, focused, origin, said, until } from "./kit.mjs";
import { violations } from "./screens.mjs";

export default async function keyboard({ shots }) {
  const { context, tab } = await entered();
  await tab.keyboard.press("Tab");
  check((await focused(tab)).includes("Skip"), "the first stop skips to the content");
  await tab.keyboard.press("j");
  await tab.keyboard.press("j");
  const chosen = await focused(tab);
  await tab.keyboard.press("Enter");
  await tab.locator(":is(.prompt, .page) h1").waitFor();
  check(new URL(tab.url()).pathname !== "/", `j, j and Enter open the second row: ${chosen.slice(0, 20)}`);
  await tab.keyboard.press("Escape");
  await tab.locator("a.row").first().waitFor();
  for (const [keys, heading] of [["gp", "Problems"], ["gs", "Sources"], ["gc", "Connect"]]) {
    for (const key of keys) await tab.keyboard.press(key);
    await tab.getByRole("heading", { name: heading, level: 1 }).waitFor();
  }
  await tab.keyboard.press("g");
  await tab.keyboard.press("l");
  await tab.locator("a.row").first().waitFor();
  check(true, "g and a letter open the screens");

  // A prompt is found, filled in and copied
  await tab.keyboard.press("/");
  await tab.keyboard.type("code-review");
  await tab.waitForURL(/q=code-review/);
  await until("it is found", async () => (await tab.locator("a.row .name").first().innerText()) === "code-review");
  await tab.keyboard.press("Enter");
  await tab.locator("#arguments").waitFor();
  for (let at = 0; at < 30 && await tab.evaluate(() => document.activeElement?.name) !== "code"; at += 1) await tab.keyboard.press("Tab");
  await tab.keyboard.type("by hand");
  await until("the preview has the value", async () => (await tab.locator("#preview").innerText()).includes("by hand"));
  await tab.keyboard.press("Escape");
  await tab.keyboard.press("c");
  await until("the text is copied", async () => (await tab.evaluate(() => navigator.clipboard.readText())).includes("by hand"));
  await tab.getByRole("tab", { name: "Try" }).focus();
  await tab.keyboard.press("ArrowRight");
  check(await tab.getByRole("tab", { name: "Text" }).getAttribute("aria-selected") === "true", "arrows change the tab");

  // Run or copy, from anywhere; try, from anywhere
  const clipboard = () => tab.evaluate(() => navigator.clipboard.readText());
  await tab.evaluate(() => navigator.clipboard.writeText(""));
  await tab.locator("textarea[name=code]").focus();
  await tab.keyboard.press("Control+Enter");
  await until("Ctrl and Enter copy the text, in a field too", async () => (await clipboard()).includes("by hand"));
  await tab.getByRole("tab", { name: "Text" }).focus();
  await tab.keyboard.press("t");
  await until("t goes to the fields", async () => await tab.evaluate(() => document.activeElement?.name) === "code");
  await tab.goto(`${origin}/p/programs:standup`);
  await tab.getByText("Nothing was run yet.").waitFor();
  await tab.keyboard.press("Control+Enter");
  await tab.getByText("The program ran.").waitFor();
  check(true, "Ctrl and Enter run a program");

  // Keys of rows
  const toRow = async (key) => {
    await tab.goto(`${origin}/`);
    await tab.locator(`[data-key="${key}"] a.row`).focus();
  };
  for (const [key, row, path] of [["e", "p:team:review", "/edit/team:review"], ["h", "p:team:review", "/p/team:review/history"],
    ["e", "d:twig://team/decisions/0001-wood", "/edit"], ["h", "d:twig://team/decisions/0001-wood", "/history"]]) {
    await toRow(row);
    await tab.keyboard.press(key);
    await tab.waitForURL((it) => it.pathname.endsWith(path));
    await tab.locator("main h1").first().waitFor();
  }
  check(true, "e and h on a row edit it, and show its history");
  await toRow("p:team:code-review");
  await tab.keyboard.press("t");
  await tab.waitForURL(/code-review#try$/);
  await until("t on a row opens its fields", async () => await tab.evaluate(() => document.activeElement?.name) === "code");
  await toRow("p:team:review");
  await tab.keyboard.press("c");
  await until("c on a row copies its text", async () => (await clipboard()).startsWith("Review this text."));
  await toRow("d:twig://team/decisions/0001-wood");
  await tab.keyboard.press("c");
  await until("and that of a document", async () => (await clipboard()).startsWith("# Build the shed of wood"));
  await toRow("p:team:code-review");
  await tab.keyboard.press("c");
  await until("a row with required arguments says so", async () => (await said(tab)).includes("fill in its arguments"));

  // The rail is a menu on narrow windows
  await tab.setViewportSize({ width: 390, height: 844 });
  const rail = tab.getByRole("navigation", { name: "Libraries and filters" });
  const menu = tab.getByRole("button", { name: "All libraries (change what is listed)" });
  await menu.waitFor();
  check(await rail.isHidden() && await menu.getAttribute("aria-expanded") === "false", "the menu of libraries is closed at first");
  await menu.focus();
  await tab.keyboard.press("Enter");
  await rail.waitFor();
  check(await menu.getAttribute("aria-expanded") === "true", "it opens with the keyboard, and says so");
  for (const colorScheme of ["light", "dark"]) {
    await tab.emulateMedia({ colorScheme });
    if (shots) await tab.screenshot({ path: `${shots}/menu-390-${colorScheme}.png`, animations: "disabled" });
    const found = await violations(context, tab);
    check(found.length === 0, `axe, the menu of libraries, ${colorScheme}: ${found.join("; ")}`);
  }
  await tab.keyboard.press("Tab");
  check((await focused(tab)).startsWith("All"), "its first entry is next");
  await tab.keyboard.press("Escape");
  check(await rail.isHidden() && await menu.evaluate((it) => it === document.activeElement), "Esc closes it and goes back to the button");
  await tab.keyboard.press("Enter");
  await rail.getByRole("link", { name: /^team/ }).press("Enter");
  await tab.waitForURL(/library=team/);
  await tab.getByRole("button", { name: "team (change what is listed)" }).waitFor();
  check(await rail.isHidden(), "a choice closes it, and the button says what is listed");
  await tab.setViewportSize({ width: 1440, height: 900 });
  check(await rail.isVisible() && await tab.locator("#rail-button").isHidden(), "wide windows have no menu");

  // Versions are picked with the keyboard
  await tab.goto(`${origin}/p/garden:water/history`);
  await tab.locator("#from-1").focus();
  await tab.keyboard.press("Space");
  await tab.locator("#to-2").focus();
  await tab.keyboard.press("Space");
  await tab.locator(".diff").waitFor();
  check(true, "two versions are compared without a pointer");

  await tab.keyboard.press("?");
  await tab.getByRole("dialog").waitFor();
  if (shots) await tab.screenshot({ path: `${shots}/keys-light.png` });
  await tab.getByLabel("Single keys do something").uncheck();
  await tab.keyboard.press("Escape");
  await until("the dialog of keys opens and closes by keys", async () => await tab.getByRole("dialog").count() === 0);
  await tab.keyboard.press("g");
  await tab.keyboard.press("p");
  check(new URL(tab.url()).pathname !== "/problems", "single keys can be switched off");
  await context.close();
}
