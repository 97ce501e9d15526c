// The pictures of README: node pictures.mjs TWIG FOLDER
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { agent, end, entered, library, origin, run, startServer } from "./kit.mjs";

const [, , , folder] = process.argv;
try {
  library(readFileSync(join(import.meta.dirname, "pictures.txt"), "utf8"));
  await run(["project", "create", "garden"]);
  const gardener = agent("gardener", "garden");
  const prompt = (content) => ({ name: "water", content, description: "What to water today" });
  await gardener.call("create_prompt", prompt("Water the beds.\nTwice a week.\nUse the old can.\n"));
  await gardener.call("update_prompt", prompt("Water the raised beds, and the herbs.\nTwice a week.\nUse the green can.\n"));
  gardener.end();
  await startServer();
  for (const colorScheme of ["light", "dark"]) {
    const { tab, context } = await entered({ colorScheme, viewport: { width: 1200, height: 700 } });
    const picture = async (name) => {
      await tab.mouse.move(0, 0);
      await tab.evaluate(() => document.fonts.ready);
      await tab.screenshot({ path: join(folder, `page-${name}-${colorScheme}.png`), animations: "disabled" });
    };
    await picture("library");
    await tab.goto(`${origin}/p/team:code-review`);
    await tab.locator("#arguments textarea").first().fill('fn main() { println!("hello"); }');
    await tab.locator("#arguments label", { hasText: "rust" }).click();
    await tab.locator("#preview .value").first().waitFor();
    await tab.locator("#preview:not(.stale)").waitFor();
    await picture("try");
    await tab.goto(`${origin}/p/garden:water/history/1..2`);
    await tab.locator(".comparison ins").first().waitFor();
    await picture("history");
    await tab.goto(`${origin}/edit/team:code-review`);
    await tab.locator(".cm-content").click();
    await tab.keyboard.press("Control+Home");
    await tab.keyboard.press("End");
    await tab.keyboard.type(" {{ l");
    await tab.keyboard.press("Control+Space");
    await tab.locator(".cm-tooltip-autocomplete li").first().waitFor();
    await tab.locator("#preview:not(.stale)").waitFor();
    await picture("edit");
    await context.close();
  }
} finally { await end(); }
