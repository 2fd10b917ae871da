
// What the page of a file does: it is sent behind script.js, as one script with it.

const text = one("#text");
const file = one("h1[data-path]")?.dataset;

// --- lines that are chosen ----------------------------------------------------

let anchor = null;
function chosen_lines() {
  const place = text && location.hash.match(/^#L(\d+)(?:-L?(\d+))?$/);
  return place ? [Number(place[1]), Number(place[2] || place[1])].sort((a, b) => a - b) : null;
}
function show_lines(scrolls) {
  all("li.on", text).forEach((line) => line.classList.remove("on"));
  const lines = chosen_lines();
  const copies = one("#copy-lines");
  if (copies) copies.hidden = !lines;
  if (!lines) return;
  const [from, upto] = lines;
  for (let n = from; n <= upto && n < from + 5000; n += 1) one(`#L${n}`, text)?.classList.add("on");
  if (scrolls) one(`#L${from}`, text)?.scrollIntoView({ block: "center" });
  const origin = one("#origin");
  if (origin) origin.hash = upto > from ? `L${from}${origin.dataset.between}${upto}` : `L${from}`;
}
function lines_on() {
  show_lines(true);
  anchor = chosen_lines()?.[0] ?? anchor;
}
if (text) {
  lines_on();
  window.addEventListener("hashchange", lines_on);
  // A click with Shift selects text elsewhere.
  text.addEventListener("mousedown", (event) => { if (event.shiftKey && event.target.closest?.(".no")) event.preventDefault(); });
  text.addEventListener("click", (event) => {
    const number = event.target.closest?.(".no");
    if (!number || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const line = Number(number.textContent);
    if (!event.shiftKey || !anchor) anchor = line;
    const [from, upto] = [anchor, line].sort((a, b) => a - b);
    // The line under the pointer stays there, and the way back leads off the page.
    history.replaceState(null, "", from === upto ? `#L${from}` : `#L${from}-L${upto}`);
    show_lines(false);
  });
}

// --- lines that match -----------------------------------------------------------

const marks = text ? all("li.hit", text) : [];
let mark = -1;
function go(step) {
  if (!marks.length) return;
  if (mark < 0) {
    // The first one from the line that is shown.
    const next = marks.findIndex((line) => Number(line.id.slice(1)) >= (anchor || 0));
    mark = step > 0 ? (next < 0 ? 0 : next) - (marks[next]?.classList.contains("on") ? 0 : 1) : (next < 0 ? 0 : next);
  }
  all("mark.current", text).forEach((old) => old.classList.remove("current"));
  mark = (mark + step + marks.length) % marks.length;
  one("mark", marks[mark])?.classList.add("current");
  marks[mark].scrollIntoView({ block: "center" });
  one(".hits").textContent = `match ${mark + 1} of ${marks.length} lines`;
}
one("#previous")?.addEventListener("click", () => go(-1));
one("#following")?.addEventListener("click", () => go(1));

// --- copying, wrapping, going to a line --------------------------------------

async function copy(said, button) {
  try {
    await navigator.clipboard.writeText(said);
  } catch {
    // Over plain HTTP a page has no clipboard but this one.
    const area = Object.assign(document.createElement("textarea"), { value: said, className: "unseen" });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  if (!button) return;
  const label = button.dataset.name ||= button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, 1500);
}
// The address becomes that of exactly this text.
const permalink = one("#permalink");
function copy_link() {
  if (permalink) history.replaceState(null, "", permalink.getAttribute("href") + location.hash);
  address = address_of();
  copy(location.href, permalink);
}
const copy_path = () => { if (file) copy(file.path, one("#copy-path")); };
async function copy_lines() {
  const lines = chosen_lines();
  if (!lines) return;
  const shown = all("li", text).slice(lines[0] - 1, lines[1]);
  let said = shown.map((line) => `${one("code", line).textContent}\n`).join("");
  // What is shown in another form, or not to its end, is copied as it is.
  if (shown.some((line) => one(".cut, .turn", line))) {
    const answer = await fetch(`/file?${new URLSearchParams({ repo: file.repo, path: file.path, ...(file.rev ? { rev: file.rev } : { hash: file.hash }), lines: lines.join("-"), format: "json" })}`).catch(() => null);
    if (!answer?.ok) return;
    said = (await answer.json()).text;
  }
  copy(said, one("#copy-lines"));
}
permalink?.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  copy_link();
});
one("#copy-path")?.addEventListener("click", copy_path);
one("#copy-lines")?.addEventListener("click", copy_lines);

