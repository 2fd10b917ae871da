// What the pages do beyond showing: nothing here is needed to search, read or find. It runs when the page
// has been painted, after first.js. What the page of a file does follows it, in reading.js.
"use strict";

const one = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const kept = {
  get: (key) => { try { return localStorage.getItem(key); } catch { return null; } },
  set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* private windows */ } },
};
// The result that keys have walked to.
let at = -1;
const link_of = (file) => one(".open", file) || one("h2 a", file);
// The page on which one signs in has no box; what is done to one there is not seen.
const box = one("#q") || document.createElement("input");

// --- theme: the system's, light or dark -------------------------------------

const THEMES = ["", "light", "dark"];
one("#theme").addEventListener("click", () => {
  const { dataset } = document.documentElement;
  const next = THEMES[(THEMES.indexOf(dataset.theme || "") + 1) % THEMES.length];
  kept.set("theme", next);
  if (next) dataset.theme = next;
  else delete dataset.theme;
});

// --- menus: a click elsewhere and Esc close them ------------------------------

const menus = all("details.menu");
document.addEventListener("click", ({ target }) => menus.forEach((menu) => { if (!menu.contains(target)) menu.open = false; }));
for (const menu of menus) {
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && menu.open) { menu.open = false; one("summary", menu).focus(); event.stopPropagation(); }
  });
}

// --- results while they are found -------------------------------------------

const results = one("#results[data-stream]");
let coming = null;
if (results) {
  const source = coming = new EventSource(results.dataset.stream);
  let rest = null;
  const show = (html) => { results.innerHTML = html; at = -1; expandable(); };
  const say = (text) => { const place = one(".truth p", results); if (place) place.textContent = text; };
  source.addEventListener("files", (event) => {
    const found = document.createElement("div");
    found.className = "found";
    found.innerHTML = JSON.parse(event.data).html;
    results.append(found);
  });
  source.addEventListener("progress", (event) => say(JSON.parse(event.data).text));
  source.addEventListener("done", (event) => {
    source.close();
    const html = JSON.parse(event.data).html;
    // What somebody reads is not pulled from under the eyes.
    if (window.scrollY < 40 && !results.contains(document.activeElement)) return show(html);
    rest = document.createElement("button");
    rest.textContent = "All results found: show them in order";
    rest.addEventListener("click", () => { show(html); window.scrollTo(0, 0); });
    results.prepend(rest);
    say("the search has ended");
  });
  const failed = (event) => {
    source.close();
    const told = event.data ? JSON.parse(event.data).error.message
      : "the server does not respond, or accepts no more searches now; reload the page in a moment";
    const section = document.createElement("section");
    section.className = "error";
    section.setAttribute("role", "alert");
    section.append(Object.assign(document.createElement("p"), { textContent: told }));
    results.prepend(section);
    say("the search ended early");
  };
  // The server says why; or the connection broke.
  source.addEventListener("failed", failed);
  source.addEventListener("error", failed);
}

// --- all matching lines of a file -------------------------------------------

function expandable() {
  for (const link of all("a[data-more]")) {
    link.addEventListener("click", async (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const file = link.closest(".file");
      const answer = await fetch(link.dataset.more).catch(() => null);
      if (!answer || !answer.ok) { location.href = link.href; return; }
      const lines = document.createElement("div");
      lines.innerHTML = await answer.text();
      link.closest(".more").remove();
      one(".lines", file).replaceWith(...lines.childNodes);
      link_of(file).focus();
    });
  }
}
expandable();

// --- switches that write the query ------------------------------------------

