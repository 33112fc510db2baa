// Sends what a person decides. A form with data-do="answer" is posted to /do/answer (a button may name another action, and
// data-sure asks before); the result is written into its element with data-said. The form stays until the journal has
// recorded the decision: then the server sends the page without it.
import { asks, clock, speak } from "./live.js";

const NOT_HEARD_MS = 5000, ASK_MS = 700;

// -- the key of this browser's tabs: a new tab asks the others for it. A tab that proposes something tells the others, and
// they ask the server for its number --
const tabs = new BroadcastChannel("trued");
const key = () => sessionStorage.getItem("tab-key");
tabs.onmessage = ({ data }) => {
  if (data.wanted && key()) tabs.postMessage({ key: key() });
  if (data.key && !key()) { sessionStorage.setItem("tab-key", data.key); pending(); }
  if (data.proposed) pending();
};
if (!key()) tabs.postMessage({ wanted: true });

function fields(form, button) {
  const data = new FormData(form, button);
  return Object.fromEntries([...new Set(data.keys())].map((name) => [name, data.getAll(name).length > 1 ? data.getAll(name) : data.get(name)]));
}

// The server may have sent the form again meanwhile: then the current form is the one that asks for the same thing.
const current = (form) => (form.isConnected ? form : [...document.querySelectorAll(`form[data-do="${form.dataset.do}"]`)].find((one) => asks(one) === asks(form)));

function say(form, words, state) {
  const place = current(form)?.querySelector("[data-said]");
  if (!place) return;
  place.textContent = words;
  place.dataset.state = state;
}

async function send(form, button) {
  const action = button?.dataset.do ?? form.dataset.do;
  if (form.dataset.sure && !confirm(form.dataset.sure)) return;
  if (!key()) return say(form, "This tab cannot act: press Enter in the terminal where trued page runs.", "refused");
  const before = document.body.dataset.event;
  say(form, "sent", "sent");
  const headers = { "Content-Type": "application/json", "X-Tab-Key": key() };
  let answer, told;
  try {
    answer = await fetch(`/do/${action}`, { method: "POST", headers, body: JSON.stringify(fields(form, button)) });
    told = (answer.headers.get("content-type") ?? "").includes("json") ? await answer.json() : { said: await answer.text() };
  } catch {
    return say(form, "not sent: the page is not connected", "refused");
  }
  if (answer.status === 202) return confirmed(form, told);
  if (!answer.ok) { pending(); return say(form, told.command ? `${told.said}: ${told.command}` : told.said, "refused"); }
  if (form.querySelector("[data-ended]")) form.reset(); // so that the same comment is not sent twice
  say(form, `sent: ${told.said}`, "sent");
  done = { form, said: told.said };
  settle(form, before, told.said);
  conclude(); // the form may be gone already, because the server answers late if it starts a command
}

// When the journal has recorded a decision, its form disappears; the result stays above the page until the next load.
let done = null;
function conclude() {
  if (!done || current(done.form)) return;
  announce(done.said, "sent");
  done = null;
}
document.addEventListener("shown", conclude);

const settle = (form, before, said) => setTimeout(() => document.body.dataset.event === before && say(form, `not confirmed yet: ${said}`, "waiting"), NOT_HEARD_MS);

// -- decisions that the person confirms in the terminal --
async function confirmed(form, told) {
  tabs.postMessage({ proposed: true });
  const before = document.body.dataset.event;
  say(form, "your terminal asks for the number above", "waiting");
  const now = await finished(told);
  say(form, now.state === "done" ? `sent: ${now.said}` : now.said, now.state === "done" ? "sent" : "refused");
  if (now.state === "done") settle(form, before, now.said);
}

// The bar above the page shows the number of the decision that this session has proposed, and then its result.
const asked = document.getElementById("asked");

const made = (name, text) => Object.assign(document.createElement(name), { textContent: text });
const coded = (text) => text.split("`").map((part, number) => (number % 2 ? made("code", part) : part));
let watched = ""; // the id of the proposal that the bar shows

function announce(words, state, more = "") {
  const [said, rest, button] = asked.children;
  said.replaceChildren(...(Array.isArray(words) ? words : coded(words)));
  said.dataset.state = state;
  rest.textContent = more;
  button.hidden = state !== "number";
  asked.hidden = false;
  speak(`${said.textContent} ${more}`);
}

async function finished(told) {
  watched = told.proposal;
  announce(["Type ", made("b", told.number), ` into the terminal where trued page runs, by ${clock(told.until)}. It will record:`], "number", told.words);
  for (;;) {
    await new Promise((passed) => setTimeout(passed, ASK_MS));
    let now;
    try {
      now = await (await fetch(`/proposal/${encodeURIComponent(told.proposal)}`)).json();
    } catch {
      now = { state: "lost", said: "not connected: the terminal shows whether it was recorded" };
    }
    if (["asked", "doing"].includes(now.state)) continue;
    if (now.state !== "done" && now.state !== "lost") now.said = `not recorded: ${now.said}`;
    if (watched === told.proposal) { // otherwise the bar shows a newer proposal
      watched = "";
      announce(now.said, now.state === "done" ? "sent" : "refused");
    }
    return now;
  }
}

const post = (path) => fetch(path, { method: "POST", headers: { "Content-Type": "application/json", "X-Tab-Key": key() }, body: "{}" });

// A page that is opened meanwhile, or is open in another tab, shows the open decision, too, but only in the session that
// proposed it.
async function pending() {
  if (!asked || !key()) return;
  try {
    const told = await (await post("/pending")).json();
    if (told.proposal && told.proposal !== watched) finished(told);
  } catch { /* nothing is shown, nothing is lost */ }
}
asked?.querySelector("button").addEventListener("click", () => post("/withdraw"));
pending();

// A box with data-binds is required for that action only: a person who rejects need not tick the steps off.
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("form[data-do] button");
  for (const box of button?.form?.querySelectorAll("[data-binds]") ?? []) box.required = box.dataset.binds === (button.dataset.do ?? button.form.dataset.do);
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.do) return;
  event.preventDefault();
  send(form, event.submitter);
});