// What is switched on with a button stays so on the next page.
function switched(key, button) {
  const set = (on) => {
    document.documentElement.classList.toggle(key, on);
    one(button)?.setAttribute("aria-pressed", String(on));
  };
  const toggle = () => { const on = !document.documentElement.classList.contains(key); kept.set(key, on ? "1" : ""); set(on); };
  set(kept.get(key) === "1");
  one(button)?.addEventListener("click", toggle);
  return toggle;
}
const toggle_wrap = switched("wrap", "#wrap");
const toggle_wide = switched("wide", "#wide");

function go_to_line() {
  if (!text) return;
  const said = prompt("Go to line, or lines: 10-20", "")?.trim() ?? "";
  const lines = said.match(/^(\d+)(?:-(\d+))?$/);
  if (lines) location.hash = lines[2] ? `#L${lines[1]}-L${lines[2]}` : `#L${lines[1]}`;
}

// The file that is shown is seen in its tree, too.
const leaf = one(".tree [aria-current]");
if (leaf) { const tree = leaf.closest(".tree"); tree.scrollTop = leaf.offsetTop - tree.clientHeight / 2; }

// --- the outline --------------------------------------------------------------

const outline = one(".outline.side");
const narrow = one("#narrow");
const entries = outline ? all("[data-upto]", outline).map((item) => ({
  item,
  link: one("a", item),
  from: Number(one("a", item).hash.slice(2)),
  upto: Number(item.dataset.upto),
  level: Number(item.className.slice(1)),
  label: one("span", item).textContent.toLowerCase(),
})) : [];
function filter_outline() {
  const wanted = narrow.value.toLowerCase().split(/\s+/).filter(Boolean);
  let [around_it, count] = [0, 0];
  // From the last one on: what is around one that is shown is shown.
  for (const entry of [...entries].reverse()) {
    entry.hit = wanted.every((part) => entry.label.includes(part));
    entry.item.hidden = !entry.hit && entry.level >= around_it;
    entry.item.classList.toggle("faint", !entry.hit);
    if (!entry.item.hidden) around_it = entry.level;
    count += entry.hit;
  }
  one("[role=status]", outline).textContent = wanted.length ? `${count} of ${entries.length}` : "";
}
function unfold() {
  if (document.documentElement.classList.contains("wide")) toggle_wide();
  one("#unfold").checked = true;
}
function narrow_outline() { if (entries.length) { unfold(); narrow.focus(); narrow.select(); } }
narrow?.addEventListener("input", filter_outline);
narrow?.addEventListener("keydown", (event) => {
  if (event.key === "Enter") entries.find(({ hit, item }) => hit && !item.hidden)?.link.click();
  if (event.key === "Escape") { narrow.value = ""; filter_outline(); narrow.blur(); }
});
outline?.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const links = entries.filter(({ item }) => !item.hidden).map(({ link }) => link);
  const here = links.indexOf(document.activeElement);
  if (!step || (here < 0 && document.activeElement !== narrow)) return;
  event.preventDefault();
  (here + step < 0 ? narrow : links[Math.min(here + step, links.length - 1)])?.focus();
});

// --- what is around the first line that is seen ----------------------------------