const switches = one(".switches");
const bare = (text) => text.replace(/\s+/g, " ").trim();
// Words, phrases and fields of a query, as they stand.
const FIELD = /^-?(?:repo|r|org|user|file|f|path|ext|extension|filename|dir|lang|l|language|case|multiline|type|t|select|count|timeout):./i;
const OPERATOR = /^(?:or|OR|and|AND|not|NOT|\||-|\(|\))$/;
const words = (text) => text.match(/-?[a-z]*:?"(?:\\.|[^"\\])*"|\/(?:\\.|[^/\\])*\/(?=\s|$)|\S+/g) || [];
// What a switch changes: terms, not fields, operators, groups and what is negated.
const is_term = (word) => !FIELD.test(word) && !OPERATOR.test(word) && !/^[-(]/.test(word) && !/\)$/.test(word.replace(/\\\)/g, ""));
const every = (text, does) => { const found = words(text).filter(is_term); return found.length > 0 && found.every(does); };
const each = (text, change) => words(text).map((word) => is_term(word) ? change(word) : word).join(" ");
// The text that a query looks for, without its fields; and these.
function parts(text) {
  const fields = [];
  let rest = "";
  let from = 0;
  for (const word of words(text)) {
    const at = text.indexOf(word, from);
    if (FIELD.test(word)) {
      rest += text.slice(from, at).trimEnd();
      fields.push(word);
    } else rest += text.slice(from, at + word.length);
    from = at + word.length;
  }
  return { text: rest.trim(), fields };
}
const joined = (text, fields) => [text, ...fields].filter(Boolean).join(" ");
// A text that stands for itself: lit:word, lit:"two words".
const LITERAL = /^lit:(?:"((?:\\.|[^"\\])*)"|([^\s"]+))$/;
const quoted = (text) => /^[^\s"()|]+$/.test(text) ? `lit:${text}` : `lit:"${text.replace(/["\\]/g, "\\$&")}"`;
const unquoted = (text) => { const found = text.match(LITERAL); return found && (found[2] ?? found[1].replace(/\\(["\\])/g, "$1")); };
// Switched in an empty box: what is typed next stands for itself, once it is sent.
let as_text = false;
const state = {
  case: (text) => /(^|\s)case:yes(\s|$)/.test(text),
  word: (text) => every(text, (word) => /^\\b.*\\b$/.test(word)),
  regex: (text) => !as_text && !LITERAL.test(parts(text).text),
};
const change = {
  case: (text, on) => on ? bare(text.replace(/(^|\s)case:yes(?=\s|$)/, " ")) : bare(`${text} case:yes`),
  // Phrases and expressions are left as they are: what a whole word of them is nobody knows.
  word: (text, on) => each(text, (word) => on ? word.replace(/^\\b(.*)\\b$/, "$1") : /^\w+$/.test(word) ? `\\b${word}\\b` : word),
  // All of the text stands for itself, or none of it: what it was before comes back.
  regex: (query, on) => {
    const { text, fields } = parts(query);
    const waits = as_text;
    as_text = on && !text;
    if (as_text || waits) return query;
    if (on) {
      const phrase = text.match(/^"((?:\\.|[^"\\])*)"$/);
      const literal = phrase ? `lit:${text}` : quoted(text);
      kept.set("switched", JSON.stringify([literal, text]));
      return joined(literal, fields);
    }
    let before = null;
    try { before = JSON.parse(kept.get("switched")); } catch { /* not ours */ }
    return joined(before?.[0] === text ? before[1] : unquoted(text), fields);
  },
};
function press() {
  for (const button of all("button", switches)) {
    button.setAttribute("aria-pressed", state[button.dataset.switch](box.value));
  }
}
if (switches) {
  press();
  box.form.addEventListener("submit", () => {
    const { text, fields } = parts(box.value);
    if (as_text && text && !LITERAL.test(text)) box.value = joined(quoted(text), fields);
  });
  box.addEventListener("input", press);
  for (const button of all("button", switches)) {
    const name = button.dataset.switch;
    const flip = () => {
      box.value = change[name](box.value, state[name](box.value));
      press();
      box.focus();
      // What is shown is to be what was asked for.
      if (location.pathname === "/search" && bare(box.value)) box.form.requestSubmit();
    };
    button.addEventListener("click", flip);
    document.addEventListener("keydown", (event) => {
      if (event.altKey && event.code === `Key${name[0].toUpperCase()}`) { event.preventDefault(); flip(); }
    });
  }
}

// --- help while typing, and what was asked before ---------------------------

const list = one("#suggestions") || document.createElement("ul");
const HISTORY = 50;
const history_of = () => { try { return JSON.parse(kept.get("history")) || []; } catch { return []; } };
const remember = (asked) => kept.set("history", JSON.stringify([asked, ...history_of().filter((q) => q !== asked)].slice(0, HISTORY)));
const asked = new URLSearchParams(location.search).get("q");
if (asked && location.pathname === "/search") remember(asked);
let chosen = -1;
let turn = 0;
box.setAttribute("role", "combobox");
box.setAttribute("aria-controls", "suggestions");
box.setAttribute("aria-expanded", "false");
box.setAttribute("aria-autocomplete", "list");

function close_list() {
  turn += 1;
  list.hidden = true;
  chosen = -1;
  box.setAttribute("aria-expanded", "false");
  box.removeAttribute("aria-activedescendant");
}
function offer(items) {
  list.replaceChildren(...items.map(({ label, note, take }, at) => {
    const item = document.createElement("li");
    item.id = `suggestion${at}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    item.append(label, Object.assign(document.createElement("small"), { textContent: note || "" }));
    item.addEventListener("mousedown", (event) => { event.preventDefault(); take(); });
    return item;
  }));
  list.items = items;
  list.hidden = items.length === 0;
  chosen = -1;
  box.setAttribute("aria-expanded", String(!list.hidden));
  box.removeAttribute("aria-activedescendant");
}
function choose(at) {
  const rows = all("li", list);
  chosen = (at + rows.length) % rows.length;
  rows.forEach((row, i) => row.setAttribute("aria-selected", String(i === chosen)));
  rows[chosen].scrollIntoView({ block: "nearest" });
  box.setAttribute("aria-activedescendant", rows[chosen].id);
}
async function suggest() {
  // Fields and paths help to find code only.
  if (box.form.getAttribute("action") !== "/search") return;
  const mine = ++turn;
  const at = box.selectionStart;
  const before = box.value.slice(0, at);
  const word = (before.match(/-?[a-z]+:"[^"]*$|\S+$/) || [""])[0];
  if (!box.value) {
    return offer(history_of().slice(0, 8).map((q) => ({ label: q, note: "recent", take: () => { box.value = q; close_list(); box.form.requestSubmit(); } })));
  }
  if (word.length < 1) return close_list();
  const answer = await fetch(`/suggest?word=${encodeURIComponent(word)}`).catch(() => null);
  if (mine !== turn || !answer || !answer.ok) return;
  const { suggestions } = await answer.json();
  offer(suggestions.map(({ text, label, note }) => ({
    label, note,
    take: () => {
      const from = at - word.length;
      box.value = box.value.slice(0, from) + text + box.value.slice(at).replace(/^\s/, "");
      box.setSelectionRange(from + text.length, from + text.length);
      close_list();
      press();
      if (text.endsWith(":")) suggest();
      else ask_soon();
    },
  })));
}
box.addEventListener("input", suggest);
box.addEventListener("blur", close_list);
box.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" && list.hidden) { event.preventDefault(); suggest(); return; }
  if (event.key === "Escape") { if (list.hidden) box.blur(); else close_list(); event.preventDefault(); return; }
  // The results of the query are there: on to the first one.
  if (event.key === "Enter" && chosen < 0 && !as_text && has_results()) { event.preventDefault(); close_list(); remember(bare(box.value)); at = -1; walk(1); return; }
  if (list.hidden) return;
  if (event.key === "ArrowDown") { event.preventDefault(); choose(chosen + 1); }
  if (event.key === "ArrowUp") { event.preventDefault(); choose(chosen < 0 ? -1 : chosen - 1); }
  if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) { event.preventDefault(); list.items[chosen].take(); }
});

