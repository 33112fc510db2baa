// Keeps the open page in step with the journal: the server sends elements by id, this script puts them in place.
// It keeps focus, open details, scroll positions, half-typed words, and the text of elements with data-said. The state of
// the connection is written into #connection.
const policy = globalThis.trustedTypes?.createPolicy("trued", { createHTML: (sent) => sent }) ?? { createHTML: (sent) => sent };
const POLL_MS = 2000, HIDDEN_MS = 20000;
let newest = document.body.dataset.event ?? "0", named = document.title, waiting = 0, heard = Number(newest), stream = null, timer = 0, since = 0, wait = 500, polls = 0;
const known = new Map(); // element id → the HTML that was put there last

export const clock = (at) => new Date(at).toLocaleTimeString("en-GB"); // 14:05:07 in the time of this machine, as in the terminal

// -- the state of the connection, in words --
function say(state) {
  const place = document.getElementById("connection");
  since = state === "not connected" ? since || Date.now() : 0;
  const words = since ? `not connected since ${clock(since)}` : state;
  document.documentElement.dataset.connection = state.replaceAll(" ", "-");
  if (place && place.textContent !== words) place.textContent = words;
}

// -- what a screen reader announces. It ignores changes of elements that are replaced, so they are repeated in one that stays --
const SPOKEN = 5, stateOf = () => document.getElementById("head")?.dataset.state;
export function speak(words) {
  const place = document.getElementById("spoken"), line = document.createElement("p");
  line.textContent = words;
  place?.append(line);
  if (place?.childElementCount > SPOKEN) place.firstElementChild.remove();
}

const entitle = () => { document.title = waiting ? `(${waiting}) ${named}` : named; };

// -- what a person did to an element survives its replacement; elements are matched by what they are, not by position --
const WATCHED = "details, summary, input:not([type=hidden]), textarea, select, button, a, [data-said], [tabindex], .panel";
const above = (element) => element.parentElement?.closest("[id]")?.id ?? "";
export const asks = (form) => (form ? form.dataset.do + JSON.stringify([...form.querySelectorAll("input[type=hidden]")].map((one) => [one.name, one.value])) : "");

function sign(element) {
  if (element.id) return `#${element.id}`;
  const form = element.closest("form[data-do]"), kind = element.localName;
  if (form) return [asks(form), kind, element.name, element.type === "radio" ? element.value : "", [...form.querySelectorAll(kind)].indexOf(element)].join("\n");
  if (kind === "details" || kind === "summary") return [above(element), kind, element.closest("details").querySelector("summary")?.textContent].join("\n");
  return [above(element), kind, element.getAttribute("href") ?? element.className, element.textContent.slice(0, 80)].join("\n");
}

const within = (root, query) => [...(root.matches(query) ? [root] : []), ...root.querySelectorAll(query)];
// In a transcript, the line that somebody reads stays in place when older lines above it are removed.
const firstLine = (log) => { const top = log.getBoundingClientRect().top, line = [...log.querySelectorAll("li[id]")].find((one) => one.getBoundingClientRect().bottom > top); return line && [line.id, line.getBoundingClientRect().top - top]; };
const topOf = (log, { top, line }) => { const now = line && log.querySelector(`#${CSS.escape(line[0])}`); return now ? now.getBoundingClientRect().top - log.getBoundingClientRect().top + log.scrollTop - line[1] : top; };
function remember(root, was) {
  for (const one of within(root, WATCHED)) {
    const state = {};
    if (one.localName === "details") state.open = one.open;
    if ("value" in one && one.localName !== "button" && (one.value !== one.defaultValue || one.checked !== one.defaultChecked)) Object.assign(state, { value: one.value, checked: one.checked });
    if ("said" in one.dataset && one.textContent) Object.assign(state, { said: one.textContent, how: one.dataset.state });
    if (one === document.activeElement) Object.assign(state, { focus: true, range: one.selectionStart === undefined ? null : [one.selectionStart, one.selectionEnd] });
    if (one.scrollTop || one.scrollLeft || "follow" in one.dataset) Object.assign(state, { top: one.scrollTop, left: one.scrollLeft, atEnd: one.scrollHeight - one.scrollTop - one.clientHeight < 8, held: one.dataset.held, line: firstLine(one) });
    if (Object.keys(state).length) was.set(sign(one), state);
  }
}

