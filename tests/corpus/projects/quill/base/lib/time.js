function seconds(text) {
  throw new Error('not done');
}

module.exports = { seconds };
