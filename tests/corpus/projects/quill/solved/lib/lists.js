function chunk(list, size) {
  if (!Number.isInteger(size) || size < 1) throw new RangeError(`no size: ${size}`);
  const out = [];
  for (let start = 0; start < list.length; start += size) out.push(list.slice(start, start + size));
  return out;
}

module.exports = { chunk };
