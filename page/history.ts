// Versions of a prompt or document: two are compared, and one of them is restored.

import { NoKey, ask, main, make, page, say } from "./base";

export function startHistory(): void {
  const screen = main.querySelector<HTMLElement>("[data-history]");
  if (!screen) return;
  // Whatever news replace, the screen itself stays.
  screen.addEventListener("change", () => {
    const form = main.querySelector<HTMLFormElement>("#versions");
    if (!form) return;
    const picked = new FormData(form);
    const [from, to] = [picked.get("from"), picked.get("to")];
    if (from !== null && to !== null) page.go(`${screen.dataset.history}/${from}..${to}${location.search}`, true);
  });
  const restores = (selector: string, restore: (button: HTMLButtonElement) => Promise<void>) => {
    screen.addEventListener("click", async ({ target }) => {
      const button = (target as Element).closest<HTMLButtonElement>(selector);
      if (!button) return;
      button.disabled = true;
      try { await restore(button); } catch (error) {
        if (error instanceof NoKey) void page.show(); else refused(button, "It was not restored: the server does not answer.");
      }
    });
  };
  restores("[data-restore]", async (button) => {
    const item = new URLSearchParams(page.place().path.split("?")[1]);
    const answer = await ask("/page/restore", {
      method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        name: item.get("name"), uri: item.get("uri"),
        version: Number(button.dataset.restore), expected: Number(button.dataset.expected),
      }),
    }, [403, 404, 409, 412]);
    const { message, version, why } = await answer.json() as { message: string; version?: number; why?: string };
    if (version) {
      page.go(`${screen.dataset.history}/${version - 1}..${version}`, true);
      say(message, true);
    } else refused(button, why ?? "");
  });
  // A file is saved like any text: by the digest of what was compared.
  restores("[data-restore-file]", async (button) => {
    const answer = await ask(`/page/source?${button.dataset.source}`, {
      method: "PUT", headers: { "Content-Type": "application/json", "If-Match": `"${button.dataset.expected}"` },
      body: JSON.stringify({ replaced: button.dataset.restoreFile }),
    }, [403, 404, 409, 412, 507]);
    const { replaced, why } = await answer.json() as { replaced?: string; why?: string };
    if (answer.ok) {
      page.go(`${screen.dataset.history}${replaced ? `?replaced=${replaced}` : ""}`, true);
      say("Restored", true);
    } else refused(button, answer.status === 412 ? "It was changed in the meantime: look at the difference again, then restore." : why ?? "");
  });
}

function refused(button: HTMLButtonElement, message: string): void {
  button.disabled = false;
  say(message, true);
  const head = main.querySelector(".comparison .head");
  const known = main.querySelector(".comparison > .failure");
  if (known) known.textContent = message; else head?.after(make("p", message, { className: "failure" }));
}

/** `[` and `]`: the older or the newer change. Without one that is shown, the last. */
export function stepHistory(what: "older" | "newer"): void {
  const screen = main.querySelector<HTMLElement>("[data-history]");
  const link = main.querySelector<HTMLAnchorElement>(`[data-${what}]`);
  const newest = Number(screen?.dataset.newest ?? 0);
  if (link) page.go(link.pathname, true);
  else if (screen && newest && !main.querySelector(".comparison")) page.go(`${screen.dataset.history}/${newest - 1}..${newest}`, true);
}
