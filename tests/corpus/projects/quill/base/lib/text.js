function upper(text) {
  return text.toUpperCase();
}

module.exports = { upper };
