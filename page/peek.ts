// An entry beside the list, on windows that are wide enough.

import { at, fragment, main, put, update } from "./base";

const isWide = matchMedia("(min-width: 1500px)");
let waiting = 0;
let shown = "";
let path = "";

export function startPeek(): void {
  shown = path = "";
  for (const event of ["focusin", "mouseover"]) {
    at("rows")?.addEventListener(event, (it) => {
      const row = (it.target as Element).closest<HTMLAnchorElement>("a.row");
      clearTimeout(waiting);
      if (row && isWide.matches) waiting = setTimeout(() => void peek(row), event === "focusin" ? 40 : 160);
    });
  }
}

/** Asks again for the entry that is shown. */
export function refreshPeek(): void {
  const box = at("peek");
  const name = shown;
  if (!path || !box?.firstElementChild) return;
  fragment(path).then(({ html, isNew }) => { if (isNew && name === shown) update(box, html); }, () => undefined);
}

async function peek(row: HTMLAnchorElement): Promise<void> {
  const [, kind, name] = /^\/([pd])\/(.*)$/.exec(row.pathname) ?? [];
  const box = at("peek");
  if (!name || !box || shown === name) return;
  shown = name;
  path = `/page/peek?${kind === "p" ? "name" : "uri"}=${name}`;
  const answer = await fragment(path).catch(() => null);
  if (!answer || shown !== name || !box.isConnected) return;
  put(box, answer.html);
  box.scrollTop = 0;
  main.querySelectorAll(".row.at").forEach((it) => it.classList.remove("at"));
  row.classList.add("at");
}
