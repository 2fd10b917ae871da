/** Ties the page to the data: loading, filtering, sorting, drawing. */

import { standings, type Score, type Standing } from "./scoring.js";
import { DataError, parseSeries, type Series } from "./types.js";

type SortKey = "place" | "name" | "sail" | "total";

interface View {
  series: Series | null;
  sort: SortKey;
  descending: boolean;
}

const view: View = { series: null, sort: "place", descending: false };

function element<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) {
    throw new Error(`the page has no element called ${id}`);
  }
  return found as T;
}

function showError(error: unknown): void {
  const box = element("error");
  if (error instanceof DataError) {
    box.textContent = `The results file is wrong at ${error.message}.`;
  } else {
    box.textContent = error instanceof Error ? error.message : String(error);
  }
  box.hidden = false;
  console.error(error);
}

function seriesName(): string {
  const name = new URLSearchParams(location.search).get("series") ?? "autumn";
  // The name becomes part of a path, so allow nothing but plain words.
  if (!/^[a-z0-9-]{1,40}$/.test(name)) {
    throw new Error(`there is no series called ${JSON.stringify(name)}`);
  }
  return name;
}

async function load(name: string): Promise<Series> {
  const response = await fetch(`data/${name}.json`, { cache: "no-cache" });
  if (!response.ok) {
    throw new Error(`cannot load ${name}: status ${response.status}`);
  }
  return parseSeries(await response.json());
}

function sortValue(standing: Standing, key: SortKey): string | number {
  switch (key) {
    case "place":
      return standing.place;
    case "total":
      return standing.total;
    case "name":
      return standing.boat.name;
    case "sail":
      return standing.boat.sail;
  }
}

function sorted(list: Standing[], key: SortKey, descending: boolean): Standing[] {
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const sign = descending ? -1 : 1;
  return [...list].sort((a, b) => {
    const [left, right] = [sortValue(a, key), sortValue(b, key)];
    if (typeof left === "number" && typeof right === "number") {
      return sign * (left - right);
    }
    return sign * collator.compare(String(left), String(right));
  });
}

function matches(standing: Standing, search: string): boolean {
  const { name, sail } = standing.boat;
  return `${name} ${sail}`.toLowerCase().includes(search.trim().toLowerCase());
}

function cell(text: string, ...classes: string[]): HTMLTableCellElement {
  const td = document.createElement("td");
  td.textContent = text;
  td.classList.add(...classes);
  return td;
}

function scoreCell(score: Score): HTMLTableCellElement {
  const label = score.code ? `${score.points} ${score.code}` : String(score.points);
  return score.discarded
    ? cell(`(${label})`, "points", "discarded")
    : cell(label, "points");
}

function row(standing: Standing): HTMLTableRowElement {
  const tr = document.createElement("tr");
  tr.classList.toggle("podium", standing.place <= 3);
  tr.append(
    cell(String(standing.place)),
    cell(standing.boat.name),
    cell(standing.boat.sail),
    ...standing.scores.map(scoreCell),
    cell(String(standing.total), "total"),
  );
  return tr;
}

function draw(): void {
  if (view.series === null) {
    return;
  }
  const search = element<HTMLInputElement>("search").value;
  const withDiscards = element<HTMLInputElement>("discards").checked;
  const list = standings(view.series, withDiscards).filter((s) => matches(s, search));

  element("title").textContent = view.series.name;
  element<HTMLTableCellElement>("races").colSpan = Math.max(1, view.series.races.length);
  const body = element<HTMLTableElement>("standings").tBodies[0];
  body.replaceChildren(...sorted(list, view.sort, view.descending).map(row));

  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-sort]")) {
    const header = button.closest("th");
    if (button.dataset.sort === view.sort) {
      header?.setAttribute("aria-sort", view.descending ? "descending" : "ascending");
    } else {
      header?.removeAttribute("aria-sort");
    }
  }
}

function listen(): void {
  element("filter").addEventListener("input", draw);
  element("filter").addEventListener("submit", (event) => event.preventDefault());
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-sort]")) {
    button.addEventListener("click", () => {
      const key = button.dataset.sort as SortKey;
      view.descending = view.sort === key && !view.descending;
      view.sort = key;
      draw();
    });
  }
}

async function start(): Promise<void> {
  try {
    listen();
    view.series = await load(seriesName());
    draw();
  } catch (error) {
    showError(error);
  }
}

// TODO: load again every minute while races are being sailed.
void start();
