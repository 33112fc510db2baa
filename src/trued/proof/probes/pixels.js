// Compares three pictures of a page, given as data URLs: two as it is, and one without its text. Returns for each piece of
// text whether one of its boxes changed. Pixels that differ between the first two pictures do not count: they move by
// themselves. `top`: where the pictures begin on the page.
async ([pictures, pieces, top]) => {
  const pixels = await Promise.all(pictures.map(async (address) => {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height);
  }));
  const [width, height] = ["width", "height"].map((side) => Math.min(...pixels.map((one) => one[side])));
  const [first, again, bare] = pixels.map((one) => [new Uint32Array(one.data.buffer), one.width]);
  const differs = ([some, one], [others, other], x, y) => some[y * one + x] !== others[y * other + x];
  const changed = ([left, above, wide, high]) => {
    const [x0, y0] = [Math.max(0, Math.floor(left)), Math.max(0, Math.floor(above - top))];
    const [x1, y1] = [Math.min(width, Math.ceil(left + wide)), Math.min(height, Math.ceil(above - top + high))];
    for (let y = y0; y < y1; y += 1) {
      for (let x = x0; x < x1; x += 1) if (differs(first, bare, x, y) && !differs(first, again, x, y)) return true;
    }
    return false;
  };
  return pieces.map((boxes) => boxes.some(changed));
}
