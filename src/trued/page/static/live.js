// Keeps the open page in step with the journal: the server sends elements by id, this script puts them in place.
// It keeps focus, open details, scroll positions, half-typed words, and the text of elements with data-said. The state of
// the connection is written into #connection.
const policy = globalThis.trustedTypes?.createPolicy("trued", { createHTML: (sent) => sent }) ?? { createHTML: (sent) => sent };
const POLL_MS = 2000, HIDDEN_MS = 20000;
const title = document.title;
let newest = document.body.dataset.event ?? "0", named = title, waiting = 0;
let stream = null, timer = 0, since = 0, wait = 500;
const known = new Map(); // element id → the HTML that was put there last

// -- what the connection is, in words --
function say(state) {
  const place = document.getElementById("connection");
  if (state !== "not connected") since = 0;
  else since ||= Date.now();
  const words = since ? `not connected since ${new Date(since).toLocaleTimeString()}` : state;
  document.documentElement.dataset.connection = state.replaceAll(" ", "-");
  if (place && place.textContent !== words) place.textContent = words;
}

function entitle() {
  document.title = waiting ? `(${waiting}) ${named}` : named;
}

// -- replacing an element keeps what a person did to it --
const remembered = (element) => (element.id ? `#${CSS.escape(element.id)}` : element.name ? `[name="${CSS.escape(element.name)}"]` : "");

function place(element) {
  // the way to an element without an id: its nearest ancestor with one, and the numbers of the children below
  const way = [];
  while (element && !element.id) {
    way.unshift([...element.parentElement.children].indexOf(element));
    element = element.parentElement;
    if (!element || element === document.body) return null;
  }
  return element && { id: element.id, way };
}

function found(spot) {
  return spot?.way.reduce((element, number) => element?.children[number], document.getElementById(spot.id));
}

function kept(old) {
  const within = (query) => [...(old.matches(query) ? [old] : []), ...old.querySelectorAll(query)];
  const focus = old.contains(document.activeElement) ? document.activeElement : null;
  const typed = within("input, textarea, select").filter((one) => one.type !== "hidden");
  return {
    focus: focus && place(focus), range: focus && "selectionStart" in focus ? [focus.selectionStart, focus.selectionEnd] : null,
    details: within("details").map((one) => [place(one), one.open, one.hasAttribute("data-was-open") ? one.dataset.wasOpen === "true" : null]),
    typed: typed.map((one) => [place(one), one.value, one.checked, one.defaultValue, one.defaultChecked]),
    scrolled: within("*").filter((one) => one.scrollTop || one.scrollLeft).map((one) => [place(one), one.scrollTop, one.scrollLeft, one.scrollHeight - one.scrollTop - one.clientHeight < 8]),
    said: within("[data-said]").map((one) => [place(one), one.textContent]),
  };
}

function restore(was) {
  for (const [spot, open] of was.details) { const one = found(spot); if (one?.localName === "details") one.open = open; }
  for (const [spot, value, checked, before, beforeChecked] of was.typed) {
    const one = found(spot);
    if (one && value !== before && "value" in one) one.value = value;
    if (one && checked !== undefined && checked !== beforeChecked) one.checked = checked;
  }
  for (const [spot, text] of was.said) { const one = found(spot); if (one && text) one.textContent = text; }
  for (const [spot, top, left, follows] of was.scrolled) {
    const one = found(spot);
    if (one) { one.scrollTop = follows ? one.scrollHeight : top; one.scrollLeft = left; }
  }
  const focus = found(was.focus);
  if (focus && focus !== document.activeElement) {
    focus.focus({ preventScroll: true });
    if (was.range && "setSelectionRange" in focus) try { focus.setSelectionRange(...was.range); } catch { /* not a text field */ }
  }
}

function put(id, html) {
  if (known.get(id) === html) return;
  known.set(id, html);
  const holder = document.createElement("template");
  holder.innerHTML = policy.createHTML(html);
  const fresh = holder.content.firstElementChild, old = document.getElementById(id);
  if (!fresh) return;
  if (!old) { document.querySelector("main").append(fresh); return; }
  if (old.isEqualNode(fresh)) return;
  const was = kept(old);
  old.replaceWith(fresh);
  restore(was);
}

export function show(sent) {
  for (const [id, html] of Object.entries(sent.pieces)) put(id, html);
  const main = document.querySelector("main");
  for (const element of [...main.children]) if (element.id && !sent.order.includes(element.id)) { known.delete(element.id); element.remove(); }
  let last = null;
  for (const id of sent.order) {
    const element = document.getElementById(id);
    if (element?.parentElement !== main) continue;
    if (last ? !(last.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING) : false) last.after(element);
    last = element;
  }
  newest = String(sent.event);
  document.body.dataset.event = newest;
  named = `${sent.title} · trued`;
  entitle();
  document.dispatchEvent(new CustomEvent("shown", { detail: sent.order }));
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

let polls = 0;
const again = () => ((polls += 1) % 5 ? poll() : listen()); // now and then there is room for a stream again

async function count() {
  clearTimeout(timer);
  try {
    const answer = await fetch("/waits");
    if (answer.ok) { waiting = (await answer.json()).waits; entitle(); }
  } catch { /* the next one may come through */ }
  if (document.hidden) timer = setTimeout(count, HIDDEN_MS);
}

document.addEventListener("visibilitychange", listen);
addEventListener("online", listen);
addEventListener("pageshow", (event) => event.persisted && listen());
addEventListener("pagehide", () => stream?.close());
listen();
