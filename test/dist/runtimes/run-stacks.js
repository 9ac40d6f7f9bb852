// Runs every method with every kind of error, and looks for the caller's function in the stack; the results, as the
// last line of the output.

import { runStacks } from './stacks.js';

const results = await runStacks();
console.log(JSON.stringify(results.map(({ name, problem }) => ({ name, problem }))));