// --- results while a query is typed --------------------------------------------

const main = one("main");
const live = one("#live");
const PAUSE = 150;
// What is shown: the query, and the address, which is that of the page that Enter leads to.
let shown = location.pathname === "/search" && bare(asked || "");
const address_of = () => location.pathname + location.search;
let address = address_of();
// What is under way; until when nothing is asked, as the server wants it; and whether the way back leads to the page
// that was there before.
let [asking, timers, rests_until, is_begun] = [null, [], 0, false];
const is_live = () => kept.get("live") !== "off";
const has_results = () => location.pathname === box.form.getAttribute("action") && one(".file")
  && bare(box.value) === bare(new URLSearchParams(location.search).get("q") || "");
// Why a query is not looked for yet: something in it is open, or it has nothing to look for. Empty if it is finished.
function why_not(query) {
  const { text } = parts(query);
  const plain = text.replace(/\\./g, "_").replace(/"[^"]*"/g, "").replace(/\blit:\S+/g, "_").replace(/\[\^?\]?[^\]]*\]/g, "_");
  const open = (letter) => plain.split(letter).length;
  const as_it_is = "or switch .* off (Alt+R) to search for the text as it is";
  if (open("(") !== open(")")) return open("(") > open(")") ? `A "(" is not closed: close it, ${as_it_is}.` : `A ")" has no "(": add it, ${as_it_is}.`;
  if (/["[\]{\\]/.test(plain.replace(/\{\d*,?\d*\}/g, ""))) return `A quote, a bracket or a backslash is not complete: complete it, ${as_it_is}.`;
  if (/(?:^|[\s(])(?:or|and|not|-?[a-z]+:)$|[|-]$/i.test(query)) return "The query ends with an operator or a field: add a term.";
  const has_word = /[\p{L}\p{N}_]{3}|[^\x00-\x7f]{2}/u.test(words(text).filter((word) => !OPERATOR.test(word)).join(" "));
  return has_word ? "" : "Results appear from three letters on; Enter searches at once.";
}
// Said to those who see the page, and to those who listen.
function say_why(why) {
  main.dataset.why = why;
  one("#told").textContent = why;
}
function ask_soon() {
  timers.forEach(clearTimeout);
  asking?.abort();
  asking = null;
  const query = bare(box.value);
  if (!live || !is_live() || !["/", "/search"].includes(location.pathname) || box.form.getAttribute("action") !== "/search") return;
  main.classList.remove("stale");
  delete main.dataset.why;
  if (!query || query === shown) return;
  const why = why_not(query);
  // The results that are there are of another query, which is told when they stay for a while.
  timers = [setTimeout(() => { main.classList.add("stale"); if (why) say_why(why); }, 600)];
  if (!why && Date.now() >= rests_until) timers.push(setTimeout(() => show_typed(query), PAUSE));
}
async function show_typed(query) {
  const mine = asking = new AbortController();
  const target = `/search?${new URLSearchParams({ q: query })}`;
  let page = null;
  try {
    const answer = await fetch(`${target}&typed=1`, { headers: { accept: "text/html" }, signal: mine.signal });
    if (answer.status === 429) rests_until = Date.now() + 1000 * (answer.headers.get("retry-after") || 1);
    // The query is not finished, or there is no time for it now: what is shown stays.
    if (answer.status === 204 && mine === asking) say_why("The query is not complete, or takes long: Enter searches, and says why.");
    if (answer.status === 200) page = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch { /* another one was begun, or the server does not answer */ }
  // A late answer shows nothing, and nobody who has gone on to the results loses them.
  if (mine !== asking || !page || (main !== document.activeElement && main.contains(document.activeElement))) return;
  coming?.close();
  timers.forEach(clearTimeout);
  main.classList.remove("stale");
  const is_unfolded = one("#fold")?.checked;
  one(".truth p", page)?.removeAttribute("role");
  main.replaceChildren(...one("main", page).childNodes);
  document.title = page.title;
  if (is_unfolded && one("#fold")) one("#fold").checked = true;
  at = -1;
  expandable();
  history[is_begun ? "replaceState" : "pushState"](null, "", target);
  [is_begun, shown, address] = [true, query, address_of()];
  // Who listens is told when the typing has ended.
  timers = [setTimeout(() => { one("#told").textContent = one(".truth p")?.textContent ?? ""; }, 1000)];
}
const press_live = () => live?.setAttribute("aria-pressed", String(is_live()));
press_live();
live?.addEventListener("click", () => { kept.set("live", is_live() ? "off" : ""); press_live(); ask_soon(); });
box.addEventListener("input", (event) => { if (!event.isComposing) ask_soon(); });
box.addEventListener("compositionend", ask_soon);
// Pages of before are not kept: they are loaded again.
addEventListener("popstate", () => { if (address !== address_of()) location.reload(); });
main.addEventListener("click", (event) => { if (is_begun && event.target.closest?.("a")) remember(shown); });

// --- what this browser asked before, on the first page -----------------------

const recent = one("#recent");
if (recent) {
  const row = (q) => {
    const link = Object.assign(document.createElement("a"), { href: `/search?q=${encodeURIComponent(q)}` });
    link.append(Object.assign(document.createElement("code"), { textContent: q }));
    const item = document.createElement("li");
    item.append(link);
    return item;
  };
  const asked_before = history_of().slice(0, 8);
  one("ul", recent).replaceChildren(...asked_before.map(row));
  recent.hidden = asked_before.length === 0;
  one("button", recent).addEventListener("click", () => { kept.set("history", "[]"); recent.hidden = true; box.focus(); });
}

// --- the finder -------------------------------------------------------------

const finder = one("#finder");
const typed = one("input", finder);
const found = one("#found");
const bytes_of = new TextEncoder();
let finding = 0;
let picked = 0;
function pick(at) {
  const rows = all("li", found);
  if (!rows.length) return;
  picked = (at + rows.length) % rows.length;
  rows.forEach((row, i) => row.setAttribute("aria-selected", String(i === picked)));
  rows[picked].scrollIntoView({ block: "nearest" });
  typed.setAttribute("aria-activedescendant", rows[picked].id);
}
const ask_for = (address) => fetch(address).then((answer) => answer.ok ? answer.json() : null).catch(() => null);
function row_of(href, label, where) {
  const row = document.createElement("li");
  row.setAttribute("role", "option");
  row.dataset.href = href;
  row.append(label, Object.assign(document.createElement("small"), { textContent: where }));
  row.addEventListener("click", () => { location.href = href; });
  return row;
}
const labelled = (text) => Object.assign(document.createElement("span"), { textContent: text });
const address_at = ({ repo, path }) => `/file?repo=${encodeURIComponent(repo)}&path=${encodeURIComponent(path)}`;
function file_row(file) {
  const path = document.createElement("span");
  const marked = new Set(file.matched);
  // What is marked is counted in bytes of UTF-8.
  let byte = 0;
  for (const letter of file.path) {
    path.append(marked.has(byte) ? Object.assign(document.createElement("mark"), { textContent: letter }) : letter);
    byte += bytes_of.encode(letter).length;
  }
  return row_of(address_at(file), path, file.repo);
}
function show_found(rows) {
  rows.forEach((row, at) => { row.id = `found${at}`; });
  found.replaceChildren(...rows);
  pick(picked);
}
async function find() {
  const mine = ++finding;
  const said = typed.value.trim();
  const near = await ask_for(`/files?format=json&limit=40&q=${encodeURIComponent(said)}`);
  if (mine !== finding || !near) return;
  const files = near.files.map(file_row);
  const counted = near.found === files.length ? `${near.found} ${near.found === 1 ? "file" : "files"}` : `the nearest ${files.length} of ${near.found} files`;
  one("p", finder).textContent = counted;
  picked = 0;
  show_found(files);
  if (!/^[\p{L}_][\p{L}\p{N}_.:]{2,}$/u.test(said)) return;
  // Symbols are asked for when the typing rests.
  await new Promise((done) => setTimeout(done, PAUSE));
  if (mine !== finding) return;
  const named = await ask_for(`/search?${new URLSearchParams({ q: `sym:${said.replaceAll(".", "::")}`, sort: "relevance", limit: 10, format: "json" })}`);
  if (mine !== finding || !named) return;
  const all_symbols = named.files.flatMap((file) => file.matches.flatMap((line) => line.symbols.map((symbol) => ({ file, symbol }))));
  const is_exact = ({ symbol }) => symbol.name === said.split(/[.:]+/).at(-1);
  const symbol_row = ({ file, symbol }) => row_of(`${address_at(file)}#L${symbol.line}`, labelled(symbol.name),
    `${symbol.kind}${symbol.container ? ` of ${symbol.container}` : ""} · ${file.path}:${symbol.line} · ${file.repo}`);
  const exact = all_symbols.filter(is_exact).slice(0, 3);
  const others = all_symbols.filter((one_of) => !exact.includes(one_of)).slice(0, 8);
  one("p", finder).textContent = `${counted}; ${exact.length + others.length} symbols`;
  // What somebody has walked to stays under the eyes.
  const first = picked ? [] : exact;
  show_found([...first.map(symbol_row), ...files.slice(0, 8), ...(picked ? exact : []).map(symbol_row), ...others.map(symbol_row), ...files.slice(8)]);
}
function open_finder() { if (!finder.open) { finder.showModal(); typed.select(); find(); } }
typed.addEventListener("input", find);
typed.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") { event.preventDefault(); pick(picked + 1); }
  if (event.key === "ArrowUp") { event.preventDefault(); pick(picked - 1); }
  if (event.key === "Enter") {
    event.preventDefault();
    const row = all("li", found)[picked];
    if (row) location.href = row.dataset.href;
  }
});
for (const link of all("header a[href='/files']")) {
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    menus.forEach((menu) => { menu.open = false; });
    open_finder();
  });
}

// --- keys -------------------------------------------------------------------

const help = one("#keys");
one("#help").addEventListener("click", () => help.showModal());
function walk(step) {
  const files = all(".file");
  if (!files.length) return;
  files[at]?.classList.remove("here");
  at = Math.max(0, Math.min(files.length - 1, at + step));
  files[at].classList.add("here");
  link_of(files[at]).focus({ preventScroll: true });
  files[at].scrollIntoView({ block: "center" });
}
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "k") { event.preventDefault(); open_finder(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input:not([type=checkbox]), textarea, select") || finder.open || help.open) return;
  const keys = {
    "?": () => help.showModal(),
    w: toggle_wrap,
    y: copy_link,
    c: copy_path,
    C: copy_lines,
    l: go_to_line,
    s: narrow_outline,
    d: look_up,
    b: toggle_wide,
    "/": () => { box.focus(); box.select(); },
    t: open_finder,
    j: () => walk(1),
    k: () => walk(-1),
    n: () => go(1),
    p: () => go(-1),
    o: () => { const here = one(".file.here"); if (here) link_of(here).click(); },
  };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});
