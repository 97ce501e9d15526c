// The editor (tests 3, 12, 20 to 26 and 32).
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agent, check, entered, fileOf, home, library, link, origin, run, startServer, stopServer, until } from "./kit.mjs";
import { violations } from "./screens.mjs";

const REVIEW = "team/prompts/review.md";
const edited = (name) => `${origin}/edit/${encodeURIComponent(name)}`;
const read = (name) => readFileSync(fileOf(name), "utf8");
/** What the editor holds; its text area is always as it is. */
const text = (tab) => tab.locator("#text").inputValue();
const ready = (tab) => tab.locator("twig-editor[data-rich]").waitFor();

/** Replaces all of the text, by typing. */
async function type(tab, words) {
  await tab.locator(".cm-content").click();
  await tab.keyboard.press("Control+a");
  await tab.keyboard.insertText(words);
}
/** A state of the screen in both themes, with axe, and as pictures. */
async function seen(context, tab, name, shots) {
  for (const colorScheme of ["light", "dark"]) {
    await tab.emulateMedia({ colorScheme });
    for (const width of [1440, 1024, 390]) {
      await tab.setViewportSize({ width, height: width < 500 ? 844 : 900 });
      await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      const over = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (over > 0) check(false, `${name} ${width} ${colorScheme}: ${over} px too wide`);
      if (shots) await tab.screenshot({ path: `${shots}/${name}-${width}-${colorScheme}.png`, animations: "disabled" });
      const found = width === 1024 ? [] : await violations(context, tab);
      check(found.length === 0, `axe, ${name} ${width} ${colorScheme}: ${found.join("; ")}`);
    }
  }
  await tab.emulateMedia({ colorScheme: "light" });
  await tab.setViewportSize({ width: 1440, height: 900 });
}
/** The drafts of a prompt that this browser keeps. */
const drafts = (tab, name) => tab.evaluate((it) => Object.keys(localStorage).filter((key) => `${key} `.startsWith(`twig-edit ${new URLSearchParams({ prompt: it })} `)).length, name);
/** Answers the looks for a prompt with a status, until it is 0. */
async function answering(tab) {
  const all = "**/page/source?*";
  const state = { status: 0, end: () => tab.unroute(all) };
  await tab.route(all, (route) => state.status && route.request().method() === "GET"
    ? route.fulfill({ status: state.status, contentType: "application/json", body: JSON.stringify({ why: `Answered with \`${state.status}\`.` }) })
    : route.continue());
  /** Gives the editor two answers, so that the first of them was shown. */
  state.give = async (status) => {
    state.status = status;
    for (let n = 0; n < 2; n += 1) await tab.waitForResponse((it) => it.url().includes("/page/source?") && it.status() === (status || 304));
  };
  return state;
}
/** Fills what a browser keeps for a page, to the last letter. */
const fillStorage = (tab) => tab.evaluate(() => {
  let filler = localStorage.getItem("filler") ?? "";
  for (let size = 1 << 22; size >= 1;) {
    try { localStorage.setItem("filler", filler + "x".repeat(size)); filler += "x".repeat(size); } catch { size >>= 1; }
  }
});
const saved = (tab) => until("a save is told", async () => /^saved/.test(await tab.locator("#kept").textContent()));

