// What is done before a page is first painted: as little as possible. The rest of it is in script.js.
"use strict";

const one = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// --- theme: the system's, light or dark -------------------------------------

const THEMES = ["", "light", "dark"];
const kept = {
  get: (key) => { try { return localStorage.getItem(key); } catch { return null; } },
  set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* private windows */ } },
};
const theme = one("#theme");
function dress(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  theme.textContent = `Theme: ${name || "system"}`;
}
dress(kept.get("theme") || "");
theme.addEventListener("click", () => {
  const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme || "") + 1) % THEMES.length];
  kept.set("theme", next);
  dress(next);
});

// --- what works with a script only is shown, and works once the page is painted ---

for (const part of all("#theme, .switches, #previous, #following")) part.hidden = false;
function load() {
  const rest = document.createElement("script");
  rest.src = one("link[rel=preload][as=script]").href;
  document.head.append(rest);
}
// What is not seen is not painted.
if (document.hidden) load();
else requestAnimationFrame(() => setTimeout(load));
