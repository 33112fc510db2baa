// What the page does in the browser without the server: keys, light or dark, and clocks. Rows are ordinary links and
// summaries, so keys only move the focus.
const $ = (query) => document.querySelector(query);
const ROWS = [
  ".ledger summary, .ledger a.row, .runs a.row, .table a.row, .story a, #documents a", // lists
  ".trial > summary, #claims li > a:first-child, .fold > summary", // a requirement, a reply
  ".whole .log summary, .whole .log li:not(:has(details)) .at", // a transcript, line by line
].join();
const shown = (element) => element.checkVisibility?.() ?? true;

// -- light or dark: the system's, until somebody chooses --
const root = document.documentElement;
const store = { get: (name) => { try { return localStorage.getItem(name); } catch { return null; } }, set: (name, value) => { try { localStorage.setItem(name, value); } catch { /* the choice is lost with this page */ } } };
if (store.get("theme")) root.dataset.theme = store.get("theme");
for (const one of document.querySelectorAll("#theme, #help")) one.hidden = false;
$("#theme")?.addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  store.set("theme", root.dataset.theme);
});

// -- keys --
const rows = () => [...document.querySelectorAll(ROWS)].filter(shown);
function step(by) {
  const every = rows(), here = every.indexOf(document.activeElement);
  every[here < 0 ? (by > 0 ? 0 : every.length - 1) : Math.min(every.length - 1, Math.max(0, here + by))]?.focus();
}
const reach = (place) => { place.scrollIntoView({ block: "start" }); return place; };
// If this page lacks the element, go to the page of its run.
const run = $("#tabs a")?.getAttribute("href");
const transcript = () => $("#log, #transcript .log, #claims a[href$='#transcript']");
const waits = () => { const first = $(".for-you"); if (!first) { location.href = "/#waits"; return; } first.scrollIntoView({ block: "start" }); first.querySelector("input:not([type=hidden]), textarea, a, button")?.focus(); };
// Leads back from a confirmation, such as that of "Cancel run …": closes it, and the focus returns to what opened it.
function close(inside) {
  const opened = inside?.closest("details:has([data-close])[open]") ?? $("details[open]:has([data-close])");
  if (!opened) return false;
  opened.open = false;
  opened.querySelector("summary").focus();
  return true;
}
document.addEventListener("click", (event) => event.target.closest?.("[data-close]") && close(event.target));
const keys = {
  j: () => step(1), k: () => step(-1), w: waits,
  l: () => { if ($("#ledger")) reach($("#ledger")).querySelector("summary, a.row")?.focus(); else if (run) location.href = `${run}#ledger`; },
  t: () => { if (transcript()) reach(transcript()).focus(); else if (run) location.href = `${run}#call`; },
  f: () => { const log = $(".log[data-follow]"); if (!log) return; log.toggleAttribute("data-held"); if (!log.hasAttribute("data-held")) log.scrollTop = log.scrollHeight; },
  "/": () => $("input[type=search]")?.focus(),
  "?": () => { name(); $("#keys")?.showModal(); },
  Escape: () => { if (!close(document.activeElement)) document.activeElement?.blur(); },
};
// The help lists only the keys that work on this page.
const works = { j: () => rows().length, Enter: () => rows().length, l: () => run, t: () => run, f: () => $(".log[data-follow]"), "/": () => $("input[type=search]") };
function name() { for (const one of document.querySelectorAll("#keys dl div, .keys span")) { const can = works[one.querySelector("kbd").textContent]; one.hidden = can ? !can() : false; } }
name();
// If the field that somebody types into disappears, the rest of the words must not act as shortcuts: keys work again after
// a second without typing.
const QUIET_MS = 1000;
const isField = (element) => element instanceof Element && element.matches("input, textarea, select, [contenteditable]");
let field = null, lost = 0;
document.addEventListener("focusin", (event) => { field = isField(event.target) ? event.target : null; });
document.addEventListener("shown", () => { if (field && !field.isConnected) { field = null; lost = Date.now(); } });
addEventListener("keydown", (event) => {
  const typing = isField(event.target);
  if (!typing && Date.now() - lost < QUIET_MS) { lost = Date.now(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key) || $("dialog[open]")) return;
  if (typing && event.key !== "Escape") return;
  event.preventDefault();
  keys[event.key]();
});
$("#help")?.addEventListener("click", keys["?"]);
$("#keys")?.addEventListener("click", (event) => event.target.id === "keys" && event.target.close());

// -- clocks: the server sends points in time, and the browser shows how long ago they were --
const spans = [[86400, "d"], [3600, "h"], [60, "min"]];
function ago(seconds) {
  for (const [unit, word] of spans) if (seconds >= unit) return `${Math.floor(seconds / unit)} ${word} ago`;
  return "now";
}
function since(seconds) {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}
function tick() {
  for (const one of document.querySelectorAll("time[data-ago], time[data-since]")) {
    const seconds = Math.max(0, (Date.now() - Date.parse(one.dateTime)) / 1000);
    const words = one.hasAttribute("data-ago") ? ago(seconds) : since(seconds);
    if (one.textContent !== words) one.textContent = words;
  }
}
const follow = () => { for (const log of document.querySelectorAll(".log[data-follow]:not([data-held])")) if (!log.dataset.seen) { log.dataset.seen = "1"; log.scrollTop = log.scrollHeight; } };
tick();
follow();
setInterval(tick, 1000);
document.addEventListener("shown", () => { tick(); });
