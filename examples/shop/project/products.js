// The teas, in the order in which the shop shows them. Prices are in cents.
export const teas = [
  { id: "assam", name: "Assam", about: "Malty, strong, good with milk.", cents: 490 },
  { id: "darjeeling", name: "Darjeeling", about: "First flush, light and flowery.", cents: 1250 },
  { id: "sencha", name: "Sencha", about: "Green and grassy, from Uji.", cents: 899 },
  { id: "oolong", name: "Oolong", about: "Half fermented, half a secret.", cents: 1500 },
  { id: "matcha", name: "Matcha", about: "Powder, a whisk, and patience.", cents: 2490 },
  { id: "rooibos", name: "Rooibos", about: "Red, mild, and no tea at all.", cents: 375 },
  { id: "pu-erh", name: "Pu-erh", about: "Earthy, aged for seven years.", cents: 3200 },
];

export const find = (id) => teas.find((tea) => tea.id === id);

export const price = (cents) => `€ ${(cents / 100).toFixed(2)}`;
