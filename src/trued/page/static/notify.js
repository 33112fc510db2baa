// Shows browser notifications while this tab is hidden: waits, ends, limits. Their text comes from the server: run, kind
// and requirement ids, and nothing that an agent wrote. The browser's permission is requested only after a click.
const button = document.getElementById("notify");
const can = "Notification" in globalThis && isSecureContext;
const offer = () => { if (button) button.hidden = !can || Notification.permission !== "default"; };
button?.addEventListener("click", async () => { await Notification.requestPermission(); offer(); });
offer();
document.addEventListener("news", ({ detail }) => {
  if (!can || Notification.permission !== "granted" || !document.hidden) return;
  for (const { id, run, text } of detail) {
    const shown = new Notification("trued", { body: text, tag: `trued-${id}` }); // the same tag in several tabs shows one notification
    shown.onclick = () => { focus(); location.href = `/r/${encodeURIComponent(run)}`; shown.close(); };
  }
});
