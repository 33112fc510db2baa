// "Load more": the next cards come as HTML and are put behind the others. How many are shown stands in the address,
// so that /collections/tea?shown=7 can be opened, sent to a friend, and gone back to.
const cards = document.querySelector("#cards");
const more = document.querySelector("#more");

async function load(to) {
  const answer = await fetch(`/cards?from=${more.dataset.from}&to=${to}`);
  cards.insertAdjacentHTML("beforeend", await answer.text());
  more.dataset.from = cards.children.length;
  more.hidden = cards.children.length >= Number(more.dataset.of);
}

if (more) {
  more.addEventListener("click", async () => {
    await load(Number(more.dataset.from) + 4);
    history.replaceState(null, "", `?shown=${cards.children.length}`);
  });
  const shown = Number(new URLSearchParams(location.search).get("shown"));
  if (shown > cards.children.length) await load(shown);
}
