// Trades the code behind the # for a session. The code is taken out of the address before anything else happens.
const code = location.hash.slice(1);
history.replaceState(null, "", location.pathname + location.search);
if (code) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch("/enter", { method: "POST", headers, body: JSON.stringify({ code }) });
  if (answer.ok) {
    sessionStorage.setItem("tab-key", (await answer.json()).key);
    location.replace(location.pathname + location.search);
  } else {
    document.getElementById("entry").textContent = "This code is not good any more: it works once, within a minute. Press Enter in the terminal where trued page runs.";
  }
}