const around = one("#around");
const AROUND = 4;
// The line at a height of the window.
function line_at(height) {
  let [low, high] = [0, text.children.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (text.children[middle].getBoundingClientRect().bottom > height) high = middle;
    else low = middle + 1;
  }
  return low + 1;
}
function show_around() {
  const top = around.getBoundingClientRect().top + 1;
  const height = one("li", around)?.offsetHeight || 20;
  // A row covers a line, so what is around the line below it is asked for.
  let rows = [];
  for (let n = 0; n < AROUND; n += 1) {
    const line = line_at(top + n * height);
    const holds = entries.filter(({ from, upto }) => from < line && line <= upto);
    const by_line = [...new Map(holds.map((entry) => [entry.from, entry])).values()];
    if (by_line.length <= n) break;
    rows = by_line.slice(0, n + 1);
  }
  const drawn = rows.map(({ from }) => from).join();
  if (around.dataset.drawn !== drawn) {
    around.dataset.drawn = drawn;
    around.firstElementChild.replaceChildren(...rows.map(({ from }) => {
      const row = one(`#L${from}`, text).cloneNode(true);
      row.removeAttribute("id");
      row.className = "";
      one("a", row).tabIndex = -1;
      row.addEventListener("click", () => { location.hash = `#L${from}`; });
      return row;
    }));
  }
  // The symbol of the chosen line as long as that is in sight, else of the first line that is.
  const [chosen] = chosen_lines() ?? [];
  const seen = chosen && one(`#L${chosen}`, text)?.getBoundingClientRect();
  const line = seen && seen.bottom > top && seen.top < innerHeight ? chosen : line_at(top + rows.length * height);
  // The innermost begins last, wherever its container stands.
  const holds = entries.filter(({ from, upto }) => from <= line && line <= upto);
  const here = holds.reduce((last, entry) => (last && last.from > entry.from ? last : entry), null);
  const before = one("[aria-current]", outline);
  if (before === (here?.link ?? null)) return;
  before?.removeAttribute("aria-current");
  here?.link.setAttribute("aria-current", "location");
  if (here && !outline.matches(":hover, :focus-within")) outline.scrollTop = here.item.offsetTop - outline.clientHeight / 2;
}
if (text?.firstElementChild && entries.length) {
  let waits = false;
  const soon = () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => { waits = false; show_around(); });
  };
  addEventListener("scroll", soon, { passive: true });
  addEventListener("resize", soon, { passive: true });
  addEventListener("hashchange", soon);
  text.addEventListener("click", soon);
  soon();
}

// --- names: the same ones are marked, and a click leads to definitions and references ---

const NAME = /[\p{L}_$][\p{L}\p{N}_$]*/gu;
const MAX_MARKED = 5000;
let marked = "";
let texts = null;

// The name under the pointer, and whether it is a keyword, a number, or in a comment or a text.
function name_at(event) {
  const code = event.target.closest?.("#text code");
  if (!code) return null;
  const { clientX: x, clientY: y } = event;
  const caret = document.caretPositionFromPoint?.(x, y);
  const range = caret ? null : document.caretRangeFromPoint?.(x, y);
  const [node, offset] = caret ? [caret.offsetNode, caret.offset] : [range?.startContainer, range?.startOffset];
  if (!node || !code.contains(node)) return null;
  const before = document.createRange();
  before.setStart(code, 0);
  before.setEnd(node, offset);
  const column = before.toString().length;
  for (const { 0: said, index } of code.textContent.matchAll(NAME)) {
    if (index > column || column > index + said.length) continue;
    const holder = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
    const at = new TextEncoder().encode(code.textContent.slice(0, index)).length + 1;
    return { said, line: Number(code.closest("li").id.slice(1)), at: one(".turn", code) ? "" : `:${at}`, is_plain: !holder.closest(".k, .n, .c, .s, .cut, .turn") };
  }
  return null;
}
// A stretch of a line, whatever it is cut into.
function range_in(code, from, upto) {
  const range = document.createRange();
  const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  for (let passed = 0; walker.nextNode(); passed += walker.currentNode.length) {
    const node = walker.currentNode;
    if (passed <= from && from < passed + node.length) range.setStart(node, from - passed);
    if (upto <= passed + node.length) { range.setEnd(node, upto - passed); break; }
  }
  return range;
}
function mark_name(said) {
  if (said === marked || !CSS.highlights) return;
  marked = said;
  texts ??= all("code", text).map((code) => [code, code.textContent]);
  const same = new Highlight();
  for (const [code, line] of texts) {
    if (!line.includes(said) || same.size >= MAX_MARKED) continue;
    for (const found of line.matchAll(NAME)) if (found[0] === said) same.add(range_in(code, found.index, found.index + said.length));
  }
  CSS.highlights.set("same", same);
}

