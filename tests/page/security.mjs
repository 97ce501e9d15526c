// Coming in, other sites, hostile content (tests 1, 2, 5, 7 to 9, 17, 19 and 35 of the paper).
import { createServer } from "node:http";
import { check, entered, link, origin, plainHost, run, said, until, visitor } from "./kit.mjs";

export default async function security({ shots }) {
  const { context, tab } = await visitor();
  await tab.goto(`${origin}/`);
  await tab.getByRole("heading", { name: "This page needs a key" }).waitFor();
  check(!(await tab.content()).includes("review"), "without a key there is only the shell");
  if (shots) await tab.screenshot({ path: `${shots}/enter-light.png` });
  await tab.goto("about:blank");
  const address = await link();
  await tab.goto(address);
  await tab.locator("a.row").first().waitFor();
  check(tab.url() === `${origin}/`, "the address has no code after coming in");
  const other = await visitor();
  await other.tab.goto(address);
  await other.tab.getByRole("alert").waitFor();
  check((await other.tab.getByRole("alert").innerText()).includes("used already"), "a link works once");
  await other.context.close();

  const name = encodeURIComponent;
  const attacks = ["/", "/?q=attack", "/p/evil:attack", `/p/${name("evil:a<img src=x onerror=alert(1)>")}`, "/problems", "/problems?x=<script>", "/sources",
    "/connect", "/p/garden:water/history", "/p/garden:water/history/1..2", "/p/evil:attack/history", `/d/${name("twig://pictures/drawing.svg")}`];
  for (const where of attacks) {
    await tab.goto(origin + where);
    await tab.locator("main :is(h1, .lead)").first().waitFor({ state: "attached" });
    await tab.locator("#live[data-state=on]").waitFor({ state: "attached" });
  }
  await tab.goto(`${origin}/p/garden:water/history`);
  await tab.locator(".version").first().waitFor();
  check((await tab.locator(".version .who").allInnerTexts()).some((it) => it.includes("<img src=x")), "the name of an author is text");
  await tab.goto(`${origin}/p/evil:attack`);
  await tab.locator(".hidden-char").first().waitFor();
  check((await tab.locator(".hidden-char").allInnerTexts()).includes("U+202E"), "hidden characters are drawn");
  await tab.goto(`${origin}/?kind=documents`);
  await tab.getByText("Click").first().click();
  await tab.locator(".document").waitFor();
  check(await tab.locator(".document script, .document img, .document iframe, .document svg, .document [onclick], .document [style]").count() === 0, "a document brings no element of its own");
  check((await tab.locator(".document a").evaluateAll((all) => all.map((it) => it.protocol))).every((it) => /^(https?|mailto):$/.test(it)), "links lead to the web or to mail");
  await tab.goto(`${origin}/?kind=documents&q=leaf`);
  await tab.locator("a.row").first().click();
  await tab.locator(".media img[src^='blob:']").waitFor();
  await until("an image is shown from memory", () => tab.locator(".media img").evaluate((it) => it.complete && it.naturalWidth === 1));
  check(await tab.evaluate(() => window.hacked === undefined), "nothing of a hostile library runs");

  await tab.goto(`${origin}/p/programs:standup`);
  await tab.getByText("Nothing was run yet.").waitFor();
  await tab.getByRole("button", { name: "Run the program" }).click();
  await tab.getByText("The program ran.").waitFor();
  check(true, "a program runs only on a click");

  const foreign = createServer((_, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end(`<!doctype html><title>x</title><iframe src="${origin}/"></iframe><img src="${origin}/page/list"><script src="${origin}/page/list"></script>
      <form method="post" action="${origin}/page/enter" target="f"><input name="code" value="x"></form><iframe name="f"></iframe>`);
  });
  await new Promise((done) => foreign.listen(0, "127.0.0.1", done));
  const stranger = await context.newPage();
  await stranger.goto(`http://127.0.0.1:${foreign.address().port}/`);
  const tries = await stranger.evaluate(async (origin) => {
    const ask = (path, options) => fetch(origin + path, options).then((it) => it.type + it.status, () => "refused");
    const paths = ["/", "/page/list", "/page/history?name=garden:water", "/page/connect", "/page/media?uri=x", "/page/palette?q=a"];
    return Promise.all([
      ...paths.map((it) => ask(it)), ask("/page/list", { mode: "no-cors" }),
      ...["/page/enter", "/page/render", "/page/restore", "/page/complete"].map((it) => ask(it, { method: "POST", body: "{}", mode: "no-cors" })),
    ]);
  }, origin);
  check(tries.every((it) => it === "refused" || it === "opaque0"), `a page of another port reads nothing: ${tries}`);
  const [answer] = await Promise.all([
    stranger.waitForResponse((it) => it.url().endsWith("/page/enter"), { timeout: 20_000 }).catch(() => null),
    stranger.evaluate(() => document.forms[0].submit()),
  ]);
  check(!answer || answer.status() === 403, "a form of another port is refused");
  const frame = stranger.frames()[1];
  check(await frame?.evaluate(() => document.body?.innerText ?? "").catch(() => "") !== "twig", "the page is not shown in a frame");
  await stranger.close();
  foreign.close();
  await context.close();

  // A host that is no secure context: the clipboard has only the old way.
  const plain = await visitor();
  await plain.tab.goto((await link()).replace(/^http:\/\/[^/]+/, `http://${plainHost}:${new URL(origin).port}`));
  await plain.tab.locator("a.row").first().waitFor();
  check(await plain.tab.evaluate(() => !isSecureContext && !navigator.clipboard), "the other host is no secure context");
  await plain.tab.goto(`http://${plainHost}:${new URL(origin).port}/p/team:review`);
  await plain.tab.locator("#preview").getByText("Review this text.").waitFor();
  await plain.tab.keyboard.press("c");
  await until("copying works without a secure context", async () => await said(plain.tab) === "Copied");
  await plain.context.close();

  await forget();
}

/** The end of access; the last thing, since it ends that of all. */
async function forget() {
  const { context, tab } = await entered();
  await run(["page", "--forget"]);
  await tab.goto(`${origin}/`);
  await tab.getByRole("heading", { name: "This page needs a key" }).waitFor();
  check(true, "`twig page --forget` ends the access of browsers");
  await context.close();
}
