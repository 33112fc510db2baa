function upper(text) {
  return text.toUpperCase();
}

function cut(text, length) {
  if (!Number.isInteger(length) || length < 1) throw new RangeError(`no length: ${length}`);
  const letters = Array.from(text);
  return letters.length <= length ? text : letters.slice(0, length - 1).join('') + '…';
}

module.exports = { upper, cut };
