// Exchanges the code after the # for a session. First of all, the code is removed from the address.
const code = location.hash.slice(1);
history.replaceState(null, "", location.pathname + location.search);
if (code) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch("/enter", { method: "POST", headers, body: JSON.stringify({ code }) });
  if (answer.ok) {
    sessionStorage.setItem("tab-key", (await answer.json()).key);
    location.replace(location.pathname + location.search);
  } else {
    document.getElementById("entry").textContent = "This code has expired or was used before: it works once, within a minute. Press Enter in the terminal where trued page runs.";
  }
}
