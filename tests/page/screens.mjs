// Every screen in both themes, at many widths, with axe (test 33).
import { axe, check, entered, origin, settled } from "./kit.mjs";

const SCREENS = {
  library: "/", search: "/?q=review", prompt: "/p/team:code-review?code=fn%20main()%20%7B%7D", text: "/p/team:code-review#text", skill: "/p/skills:tide-tables",
  file: "/s/skills:tide-tables/tables/dover.md", program: "/p/programs:standup", document: "/d/twig:%2F%2Fteam%2Fdecisions%2F0001-wood",
  problems: "/problems", sources: "/sources", connect: "/connect", history: "/p/garden:water/history/1..2", edit: "/edit/team:code-review", mistake: "/edit/team:broken", manifest: "/edit?manifest=team", version: "/edit/garden:water",
  refused: "/edit/programs:standup", new: "/new", missing: "/p/nothing",
};
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** The tool is a string to be run, which the policy of the page refuses for pages. */
export async function violations(context, tab) {
  const cdp = await context.newCDPSession(tab);
  await cdp.send("Runtime.evaluate", { expression: axe });
  const { result } = await cdp.send("Runtime.evaluate", { awaitPromise: true, returnByValue: true, expression: `axe.run(document, {runOnly: ${JSON.stringify(RULES)}}).then((it) => it.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.target.join(' ')).slice(0, 3).join(' | ')))` });
  await cdp.detach();
  return result.value ?? ["axe did not run"];
}

export default async function screens({ shots }) {
  for (const colorScheme of ["light", "dark"]) {
    const { context, tab } = await entered({ colorScheme });
    for (const [name, address] of Object.entries(SCREENS)) {
      await tab.goto(origin + address);
      await tab.locator("main :is(h1, .lead)").first().waitFor({ state: "attached" });
      await settled(tab);
      if (address.startsWith("/p/t")) await tab.locator("#client:not([hidden])").waitFor({ state: "attached" });
      if (address.startsWith("/edit") && name !== "refused") {
        await tab.locator("twig-editor[data-rich]").waitFor();
        await tab.locator("#found > li").first().waitFor();
      }
      if (address.endsWith("#text")) await tab.getByRole("tab", { name: "Text" }).click();
      await tab.evaluate(() => document.fonts.ready);
      // 720 px is what is left of 1440 at 200 %.
      for (const width of [1720, 1440, 1024, 720, 390, 320]) {
        await tab.setViewportSize({ width, height: width < 500 ? 844 : 900 });
        await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        const over = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (over > 0) check(false, `${name} ${width} ${colorScheme}: ${over} px too wide`);
        if (shots && [1720, 1440, 1024, 390].includes(width)) await tab.screenshot({ path: `${shots}/${name}-${width}-${colorScheme}.png`, animations: "disabled" });
        if (width === 1440 || width === 390) {
          const found = await violations(context, tab);
          if (found.length) check(false, `axe, ${name} ${width} ${colorScheme}: ${found.join("; ")}`);
        }
      }
      if (colorScheme === "dark") {
        await tab.emulateMedia({ forcedColors: "active" });
        await tab.setViewportSize({ width: 1440, height: 900 });
        const found = await violations(context, tab);
        if (found.length) check(false, `axe, ${name}, forced colours: ${found.join("; ")}`);
        await tab.emulateMedia({ forcedColors: null });
      }
    }
    await tab.setViewportSize({ width: 1440, height: 900 });
    await tab.goto(`${origin}/`);
    await tab.locator("a.row").first().waitFor();
    await tab.keyboard.press("Control+k");
    await tab.keyboard.type("review");
    await tab.locator(".palette [aria-selected=true]").waitFor();
    await tab.waitForTimeout(200);
    if (shots) await tab.screenshot({ path: `${shots}/palette-1440-${colorScheme}.png`, animations: "disabled" });
    const found = await violations(context, tab);
    check(found.length === 0, `axe, the palette, ${colorScheme}: ${found.join("; ")}`);
    check(true, `all screens at six widths, ${colorScheme}`);
    await context.close();
  }
}
