// An EventSource, the browser's interface, reads /search/stream to its end and does not ask again.
import { EventSource } from "eventsource";
const base = process.env.BASE;

async function listen(path) {
  const told = [];
  let asked = 0;
  const source = new EventSource(base + path, {
    fetch: (url, init) => { asked += 1; return fetch(url, init); },
  });
  for (const name of ["begin", "files", "progress", "done", "failed"]) {
    source.addEventListener(name, (event) => told.push([name, JSON.parse(event.data), event.lastEventId]));
  }
  // After an end it asks again by itself (in some seconds), is answered 204, and closes.
  await new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error("it asks for ever: " + asked)), 60000);
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) { clearTimeout(late); resolve(); }
    });
  });
  return { told, asked };
}

const { told, asked } = await listen("/search/stream?q=tide&limit=0");
const names = told.map(([name]) => name);
if (names[0] !== "begin" || names.at(-1) !== "done") throw new Error(names.join());
if (asked !== 2 || names.filter((name) => name === "done").length !== 1) throw new Error(`asked ${asked} times: ${names}`);
const files = told.filter(([name]) => name === "files").flatMap(([, data]) => data.files);
const whole = await (await fetch(base + "/search?q=tide&limit=0")).json();
if (files.length !== whole.files.length) throw new Error(`${files.length} of ${whole.files.length}`);
const wrong = await listen("/search/stream?q=a(b");
if (wrong.asked !== 1 || wrong.told.length) throw new Error("a query that is none: " + JSON.stringify(wrong));
console.log(`${files.length} files, ${asked} requests`);
process.exit(0);
