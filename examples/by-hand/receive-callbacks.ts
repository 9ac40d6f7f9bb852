/** How callbacks are usually received by hand; docs/moving.md says what is wrong with it. */

import express from 'express';
import { sign } from './post.ts';

/** Stands for the users of a database. */
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
