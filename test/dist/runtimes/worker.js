// Runs the contracts inside workerd: each request to it runs those whose name begins as it says.

import { runContracts } from './contract.js';

export default {
  async fetch(request, env) {
    const named = new URL(request.url).searchParams.get('named') ?? '';
    return Response.json(await runContracts(JSON.parse(env.CONTRACT_SURROUNDINGS), named));
  },
};
