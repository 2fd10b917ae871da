// What is done before anything is painted, while the page is still being read: as little as possible. The
// rest of it is in script.js.
"use strict";
{
  const root = document.documentElement;
  try {
    const theme = localStorage.getItem("theme");
    if (theme) root.dataset.theme = theme;
  } catch { /* private windows */ }
  // The style sheet shows what works with a script only; it works once the page is there and painted.
  root.dataset.scripts = "";
  const { rest } = document.currentScript.dataset;
  const load = () => document.head.append(Object.assign(document.createElement("script"), { src: rest }));
  addEventListener("DOMContentLoaded", () => {
    // What is not seen is not painted.
    if (document.hidden) load();
    else requestAnimationFrame(() => setTimeout(load));
  });
}
