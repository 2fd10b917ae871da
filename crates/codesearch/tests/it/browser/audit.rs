//! The accessibility rules that every page must follow.

/// Checks the contrast of all texts, the names of controls, the main landmark, and the headings of tables
/// (<https://www.w3.org/TR/WCAG22/>).
pub(super) const AUDIT: &str = r"
const wrong = [];
const channel = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const parse = (c) => (c.match(/[\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const behind = (e) => {
  for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c;
  }
  return [255, 255, 255];
};
const seen = (e) => { const b = e.getBoundingClientRect(); return b.width > 0 && b.height > 0 && b.right > 0 && getComputedStyle(e).visibility !== 'hidden'; };
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const e = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !seen(e) || e.closest('svg, noscript')) continue;
  const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) wrong.push(`contrast ${ratio.toFixed(2)}: ${e.tagName}.${e.className} ${walker.currentNode.data.trim().slice(0, 40)}`);
}
for (const e of document.querySelectorAll('a, button, input:not([type=hidden]), meter, progress, dialog, nav, aside, [role=listbox], [role=img]')) {
  const name = e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent.trim();
  if (!name) wrong.push(`no name: ${e.outerHTML.slice(0, 120)}`);
}
const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
for (const id of ids) if (ids.filter(other => other === id).length > 1) wrong.push(`id twice: ${id}`);
if (!document.documentElement.lang) wrong.push('no language');
if (document.querySelectorAll('main').length !== 1) wrong.push('not one main');
for (const e of document.querySelectorAll('table')) if (!e.querySelector('th[scope]')) wrong.push('table without headings');
return wrong;
";
