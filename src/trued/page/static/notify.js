// Notifies by the browser while this tab is hidden: waits, ends, limits. The words are the server's: run, kind and
// requirement ids, nothing that an agent wrote. The browser is asked by a click alone.
const button = document.getElementById("notify");
const can = "Notification" in globalThis && isSecureContext;
const offer = () => { if (button) button.hidden = !can || Notification.permission !== "default"; };
button?.addEventListener("click", async () => { await Notification.requestPermission(); offer(); });
offer();
document.addEventListener("news", ({ detail }) => {
  if (!can || Notification.permission !== "granted" || !document.hidden) return;
  for (const { id, run, text } of detail) {
    const shown = new Notification("trued", { body: text, tag: `trued-${id}` }); // of several tabs one is seen
    shown.onclick = () => { focus(); location.href = `/r/${encodeURIComponent(run)}`; shown.close(); };
  }
});
