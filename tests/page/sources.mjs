// Where libraries come from, and how they are followed.
import { rmSync, writeFileSync } from "node:fs";
import { check, entered, fileOf, library, origin, until } from "./kit.mjs";

export default async function sources({ shots }) {
  const { context, tab } = await entered();
  await tab.goto(`${origin}/sources`);
  const source = (name) => tab.locator(".source", { has: tab.getByRole("link", { name, exact: true }) });
  await source("team").waitFor();
  check(/watched|polled/.test(await source("team").innerText()), "a folder says whether it is watched or polled");
  check((await source("team").innerText()).includes("in the data folder"), "and why it was found");
  check(!/watched|polled/.test(await source("garden").innerText()), "a project has no folder");
  const many = Array.from({ length: 200 }, (_, at) => `[[prompts.much.arguments]]\nname = "a${at}"\n`).join("");
  library(`//- odd/twig.toml\n[prompts.plain]\n[prompts.much]\n${many}//- odd/prompts/plain.md\nPlain.\n//- odd/prompts/much.md\nMuch.\n`);
  await source("odd").getByText("limits reached").waitFor();
  check((await source("odd").innerText()).includes("too-many-arguments"), "limits that were reached are named");
  writeFileSync(fileOf("odd/twig.toml"), "[prompts.plain\n");
  await until("a library that cannot be read says that its last good version is served", async () => {
    await tab.reload();
    await source("odd").waitFor();
    return (await source("odd").innerText()).includes("its last good version is served");
  });
  if (shots) for (const [colorScheme, width] of [["light", 1440], ["dark", 1440], ["light", 390], ["dark", 390]]) {
    await tab.emulateMedia({ colorScheme });
    await tab.setViewportSize({ width, height: 900 });
    await tab.screenshot({ path: `${shots}/kept-${width}-${colorScheme}.png`, animations: "disabled" });
  }
  rmSync(fileOf("odd"), { recursive: true });
  await until("and it goes with its folder", async () => await source("odd").count() === 0);
  await context.close();
}
