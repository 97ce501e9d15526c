// Clients of this machine, and what their buttons say.
import { check, entered, origin, until } from "./kit.mjs";

export default async function connect() {
  const { context, tab } = await entered();
  await tab.goto(`${origin}/connect`);
  const row = (name) => tab.locator(`[data-key="c:${name}"]`);
  await row("Cursor").waitFor();
  check((await row("Cursor").innerText()).includes("has Twig"), "a client with Twig is said to have it");
  check((await row("Gemini CLI").innerText()).includes("does not reach Twig"), "a client whose program is missing is said to be broken");
  const link = await tab.getByRole("link", { name: "Add in VS Code" }).getAttribute("href");
  const entry = JSON.parse(decodeURIComponent(link.replace("vscode:mcp/install?", "")));
  check(entry.name === "twig" && entry.args[0] === "serve" && /\/twig[^/]*$/.test(entry.command), "VS Code gets a link with this program");
  await row("Claude Code").getByRole("button", { name: "Copy the command" }).click();
  await until("the command is copied", async () => await tab.evaluate(() => navigator.clipboard.readText()) === "twig connect claude-code");
  await tab.getByRole("button", { name: "Check" }).click();
  await tab.locator("#asked .source").first().waitFor({ timeout: 60_000 });
  const asked = await tab.locator("#asked").innerText();
  check(/cursor[\s\S]*reaches Twig/.test(asked) && /gemini[\s\S]*does not reach Twig/.test(asked), "a button asks whether each reaches Twig");
  await context.close();
}
