// Starts jest with the engine's options, which tests cannot see: with few cores, jest runs tests in this process, where
// they would read these options, and the path of the report, in `process.argv`.
'use strict';

const { realpathSync } = require('fs');
const { dirname } = require('path');

const { program, own, options } = JSON.parse(process.env.TRUED_JEST);
delete process.env.TRUED_JEST; // programs that tests start need not see it
process.argv = [process.argv[0], program, ...own];
process.env.NODE_ENV = process.env.NODE_ENV || 'test'; // as jest's own program does
require(dirname(dirname(realpathSync(program)))).run(options);
