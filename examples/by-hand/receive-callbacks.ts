/** Typical hand-written code that receives callbacks; docs/moving.md lists its mistakes. */

import express from 'express';
import { sign } from './post.ts';

/** The users, in memory; a real program has a database. */
export const verified: string[] = [];

export const app = express();

app.post('/callbacks', express.json(), (request, response) => {
  const { signature, timestamp, ResultCode, PartnerParams } = request.body;
  if (signature !== sign(timestamp)) {
    response.status(401).end();
    return;
  }
  console.log('callback', request.body);
  if (ResultCode === '0810') verified.push(PartnerParams.user_id);
  response.status(200).end();
});