function restore(root, was) {
  for (const one of was.size ? within(root, WATCHED) : []) {
    const state = was.get(sign(one));
    if (!state) continue;
    if (state.open !== undefined) one.open = state.open;
    if (state.value !== undefined) { one.value = state.value; if (state.checked !== undefined) one.checked = state.checked; }
    if (state.said) { one.textContent = state.said; one.dataset.state = state.how; }
    if (state.held !== undefined) one.dataset.held = state.held;
    if (state.top !== undefined) one.scrollTo(state.left, state.atEnd && "follow" in one.dataset && state.held === undefined ? one.scrollHeight : topOf(one, state));
    if (!state.focus) continue;
    one.focus({ preventScroll: true });
    if (state.range?.[0] !== null && one.setSelectionRange) try { one.setSelectionRange(...state.range); } catch { /* it has no text */ }
  }
}

// A form with data-ended (a sentence that it shows once its call has ended) survives the replacement of its piece while
// somebody writes in it: it moves into the new piece with its words and its addressee. restore() restores the focus.
const isField = (element) => element?.matches("textarea, input[type=text]") ?? false;
const isInHand = (form) => [...form.elements].some((one) => isField(one) && (one.value !== one.defaultValue || one === document.activeElement));
function keepForms(old, next) {
  for (const form of [...(old?.querySelectorAll("form:has([data-ended])") ?? [])].filter(isInHand)) {
    const others = [...next.querySelectorAll(`form[data-do="${form.dataset.do}"]`)];
    if (others.some((one) => asks(one) === asks(form))) continue;
    form.querySelector("[data-ended]").hidden = false;
    for (const one of form.querySelectorAll("input[value=now]")) one.disabled = true;
    for (const one of form.querySelectorAll("input[value=next]")) one.checked = true;
    others.length ? others[0].replaceWith(form) : next.append(form);
    known.delete(next.id); // the piece now differs from what the server sent
  }
}

function made(html) {
  const holder = document.createElement("template");
  holder.innerHTML = policy.createHTML(html); // the only place where HTML is parsed: what the server sent
  return holder.content.firstElementChild;
}

// -- the view stays in place: the first visible element does not move when something above it appears or disappears --
// (This replaces the browser's own scroll anchoring, which loses its anchor when a piece is replaced.)
let places = [], followed = null, room = 0, put = NaN; // [id, top] of visible elements, in order; where the end of a transcript was
const held = new ResizeObserver(stay); // for elements that get their size late: pictures, rows that were not drawn yet
const end = () => document.querySelector(".whole [data-follow]:not([data-held]) li:last-child");

function look() {
  put = NaN;
  if (room && scrollY + innerHeight <= document.documentElement.scrollHeight - room) document.body.style.paddingBottom = `${(room = 0)}px`;
  const top = Math.max(0, document.querySelector(".bar").getBoundingClientRect().bottom), around = [];
  places = [];
  for (const piece of document.querySelectorAll("main > [id]")) {
    const at = piece.getBoundingClientRect();
    if (at.bottom <= top || at.top >= innerHeight || getComputedStyle(piece).position === "sticky") continue;
    for (const one of [piece, ...piece.querySelectorAll("[id]:not(#log *)")]) {
      const its = one.getBoundingClientRect();
      if (its.height && its.top >= top && its.top < innerHeight) places.push([one.id, its.top]);
      else if (its.top < top && its.bottom > top) around.unshift([one.id, its.top]);
    }
  }
  const last = end()?.getBoundingClientRect(), first = places.length && document.getElementById(places[0][0]);
  followed = last && last.bottom > top && last.bottom <= innerHeight && first.closest?.("[data-follow]") ? last.bottom : null;
  places.push(...around);
}

