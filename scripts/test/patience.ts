import { vi } from 'vitest'
import { PATIENCE_MS } from './patience-ms.ts'

// Vitest has a setting for `expect.poll`, and none for this.
const { waitFor } = vi
vi.waitFor = (check, options) =>
  waitFor(check, typeof options === 'number' ? options : { timeout: PATIENCE_MS, ...options })