export default async function edit({ shots }) {
  const { context, tab, newTab } = await entered();
  const before = read(REVIEW);
  await tab.goto(`${origin}/p/team:review`);
  await tab.getByRole("link", { name: "Edit", exact: true }).waitFor();
  await tab.keyboard.press("e");
  await tab.waitForURL(/\/edit\/team:review$/);
  await ready(tab);
  check(await tab.locator("#save").isDisabled(), "without a change there is nothing to save");
  await tab.keyboard.press("Control+s");
  check(await tab.getByRole("dialog").count() === 0, "and the key does nothing");

  // Problems where the command says, and the preview, while one types (20)
  await type(tab, "Please 🌱 {{ cod }}\n{% if x %}\n");
  await tab.locator(".found .sentence").first().waitFor();
  await until("a mistake is underlined in the text", async () => await tab.locator(".cm-lintRange-error").count() > 0);
  const rows = await tab.locator(".found .place").allInnerTexts();
  writeFileSync(fileOf(REVIEW), "Please 🌱 {{ cod }}\n{% if x %}\n");
  const rowsOf = JSON.parse(await run(["check", "--json"])).filter((it) => it.path.endsWith(REVIEW));
  writeFileSync(fileOf(REVIEW), before);
  check(rowsOf.length > 0 && rowsOf.every((it) => rows.includes(`${it.line}:${it.column}`)) && rows.length === rowsOf.length, `problems are where \`twig check --json\` says: ${rows} ${rowsOf.map((it) => `${it.line}:${it.column}`)}`);
  await type(tab, "Please {{ cod }}");
  await until("the letters of a mistake are underlined", async () => (await tab.locator(".cm-lintRange").allInnerTexts()).join("") === "cod");
  // A late answer does not replace a later one (16)
  let slow = true;
  await tab.route("**/page/check", async (route) => {
    if (slow) { slow = false; await new Promise((done) => setTimeout(done, 1500)); }
    await route.continue().catch(() => undefined);
  });
  await type(tab, "{% if late %}");
  await tab.waitForTimeout(400);
  await type(tab, "All is well.");
  await tab.getByText("Nothing is wrong.").waitFor();
  await tab.waitForTimeout(1600);
  check(await tab.getByText("Nothing is wrong.").isVisible(), "a late answer does not overwrite a later one");
  await tab.unroute("**/page/check");
  await until("the preview has what was typed", async () => (await tab.locator("#preview").innerText()).includes("All is well."));
  check(read(REVIEW) === before, "nothing is saved by typing");

  // What could be typed: arguments, templates and documents, and the letters that it replaces
  const offered = tab.locator(".cm-tooltip-autocomplete li");
  const offers = async (words, what) => {
    await tab.keyboard.press("Control+a");
    await tab.keyboard.insertText("🌱 ");
    await tab.keyboard.type(words);
    await tab.keyboard.press("Control+Space");
    await until(`${words} offers ${what}`, async () => (await offered.allInnerTexts()).some((it) => it.includes(what)));
  };
  await tab.goto(edited("team:code-review"));
  await ready(tab);
  await tab.locator(".cm-content").click();
  await offers("{{ de", "depth");
  check((await offered.first().innerText()).includes("argument of team:code-review"), "an argument says whose it is");
  if (shots) for (const colorScheme of ["light", "dark"]) {
    await tab.emulateMedia({ colorScheme });
    await tab.screenshot({ path: `${shots}/offers-1440-${colorScheme}.png`, animations: "disabled" });
  }
  await tab.emulateMedia({ colorScheme: "light" });
  // A key that was on its way as the list opened chooses nothing: the editor waits for 75 ms.
  await tab.waitForTimeout(200);
  await tab.keyboard.press("Enter");
  check((await text(tab)).startsWith("🌱 {{ depth"), "what is chosen replaces what was typed");
  await offers('{% include "pl', "plan");
  await tab.keyboard.press("Escape");
  await offers('{{ resource("tw', "twig://team/decisions/0001-wood");
  await tab.keyboard.press("Escape");
  await tab.keyboard.press("Control+a");
  await tab.keyboard.insertText("In plain words ");
  await tab.keyboard.press("Control+Space");
  await tab.waitForTimeout(300);
  check(await offered.count() === 0, "outside of marks nothing is offered");
  await tab.goto(edited("team:review"));
  await ready(tab);

  // The difference comes before each save, and Enter saves
  await type(tab, `${before}Say why.\n`);
  await tab.keyboard.press("Control+s");
  await tab.getByRole("dialog").getByText("1 added, 0 removed").waitFor();
  await seen(context, tab, "review", shots);
  await tab.keyboard.press("Enter");
  await saved(tab);
  check(read(REVIEW) === `${before}Say why.\n`, "Enter saves what was shown");
  check(await tab.locator("#save").isDisabled(), "after it there is nothing to save");

  // Undo (26)
  await tab.locator("#more > summary").click();
  await tab.getByRole("button", { name: "Undo the last save" }).click();
  await until("an undo brings the old text back", () => read(REVIEW) === before);
  await until("and the editor has it", async () => await text(tab) === before);

  // What can be undone goes with the tab: that of the last save, and that of the text
  await type(tab, `${before}Say why.\n`);
  await tab.keyboard.press("Control+s");
  await tab.getByRole("dialog").waitFor();
  await tab.keyboard.press("Enter");
  await saved(tab);
  await tab.getByRole("link", { name: "Back" }).click();
  await tab.waitForURL(/\/p\/team:review$/);
  await tab.getByRole("link", { name: "Edit", exact: true }).click();
  await ready(tab);
  await tab.locator(".cm-content").click();
  await tab.keyboard.press("Control+z");
  check(await text(tab) === before, "what was typed can be undone after leaving and coming back");
  await tab.keyboard.press("Control+y");
  check(await text(tab) === `${before}Say why.\n`, "and done again");
  await tab.reload();
  await ready(tab);
  await tab.locator("#more > summary").click();
  await tab.getByRole("button", { name: "Undo the last save" }).click();
  await until("the last save can be undone after a reload", () => read(REVIEW) === before);
  await until("and the editor has the text again", async () => await text(tab) === before);

  // Drafts (21)
  await type(tab, "A draft that is not saved.");
  await until("a draft is kept", async () => (await tab.locator("#kept").textContent()).startsWith("draft kept"));
  await tab.goto(`${origin}/problems`);
  await tab.goto(edited("team:review"));
  await tab.getByText("A draft of this text was kept").first().waitFor();
  await ready(tab);
  await seen(context, tab, "draft", shots);
  check(await text(tab) === before, "a draft is offered, and not put in unasked");
  await tab.getByRole("button", { name: "Go on with it" }).first().click();
  check(await text(tab) === "A draft that is not saved.", "what was typed survives a reload");
  const crash = await newTab();
  await crash.goto(edited("team:code-review"));
  await ready(crash);
  await type(crash, "Typed before the crash.");
  await until("a draft of the other tab is kept", async () => (await crash.locator("#kept").textContent()).startsWith("draft kept"));
  await crash.goto("chrome://crash").catch(() => undefined);
  await crash.close().catch(() => undefined);
  const again = await newTab();
  await again.goto(edited("team:code-review"));
  await again.getByRole("button", { name: "Go on with it" }).first().click();
  check(await text(again) === "Typed before the crash.", "what was typed survives a crash");
  await again.goto(edited("team:code-review"));
  const kept = again.getByRole("button", { name: "Go on with it" });
  const discard = again.getByRole("button", { name: "Discard it" });
  await discard.first().waitFor();
  while (await discard.count()) await discard.first().click();
  await again.reload();
  await ready(again);
  check(await discard.count() === 0, "a draft that was discarded is gone");

  // What is offered stays until it is taken or discarded
  const words = async (page, typed) => {
    await type(page, typed);
    await until(`a draft is kept: ${typed}`, async () => (await page.locator("#kept").textContent()).startsWith("draft kept"));
  };
  await words(again, "FIRST long work");
  await again.goto(`${origin}/problems`);
  await again.goto(edited("team:code-review"));
  await ready(again);
  await words(again, "Typed beside it");
  await again.goto(edited("team:code-review"));
  await ready(again);
  check(await kept.count() === 2, "what is typed beside an offer is offered, too");
  await kept.first().click();
  check(await text(again) === "Typed beside it" && await kept.count() === 1, "the newest is offered first");
  await kept.click();
  check(await text(again) === "FIRST long work" && await kept.count() === 1, "a draft that was offered is not overwritten, and what is taken replaces nothing");

  // Two tabs with the same text
  const other = await newTab();
  await other.goto(edited("team:code-review"));
  await ready(other);
  await words(other, "From the other tab");
  await words(again, "FIRST and more");
  await other.close({ runBeforeUnload: false });
  await again.goto(edited("team:code-review"));
  await ready(again);
  check(await kept.count() === 3, `the drafts of all tabs are kept: ${await kept.count()}`);
  const found = [];
  for (let n = 0; n < 3; n += 1) { await kept.nth(n).click(); found.push(await text(again)); await again.reload(); await ready(again); await kept.nth(2).waitFor(); }
  check(["FIRST and more", "From the other tab", "Typed beside it"].every((it) => found.includes(it)), `and each can be taken: ${found}`);
  while (await discard.count()) await discard.first().click();
  await again.close();

  // Back, forward, and what was typed (12)
  await tab.goto(`${origin}/p/team:plan`);
  await tab.getByRole("link", { name: "Edit", exact: true }).waitFor();
  await tab.keyboard.press("e");
  await tab.waitForURL(/\/edit\/team:plan$/);
  await ready(tab);
  await type(tab, "Back and forth.");
  await tab.goBack();
  await tab.waitForURL(/\/p\/team:plan$/);
  await tab.goForward();
  await tab.waitForURL(/\/edit\/team:plan$/);
  await tab.getByRole("button", { name: "Go on with it" }).first().click();
  check(await text(tab) === "Back and forth.", "back and forward lose nothing that was typed");
  await tab.goto(edited("team:review"));
  await tab.getByRole("button", { name: "Go on with it" }).first().click();
  await ready(tab);

  // Changed on disk: what it was, what is there now and what was typed (22)
  const lines = (words) => `${words.join("\n")}\n`;
  const conflict = tab.locator("#conflict:not([hidden])");
  const dialog = tab.getByRole("dialog");
  await type(tab, before);
  writeFileSync(fileOf(REVIEW), lines(["One.", "Two.", "Three.", "Four.", "Five."]));
  await until("a text without changes is renewed", async () => await text(tab) === lines(["One.", "Two.", "Three.", "Four.", "Five."]));
  await type(tab, lines(["One, as I say.", "Two.", "Three.", "Four.", "Mine."]));
  writeFileSync(fileOf(REVIEW), lines(["One.", "Two.", "Theirs.", "Four.", "Theirs, too."]));
  await conflict.waitFor();
  await seen(context, tab, "conflict", shots);
  await conflict.getByRole("button", { name: "Compare" }).click();
  await dialog.locator(".three").waitFor();
  const cells = await dialog.locator(".three .changed").evaluateAll((rows) => rows.map((row) => [...row.cells].map((it) => it.innerText.trim()).join(" | ")));
  check(cells.join(" / ") === "One. | One. | One, as I say. / Three. | Theirs. | Three. / Five. | Theirs, too. | Mine.", `three texts are beside each other: ${cells.join(" / ")}`);
  check((await dialog.locator(".three .who").allInnerTexts()).join(" / ") === "Line 1: changed by you / Line 3: changed there / Line 5: changed there and by you", "and who changed what is told");
  await seen(context, tab, "three", shots);
  await dialog.getByRole("button", { name: "Go on editing" }).click();
  check((await text(tab)).includes("Mine.") && await conflict.count() === 1, "one can go on editing");
  await tab.keyboard.press("Control+s");
  await dialog.locator(".three").waitFor();
  check(read(REVIEW).includes("Theirs, too."), "a save asks the same question");
  await dialog.getByRole("button", { name: "Take theirs" }).click();
  check(await text(tab) === read(REVIEW) && await conflict.count() === 0, "theirs is taken");
  await type(tab, "Mine.\n");
  writeFileSync(fileOf(REVIEW), "Theirs again.\n");
  await conflict.waitFor();
  await conflict.getByRole("button", { name: "Compare" }).click();
  await dialog.getByRole("button", { name: "Keep mine" }).click();
  await dialog.getByText("What this save changes").waitFor();
  check((await dialog.locator(".diff").innerText()).includes("Theirs again.") && read(REVIEW) === "Theirs again.\n", "what is kept is shown as a difference from what is there now");
  await tab.keyboard.press("Enter");
  await until("mine is kept", () => read(REVIEW) === "Mine.\n");
  await saved(tab);
  // A draft of an earlier text
  await type(tab, "A draft of mine.\n");
  await until("a draft of it is kept", async () => (await tab.locator("#kept").textContent()).startsWith("draft kept"));
  await tab.goto(`${origin}/problems`);
  writeFileSync(fileOf(REVIEW), "Theirs meanwhile.\n");
  await tab.goto(edited("team:review"));
  await ready(tab);
  await tab.getByRole("button", { name: "Go on with it" }).first().click();
  await conflict.getByRole("button", { name: "Compare" }).click();
  await until("a draft of an earlier text is compared with both", async () => (await dialog.locator(".three .changed").allInnerTexts()).join("").replace(/\s+/g, " ") === "Mine. Theirs meanwhile. A draft of mine.");
  await dialog.getByRole("button", { name: "Take theirs" }).click();
  // A draft of the text that is saved now, taken after one of an earlier text
  await type(tab, "A draft of theirs.\n");
  await until("it is kept, too", async () => (await tab.locator("#kept").textContent()).startsWith("draft kept"));
  writeFileSync(fileOf(REVIEW), "Theirs at last.\n");
  await tab.goto(`${origin}/problems`);
  await tab.goto(edited("team:review"));
  await ready(tab);
  await type(tab, "A draft of the last.\n");
  await until("and one of the last text", async () => (await tab.locator("#kept").textContent()).startsWith("draft kept"));
  await tab.goto(`${origin}/problems`);
  await tab.goto(edited("team:review"));
  await ready(tab);
  const offer = (words) => tab.locator(".notice", { hasText: "A draft of this text" }).filter({ hasText: words }).getByRole("button", { name: "Go on with it" }).first();
  await offer("of an earlier text").click();
  await conflict.waitFor();
  await tab.locator(".notice", { hasText: "A draft of this text" }).filter({ hasNotText: "of an earlier text" }).getByRole("button", { name: "Go on with it" }).first().click();
  check(await text(tab) === "A draft of the last.\n" && await conflict.count() === 0, "a draft of what is saved now is no conflict, whatever was taken before it");
  await tab.keyboard.press("Control+s");
  await dialog.getByText("What this save changes").waitFor();
  check((await dialog.locator(".diff").innerText()).includes("Theirs at last."), "and its save is compared with that");
  await dialog.getByRole("button", { name: "Go on editing" }).click();
  await type(tab, "Theirs at last.\n");
  while (await tab.getByRole("button", { name: "Discard it" }).count()) await tab.getByRole("button", { name: "Discard it" }).first().click();
  writeFileSync(fileOf(REVIEW), "Changed while nothing was typed.\n");
  await until("without a change the new text just comes", async () => await text(tab) === "Changed while nothing was typed.\n");

  // In the moment of the save (23)
  await type(tab, "Late.\n");
  await tab.route("**/page/source?*", async (route) => {
    if (route.request().method() === "PUT") writeFileSync(fileOf(REVIEW), "In between.\n");
    await route.continue();
  });
  await tab.keyboard.press("Control+s");
  await tab.getByRole("dialog").waitFor();
  await tab.keyboard.press("Enter");
  await dialog.locator(".three").waitFor();
  check(read(REVIEW) === "In between.\n", "a save never overwrites what came in between");
  await tab.unroute("**/page/source?*");
  await dialog.getByRole("button", { name: "Take theirs" }).click();

  // Line ends, mode and mark (24)
  const file = fileOf("team/prompts/summary.md");
  writeFileSync(file, "\ufeffOne\r\nTwo\r\n");
  chmodSync(file, 0o640);
  await tab.goto(edited("team:summary"));
  await ready(tab);
  await type(tab, "One\nThree\n");
  await tab.keyboard.press("Control+s");
  await tab.getByRole("dialog").getByText("1 added, 1 removed").waitFor();
  await tab.keyboard.press("Enter");
  await until("line ends and the mark stay", () => readFileSync(file, "utf8") === "\ufeffOne\r\nThree\r\n");
  check((statSync(file).mode & 0o777) === 0o640, "the mode stays");

  // Refused in words (25)
  library('//- odd/twig.toml\n[prompts.linked]\n[prompts.hidden]\nfile = ".hidden/hidden.md"\n[prompts.template]\nfile = "prompts/template.j2"\n//- odd/prompts/target.md\nTarget\n//- odd/.hidden/hidden.md\nHidden\n//- odd/prompts/template.j2\nTemplate\n');
  symlinkSync("target.md", fileOf("odd/prompts/linked.md"));
  await tab.goto(`${origin}/`);
  await tab.locator(".rail").getByText("odd").waitFor();
  for (const [name, words] of [["odd:linked", "is a symlink"], ["odd:hidden", "is hidden"], ["odd:template", "may be a program"], ["programs:standup", "programs are not edited"]]) {
    await tab.goto(edited(name));
    await tab.getByRole("alert").waitFor();
    const why = await tab.getByRole("alert").innerText();
    check(why.includes(words), `${name} is refused in words: ${why}`);
  }
  const state = join(home, ".local/state/twig");
  await tab.goto(edited("team:review"));
  await ready(tab);
  await type(tab, "No room.\n");
  renameSync(state, `${state}-away`);
  writeFileSync(state, "");
  await tab.keyboard.press("Control+s");
  await tab.getByRole("dialog").waitFor();
  await tab.keyboard.press("Enter");
  await tab.locator("#edit-failure").waitFor();
  check((await tab.locator("#edit-failure").innerText()).includes("cannot be kept") && read(REVIEW) === "In between.\n", "a disk that refuses is told, and nothing is changed");
  rmSync(state);
  renameSync(`${state}-away`, state);
  await tab.keyboard.press("Control+s");
  await tab.getByRole("dialog").waitFor();
  await tab.keyboard.press("Enter");
  await until("and a later save works", () => read(REVIEW) === "No room.\n");
  writeFileSync(fileOf(REVIEW), before);
  rmSync(fileOf("odd"), { recursive: true });

  // A text area, for those who want one
  await tab.locator("#more > summary").click();
  await tab.getByRole("button", { name: /Plain text field/ }).click();
  await tab.locator("textarea#text:visible").waitFor();
  await tab.locator("textarea#text").fill("Plain {{ oops }}\n");
  await tab.locator(".found .sentence").first().waitFor();
  check(await tab.locator(".cm-content").count() === 0, "a setting keeps a plain text field, with problems and preview");
  await tab.locator("#more > summary").click();
  await tab.getByRole("button", { name: /Plain text field/ }).click();
  await ready(tab);
  check(await text(tab) === "Plain {{ oops }}\n", "what was typed stays when the editor comes");
  await tab.goto(`${origin}/`);

  // Prompts of projects: made, written beside an agent, deleted, and their project with them (23, 32)
  await run(["project", "create", "orchard"]);
  await tab.goto(`${origin}/new`);
  await tab.getByLabel("Project").selectOption({ label: "orchard in default" }).catch(async () => tab.getByLabel("Project").selectOption({ index: 0 }));
  await tab.getByLabel("Name").fill("prune");
  await tab.getByLabel("Text").fill("Prune the trees.\n");
  await tab.getByRole("button", { name: "Make it" }).click();
  await tab.waitForURL(/\/p\/orchard/);
  check((await run(["prompt", "show", "prune", "-p", "orchard"])).startsWith("Prune the trees."), "a prompt is made in a project");
  await tab.getByRole("link", { name: "Edit", exact: true }).click();
  await ready(tab);
  await type(tab, "Prune the old trees.\n");
  const writer = agent("codex", "orchard");
  await writer.call("update_prompt", { name: "prune", content: "Prune nothing.\n" });
  await conflict.getByRole("button", { name: "Keep mine" }).click();
  await tab.getByRole("dialog").getByText("What this save changes").waitFor();
  await tab.keyboard.press("Enter");
  await until("a save makes a version", async () => (await tab.locator("#kept").textContent()) === "saved as version 3");
  writer.end();
  check((await run(["prompt", "history", "prune", "-p", "orchard"])).includes("twig"), "its author is named");
  await tab.locator("#more > summary").click();
  await tab.getByRole("button", { name: "Delete…" }).click();
  await tab.getByRole("dialog").getByRole("button", { name: "Keep it" }).click();
  await tab.locator("#more > summary").click();
  await tab.getByRole("button", { name: "Delete…" }).click();
  // A look while the library is on its way finds nothing to keep.
  let goOn;
  const late = new Promise((done) => { goOn = done; });
  await tab.route("**/page/list*", async (route) => { await late; await route.continue(); });
  const looked = tab.waitForResponse((it) => it.url().includes("/page/source?") && it.status() === 404);
  await tab.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await tab.waitForURL(`${origin}/`);
  await looked;
  goOn();
  await tab.locator("a.row").first().waitFor();
  await tab.unroute("**/page/list*");
  check(await drafts(tab, "orchard:prune") === 0, "what was deleted leaves no draft");
  check(!(await run(["prompt", "list", "-p", "orchard"])).includes("prune"), "a prompt is deleted once it was asked for twice");
  await run(["prompt", "add", "pick", "-p", "orchard", "-c", "Pick."]);
  await tab.goto(edited("orchard:pick"));
  await ready(tab);
  await type(tab, "Pick all.\n");
  await run(["project", "delete", "orchard", "--yes"]);
  await tab.getByText("renamed or removed meanwhile").waitFor();
  check(await text(tab) === "Pick all.\n", "a project that is deleted takes no draft along");
  await tab.reload();
  await tab.getByText("Not found.").waitFor();
  check(await tab.locator("pre.text").textContent() === "Pick all.\n", "and the draft is there to copy after a reload");

  // A file that is deleted while it is edited
  const plan = read("team/prompts/plan.md");
  await tab.goto(edited("team:plan"));
  await ready(tab);
  while (await tab.getByRole("button", { name: "Discard it" }).count()) await tab.getByRole("button", { name: "Discard it" }).first().click();
  await type(tab, "Typed while it was deleted.");
  rmSync(fileOf("team/prompts/plan.md"));
  const told = tab.getByText("Your draft is kept in this browser");
  await told.waitFor();
  await until("a file that is deleted is told", async () => (await tab.locator("#edit-failure").innerText()).includes("its file was deleted"));
  await tab.keyboard.press("Control+s");
  await until("a save of it tells the same", async () => (await tab.locator("#edit-failure").innerText()).includes("Your draft is kept"));
  check(await text(tab) === "Typed while it was deleted.", "and the text stays");
  await tab.reload();
  await tab.getByText("A draft of this text was kept").waitFor();
  check(await tab.locator("pre.text").textContent() === "Typed while it was deleted.", "after a reload the draft is shown");
  await seen(context, tab, "deleted", shots);
  await tab.getByRole("button", { name: "Copy", exact: true }).click();
  await until("and copied", async () => await tab.evaluate(() => navigator.clipboard.readText()) === "Typed while it was deleted.");
  writeFileSync(fileOf("team/prompts/plan.md"), plan);
  await until("a file that is back is edited again", async () => { await tab.reload(); return tab.locator("twig-editor[data-rich]").waitFor({ timeout: 2000 }).then(() => true, () => false); }, 10);
  await tab.getByRole("button", { name: "Go on with it" }).click();
  check(await text(tab) === "Typed while it was deleted.", "with its draft");

  // Without an answer
  await stopServer();
  await tab.keyboard.press("Control+s");
  await tab.getByText("The server does not answer.").waitFor();
  await startServer();
  await tab.locator("#edit-failure").waitFor({ state: "detached" });
  check(await text(tab) === "Typed while it was deleted.", "a server that is back takes the notice away, and nothing else");

  // An outage is no removal, and leaves no draft of a text that nobody changed
  await tab.goto(edited("team:review"));
  await ready(tab);
  while (await tab.getByRole("button", { name: "Discard it" }).count()) await tab.getByRole("button", { name: "Discard it" }).first().click();
  const looks = await answering(tab);
  const failure = tab.locator("#edit-failure");
  await looks.give(503);
  check(await drafts(tab, "team:review") === 0 && await failure.count() === 0, "a text that cannot be read for a moment is not gone");
  await looks.give(404);
  check((await failure.innerText()).includes("renamed or removed meanwhile") && await drafts(tab, "team:review") === 1, "one that is gone is kept");
  await looks.give(403);
  check((await failure.innerText()) === "Answered with 403. Your draft is kept in this browser: copy the text from here.", `what is known of it later is told instead: ${await failure.innerText()}`);
  await looks.give(503);
  check(await failure.count() === 1 && await drafts(tab, "team:review") === 1, "an outage does not bring it back");
  await looks.give(0);
  check(await failure.count() === 0 && await drafts(tab, "team:review") === 0, "a text that is back takes its notice and its draft away");
  await looks.end();

  // No room in this browser
  await tab.evaluate(() => {
    const keep = (name, days) => localStorage.setItem(`twig-edit prompt=${name}`, JSON.stringify({ text: "x".repeat(1000), digest: "", at: Date.now() - days * 86_400_000, base: "" }));
    keep("old", 50); keep("older", 55); keep("fresh", 0);
  });
  await fillStorage(tab);
  await type(tab, "Typed into a full browser.\n");
  await until("the oldest draft of another text makes room for a new one", async () => await drafts(tab, "team:review") === 1);
  check(await drafts(tab, "older") === 0 && await drafts(tab, "old") === 1, "and no more of them");
  await fillStorage(tab);
  await type(tab, `${"Typed into a browser without room. ".repeat(100)}\n`);
  await until("a browser without room says so", async () => (await tab.locator("#kept").textContent()) === "no room for a draft");
  check(await drafts(tab, "old") === 1 && await drafts(tab, "fresh") === 1, "what would not make room enough stays, and so do drafts of today");
  const absent = await answering(tab);
  await absent.give(404);
  check((await failure.innerText()).includes("This browser has no room for your draft: copy the text from here."), "and no notice says that the draft is kept");
  await tab.evaluate(() => { localStorage.removeItem("filler"); });
  await until("with room again it is kept", async () => (await failure.innerText()).includes("Your draft is kept in this browser"));
  await absent.give(0);
  await absent.end();

  // A mistake of the page is not taken for a server that does not answer
  await tab.route("**/page/diff", (route) => route.fulfill({ contentType: "application/json", body: "{}" }));
  await tab.keyboard.press("Control+s");
  await failure.waitFor();
  check(/^That failed \(.+\)\. Your draft is kept in this browser\.$/.test(await failure.innerText()), `a mistake of the page is not the server's: ${await failure.innerText()}`);
  await tab.unroute("**/page/diff");

  // Drafts end after 60 days, and with "Forget this browser"
  await tab.evaluate(() => localStorage.setItem("twig-edit prompt=ancient", JSON.stringify({ text: "x", digest: "", at: Date.now() - 61 * 86_400_000, base: "" })));
  await tab.goto(`${origin}/problems`);
  await tab.locator(".page").waitFor();
  check(await drafts(tab, "ancient") === 0 && await drafts(tab, "old") === 1, "a draft of 60 days is removed when the page is opened, and no newer one");
  await tab.goto(edited("team:review"));
  await ready(tab);
  await type(tab, "Typed before this browser was forgotten.");
  await tab.locator("#keys-button").click();
  await tab.getByRole("button", { name: "Forget this browser" }).click();
  await tab.locator("#secret").waitFor();
  const left = await tab.evaluate(() => [localStorage, sessionStorage].flatMap((it) => Object.keys(it)).filter((it) => /^twig-(key|edit|undo|left|draft)/.test(it)));
  check(left.length === 0, `a browser that was forgotten keeps nothing that was typed: ${left}`);
  await tab.goto(await link());
  await tab.locator("a.row").first().waitFor();

  // The key is forgotten while a text is edited; an error that nobody caught is reported at the end
  await tab.goto(edited("team:plan"));
  await ready(tab);
  await type(tab, "Typed before the key was forgotten.");
  await run(["page", "--forget"]);
  await tab.getByLabel("Key").waitFor();
  const hasDraft = () => tab.evaluate(() => Object.entries(localStorage).some(([key, it]) => key.startsWith("twig-edit") && it.includes("before the key was forgotten")));
  await until("what was typed is kept when the key is forgotten", hasDraft);

  // A link in the open tab
  await tab.evaluate((address) => { location.hash = new URL(address).hash; }, await link());
  await ready(tab);
  check(new URL(tab.url()).hash === "", "a link that is pasted into the open page opens it, and leaves the address");
  await tab.evaluate((address) => { location.hash = new URL(address).hash; }, await link());
  await until("it leaves the address of a page that was open already", () => new URL(tab.url()).hash === "");

  // A key that only reads (3)
  check(existsSync(join(home, ".local/state/twig/replaced")), "what was replaced is kept");
  await stopServer();
  await startServer(["--read-only"]);
  await tab.goto(`${origin}/p/team:review`);
  await tab.locator("#client:not([hidden])").waitFor();
  check(await tab.locator("a[data-to=edit]").count() === 0, "a key that reads has no Edit");
  await tab.getByRole("tab", { name: "Where" }).click();
  check((await tab.locator("#panel-where").innerText()).includes("--read-only"), "and says why");
  const answer = await tab.evaluate(async () => {
    const key = localStorage.getItem("twig-key");
    const answered = await fetch("/page/source?prompt=team:review", {
      method: "PUT", headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", "If-Match": '"sha256:0"' }, body: '{"text":"x"}',
    });
    return [answered.status, (await answered.json()).why];
  });
  check(answer[0] === 403 && answer[1].includes("--read-only") && read(REVIEW) === before, `a save is refused in words: ${answer}`);
  const suggested = await tab.evaluate(async () => (await fetch("/page/suggest", {
    method: "POST", headers: { Authorization: `Bearer ${localStorage.getItem("twig-key")}`, "Content-Type": "application/json" },
    body: JSON.stringify({ draft: { item: { prompt: "team:code-review" }, text: "{{ " }, at: 3 }),
  })).status);
  check(suggested === 403, `who cannot save a text is suggested nothing for it: ${suggested}`);
  await stopServer();
  await startServer();
  await context.close();
}
