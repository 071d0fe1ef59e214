import { vi } from 'vitest'
import { PATIENCE_MS } from './patience-ms.ts'

// Vitest has a setting for `expect.poll`, and none for these.
const { waitFor, waitUntil } = vi
vi.waitFor = (check, options) => waitFor(check, patient(options))
vi.waitUntil = (check, options) => waitUntil(check, patient(options))

function patient<T extends { timeout?: number }>(options: number | T | undefined) {
  return typeof options === 'number' ? options : { timeout: PATIENCE_MS, ...options }
}
