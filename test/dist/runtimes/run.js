// Runs the contracts on Node, Bun or Deno: where, by a variable; the results, as the last line of the output.

import { runContracts } from './contract.js';

const results = await runContracts(JSON.parse(process.env.CONTRACT_SURROUNDINGS));
console.log(JSON.stringify(results));