function stay() {
  const [id, top] = places.find(([one]) => document.getElementById(one)) ?? [];
  const by = followed !== null && end() ? end().getBoundingClientRect().bottom - followed : id === undefined ? 0 : document.getElementById(id).getBoundingClientRect().top - top;
  if (Math.abs(by) < 1) return;
  const lacks = scrollY + by + innerHeight - document.documentElement.scrollHeight; // rows at the end were removed: padding replaces them
  if (lacks > 0) document.body.style.paddingBottom = `${(room += lacks)}px`;
  scrollBy({ top: by, behavior: "instant" });
  put = scrollY;
}
addEventListener("scroll", () => Math.abs(scrollY - put) < 1 || look(), { passive: true }); // ignore our own scrolling
for (const piece of document.querySelectorAll("main > [id]")) held.observe(piece);

export function show(sent) {
  look();
  const main = document.querySelector("main"), was = new Map(), fresh = [], before = stateOf();
  for (const [id, html] of Object.entries(sent.pieces)) if (known.get(id) !== html) { known.set(id, html); fresh.push([document.getElementById(id), made(html)]); }
  const changed = fresh.filter(([old, next]) => next && !old?.isEqualNode(next));
  const gone = [...main.children].filter((one) => one.id && !sent.order.includes(one.id));
  for (const old of [...changed.map(([one]) => one), ...gone]) if (old) remember(old, was);
  for (const [old, next] of changed) keepForms(old, next);
  for (const [old, next] of changed) { old ? old.replaceWith(next) : main.append(next); if (old) held.unobserve(old); held.observe(next); }
  for (const old of gone) { known.delete(old.id); held.unobserve(old); old.remove(); }
  let last = null;
  for (const id of sent.order) {
    const one = document.getElementById(id);
    if (one?.parentElement !== main) continue;
    if (last && last.nextElementSibling !== one) last.after(one);
    last = one;
  }
  for (const [, next] of changed) restore(next, was);
  if (sent.layout !== undefined && main.className !== sent.layout) main.className = sent.layout;
  newest = document.body.dataset.event = String(sent.event);
  named = `${sent.title} · trued`;
  entitle();
  const now = stateOf();
  if (before && now && now !== before) speak(`The run ${now === "is at work" && before !== "is queued" ? "continues" : now}.`);
  document.dispatchEvent(new CustomEvent("shown", { detail: sent.order }));
  stay();
}

// -- one stream while the tab is visible; a hidden tab only counts what waits --
const address = () => encodeURIComponent(document.body.dataset.address ?? location.pathname + location.search);

function listen() {
  stream?.close();
  clearTimeout(timer);
  if (document.hidden) { stream = null; return count(); }
  const mine = (stream = new EventSource(`/live?address=${address()}&after=${newest}`));
  mine.onopen = () => { wait = 500; say("catching up"); };
  mine.onmessage = (event) => { show(JSON.parse(event.data)); say("live"); };
  mine.onerror = () => {
    if (mine !== stream) return;
    say("not connected");
    if (mine.readyState !== EventSource.CLOSED) return; // the browser tries again by itself, with the last id
    timer = setTimeout(poll, wait); // it gave up: an HTTP error, such as too many streams
    wait = Math.min(wait * 2, 8000);
  };
}

async function poll() {
  if (document.hidden) return count();
  try {
    const answer = await fetch(`/pieces?address=${address()}`);
    if (answer.status === 401) return say("not connected");
    if (answer.ok) { show(await answer.json()); say("live"); wait = 500; }
  } catch { say("not connected"); }
  timer = setTimeout(document.hidden ? count : again, POLL_MS);
}

const again = () => ((polls += 1) % 5 ? poll() : listen()); // every fifth time, try to open a stream again

async function count() {
  clearTimeout(timer);
  try {
    heard = Math.max(heard, Number(newest)); // events that the page showed already need no notification
    const answer = await fetch(`/waits?after=${heard}`);
    if (answer.ok) {
      const now = await answer.json();
      waiting = now.waits; heard = Math.max(heard, now.event); entitle();
      document.dispatchEvent(new CustomEvent("news", { detail: now.news }));
    }
  } catch { /* the next request may succeed */ }
  if (document.hidden) timer = setTimeout(count, HIDDEN_MS);
}

document.addEventListener("visibilitychange", listen);
addEventListener("online", listen);
addEventListener("pageshow", (event) => event.persisted && listen());
addEventListener("pagehide", () => stream?.close());
listen();
