// Drives the page of a real server with Debian's Chromium, one theme after the other.
// Usage: node page.mjs TWIG [FOLDER FOR PICTURES] [THEME…]; the modules are in NODE_MODULES.
import { check, end, failed, fill, hosts, origin, plainHost, reports, startServer } from "./kit.mjs";

const THEMES = ["lists", "try", "history", "edit", "connect", "sources", "live", "keyboard", "screens", "security"];
const [shots, ...wanted] = process.argv.slice(3);
try {
  await fill();
  await startServer();
  for (const theme of wanted.length ? wanted : THEMES) {
    const begun = Date.now();
    const { default: run } = await import(`./${theme}.mjs`);
    await run({ shots: shots || undefined }).catch((error) => check(false, `${theme}: ${error.message.split("\n").slice(0, 4).join(" ")} ${/\w+\.mjs:\d+/.exec(error.stack.split("at ").slice(1).join())?.[0]}`));
    console.log(`     ${theme}: ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  }
  check(reports.length === 0, `no report of the policy, no error: ${reports.slice(0, 5).join(" / ")}`);
  const own = (it) => it === origin || it.startsWith("http://127.0.0.1:") || it.startsWith(`http://${plainHost}:`);
  check([...hosts].every(own), `no request to another host: ${[...hosts]}`);
} finally { await end(); }
if (failed().length) { console.error(`${failed().length} failed`); process.exit(1); }
