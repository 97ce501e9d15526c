// Versions of a project (tests 27 and 32).
import { readFileSync, writeFileSync } from "node:fs";
import { agent, check, entered, fileOf, origin, run, said, settled, until } from "./kit.mjs";

export default async function history({ shots }) {
  const { context, tab } = await entered();
  await tab.goto(`${origin}/p/garden:water`);
  await tab.getByRole("link", { name: "History" }).click();
  await tab.waitForURL(/\/p\/garden:water\/history$/);
  await tab.locator(".version").first().waitFor();
  check(await tab.locator(".version").count() === 2, "all versions are listed");
  await tab.locator("#from-1").check();
  await tab.locator("#to-2").check();
  await tab.waitForURL(/\/history\/1\.\.2$/);
  await tab.locator(".diff ins").first().waitFor();
  check(await tab.locator(".diff ins").allInnerTexts().then((it) => it.join("|")) === "raised ", "the words that changed are marked");
  check((await tab.locator(".diff .sign").allInnerTexts()).some((it) => it.startsWith("+")), "signs stand beside the colours");
  check(await tab.evaluate(() => document.activeElement?.id) === "to-2", "the focus stays on the choice");
  await tab.keyboard.press("[");
  await tab.getByRole("heading", { name: "Version 1, the first that is kept" }).waitFor();
  await tab.keyboard.press("]");
  await tab.getByRole("heading", { name: "From version 1 to 2" }).waitFor();
  await tab.reload();
  await tab.locator(".diff").waitFor();
  check(await tab.locator("#from-1").isChecked(), "a reload keeps what is compared");

  // Restore shows the difference first, and does not overwrite what an agent wrote meanwhile
  await tab.goto(`${origin}/p/garden:water/history/1..1`);
  await tab.getByRole("link", { name: "Restore version 1…" }).click();
  await tab.waitForURL(/\/history\/2\.\.1$/);
  const restore = tab.getByRole("button", { name: "Restore version 1" });
  await restore.waitFor();
  const writer = agent("codex", "garden");
  let late = false;
  await tab.route("**/page/restore", async (route) => {
    if (!late) { late = true; await writer.call("update_prompt", { name: "water", content: "Water nothing today.\n" }); }
    await route.continue();
  });
  await restore.click();
  await until("a restore does not overwrite what was written meanwhile", async () => (await said(tab))?.includes("in the meantime"));
  writer.end();
  await tab.unroute("**/page/restore");
  await tab.goto(`${origin}/p/garden:water/history/3..1`);
  await tab.getByRole("button", { name: "Restore version 1" }).click();
  await tab.waitForURL(/\/history\/3\.\.4$/);
  await until("the restore is told", async () => (await said(tab))?.includes("version 4"));
  check((await run(["prompt", "show", "water", "-p", "garden"])).startsWith("Water the beds."), "the old text is back");
  check(await tab.locator(".version").count() === 4, "nothing was lost");

  // A file
  await tab.goto(`${origin}/p/team:review`);
  await tab.getByRole("link", { name: "History" }).waitFor();
  await tab.keyboard.press("h");
  await tab.waitForURL(/\/p\/team:review\/history$/);
  await tab.getByText("log --follow").waitFor();
  check(true, "a file names the command of git");
  await tab.keyboard.press("Escape");
  await tab.waitForURL(/\/p\/team:review$/);

  await files(tab, shots);

  // A project that is deleted under the page
  await run(["project", "create", "shed"]);
  await run(["prompt", "add", "tidy", "-p", "shed", "-c", "Tidy."]);
  await tab.goto(`${origin}/p/shed:tidy`);
  await tab.getByText("Tidy.").first().waitFor();
  await run(["project", "delete", "shed", "--yes"]);
  await tab.getByText("Not found.").waitFor();
  check(true, "a project that is deleted is not found");
  await context.close();
}

/** A prompt and a document that are files: what the page replaced is restored by the digest of what was compared. */
async function files(tab, shots) {
  for (const [screen, file] of [["/p/team:plan", "team/prompts/plan.md"], [`/d/${encodeURIComponent("twig://team/decisions/0001-wood")}`, "team/docs/decisions/0001-wood.md"]]) {
    const path = fileOf(file);
    const before = readFileSync(path, "utf8");
    await tab.goto(origin + screen);
    await tab.locator("a[data-to=edit]").click();
    await tab.locator("twig-editor[data-rich]").waitFor();
    await tab.locator(".cm-content").click();
    await tab.keyboard.press("Control+a");
    await tab.keyboard.insertText("Quite another text.\n");
    await tab.keyboard.press("Control+s");
    await tab.getByRole("dialog").getByText("Quite another text.").waitFor();
    await tab.keyboard.press("Enter");
    await until(`${file} is saved`, () => readFileSync(path, "utf8") === "Quite another text.\n");
    await tab.goto(origin + screen);
    await tab.getByRole("link", { name: "History" }).click();
    await tab.getByRole("link", { name: "Restore…", exact: true }).first().click();
    await tab.getByRole("heading", { name: "What restoring this version changes" }).waitFor();
    await settled(tab);
    if (shots && screen.startsWith("/p/")) for (const colorScheme of ["light", "dark"]) {
      await tab.emulateMedia({ colorScheme });
      for (const width of [1440, 390]) {
        await tab.setViewportSize({ width, height: 844 });
        await tab.screenshot({ path: `${shots}/restore-${width}-${colorScheme}.png`, animations: "disabled" });
      }
      await tab.emulateMedia({ colorScheme: "light" });
      await tab.setViewportSize({ width: 1440, height: 900 });
    }
    check((await tab.locator(".diff .removed").first().innerText()).includes("Quite another text."), "the difference comes before the restore, from now on");
    const restore = tab.getByRole("button", { name: "Restore this version" });
    let late = false;
    await tab.route("**/page/source?*", async (route) => {
      if (!late) { late = true; writeFileSync(path, "In between.\n"); }
      await route.continue();
    });
    await restore.click();
    await until("what came in between is not overwritten", async () => (await said(tab))?.includes("in the meantime") && readFileSync(path, "utf8") === "In between.\n");
    await tab.unroute("**/page/source?*");
    await tab.reload();
    await restore.click();
    await until(`${file} is as it was`, () => readFileSync(path, "utf8") === before);
    await tab.getByRole("heading", { name: "From this version to now" }).waitFor();
    check((await tab.locator(".diff .removed").first().innerText()).includes("In between."), "and what was replaced is kept");
  }
}