const card = Object.assign(document.createElement("aside"), { id: "card", hidden: true, ariaLabel: "Definitions and references", ariaLive: "polite" });
let asks = 0;
const element = (tag, content, more = {}) => { const made = Object.assign(document.createElement(tag), more); made.append(...[content].flat()); return made; };
const page_of = (page, { said, line, at = "" }, more = {}) => `${page}?${new URLSearchParams({ name: said, ...(file.from && { from: `${file.from}:${line}${at}` }), ...more })}`;
const in_tree = ({ repo, tree }) => tree ? `${repo}@${tree}` : repo;
const place_of = (where, line) => `/file?${new URLSearchParams({ repo: in_tree(where), path: where.path })}#L${line}`;
const ask = async (page, place, limit) => {
  const answer = await fetch(page_of(page, place, { limit, format: "json" })).catch(() => null);
  return answer?.ok ? answer.json() : null;
};
function close_card() { asks += 1; card.hidden = true; }
// A part of the card: its title leads to the page with all, below it are the nearest.
function part(title, href) {
  const told = element("small", "…");
  const rows = document.createElement("ul");
  return {
    nodes: [element("h3", [element("a", title, { href }), " ", told]), rows],
    fill: (said, places) => {
      told.textContent = said;
      rows.replaceChildren(...places.map(({ where, line, about, shown }) => element("li", element("a", [
        element("code", shown.trim().slice(0, 200)),
        element("small", [about, `${in_tree(where)}/${where.path}` === file.from ? "this file" : where.path].filter(Boolean).join(" · ") + `:${line}`),
      ], { href: place_of(where, line) }))));
    },
  };
}
// What an index says of the place is told apart from what only has the name.
const basis = ({ symbols }, { basis: by }) => symbols.length ? `${by} ` : "";
const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
async function show_card(place, event) {
  const mine = asks += 1;
  const defined = part("Definitions", page_of("/definitions", place));
  const used = part("References", page_of("/references", place));
  const close = element("button", "Close", { className: "small" });
  close.addEventListener("click", close_card);
  card.replaceChildren(element("h2", [element("code", place.said), close]), ...defined.nodes, ...used.nodes);
  card.hidden = false;
  // On a small screen the style sheet puts it at the bottom.
  const below = event.clientY < innerHeight * 0.6;
  card.classList.toggle("up", !below);
  card.style.top = `${event.clientY + scrollY + (below ? 14 : -14)}px`;
  card.style.left = `${Math.max(8, Math.min(event.clientX - 40, document.documentElement.clientWidth - card.offsetWidth - 8))}px`;
  const failed = "no answer; open the page";
  const definitions = ask("/definitions", place, 6).then((found) => {
    if (mine !== asks) return;
    if (!found) return defined.fill(failed, []);
    defined.fill(found.found ? String(found.found) : found.note ?? "none", found.definitions.map((one_of) => ({
      where: one_of, line: one_of.line, shown: one_of.text, about: basis(found, one_of) + (one_of.container ? `${one_of.kind} of ${one_of.container}` : one_of.kind),
    })));
  });
  const references = ask("/references", place, 5).then((found) => {
    if (mine !== asks) return;
    if (!found) return used.fill(failed, []);
    const places = found.files.flatMap((of) => of.lines.slice(0, 4).map((line) => ({
      where: of, line: line.line, shown: line.text, about: basis(found, of) + [line.labels[0], line.enclosing && `in ${line.enclosing.name}`].filter(Boolean).join(" "),
    })));
    used.fill(found.lines ? `${counted(found.lines, "line")} in ${counted(found.found, "file")}` : "none", places.slice(0, 8));
  });
  await Promise.all([definitions, references]);
}
// To the definition if there is one, to all of them otherwise.
async function go_to_definition(place) {
  const found = await ask("/definitions", place, 2);
  const [only, next] = found?.definitions ?? [];
  const is_sure = only?.basis === "precise" && next?.basis !== "precise";
  location.href = is_sure || found?.found === 1 ? place_of(only, only.line) : page_of("/definitions", place);
}
if (text) {
  main.append(card);
  let rests = 0;
  text.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "mouse" || event.buttons) return;
    clearTimeout(rests);
    rests = setTimeout(() => { const place = name_at(event); if (place?.is_plain) mark_name(place.said); }, 150);
  });
  document.addEventListener("click", (event) => {
    if (card.contains(event.target)) return;
    const place = name_at(event);
    // A second click, and one that ends a selection, select text as everywhere.
    if (!place || event.detail > 1 || event.shiftKey || !getSelection().isCollapsed) return close_card();
    const leaves = event.ctrlKey || event.metaKey;
    if (!place.is_plain && !leaves) return close_card();
    mark_name(place.said);
    if (leaves) go_to_definition(place);
    else show_card(place, event);
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") close_card(); });
}
// The form that asks for a name, with the one that is selected or marked.
function look_up() {
  const field = one(".look-up [name=name]");
  if (!field) return;
  unfold();
  const said = getSelection().toString().trim();
  field.value = /^[\p{L}\p{N}_$.:]+$/u.test(said) ? said : marked;
  field.focus();
  field.select();
}

document.documentElement.dataset.script = "on";
