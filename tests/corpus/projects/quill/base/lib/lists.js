function chunk(list, size) {
  return [list];
}

module.exports = { chunk };
