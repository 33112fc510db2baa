// A reporter that every version of mocha can load. Mocha's own reports name the file of a test only since version 8.2,
// and the option for their path has another name before version 6.
'use strict';

const { writeFileSync } = require('fs');
const { stringify } = JSON;
const report = process.env.TRUED_REPORT;
delete process.env.TRUED_REPORT; // programs that tests start need not see it

const fileOf = (one) => (one ? one.file || fileOf(one.parent) : '');

module.exports = function Reporter(runner) {
  const found = [];
  const add = (outcome) => (test, error) => {
    found.push({
      file: String(fileOf(test) || ''),
      group: String(test.parent ? test.parent.fullTitle() : ''),
      name: String(test.title),
      outcome,
      text: error ? `${error.message || ''}\n${error.stack || ''}`.slice(0, 4000) : '',
      seconds: (test.duration || 0) / 1000,
    });
  };
  runner.on('pass', add('passed'));
  runner.on('pending', add('skipped'));
  runner.on('fail', add('failed'));
  runner.on('end', () => writeFileSync(report, stringify(found)));
};
