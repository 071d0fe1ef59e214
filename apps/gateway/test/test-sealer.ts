import { systemIds } from '../src/platform/ids.ts'
import { createSealer } from '../src/platform/sealer.ts'

/** Seals as a gateway does, under a key that is no secret. */
export const testSealer = createSealer({
  keys: [new Uint8Array(32).fill(5)],
  purpose: 'tests',
  ids: systemIds,
})
