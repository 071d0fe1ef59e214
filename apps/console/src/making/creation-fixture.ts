import { type Creation, type CreationItem, creation, creationItem } from '@berth/contract/creations'
import { sampleOf } from '../schema-fixture.ts'

const FILE = {
  id: 'f0000000-0000-4000-8000-000000000001',
  url: '/gateway/creation-files/one',
  bytes: 3_800_000,
}
const NOT_YET = { rendering_at: null, encoding_at: null, ended_at: null, file: null, cost_micro: '0' }

/** A picture or a film, for a test; one that is saved. */
export function madeItem(part: Partial<CreationItem> = {}): CreationItem {
  return {
    ...(sampleOf(creationItem) as CreationItem),
    ...{ id: 'i0', number: 0, seed: 11, status: 'saved', progress: null, waiting_before: null, error: null },
    ...{ starred: false, cost_micro: '12000', call_id: 'c0', file: { ...FILE, type: 'image/png' } },
    ...{ created_at: '2026-11-27T10:00:00.000Z', rendering_at: '2026-11-27T10:00:01.000Z' },
    ...{ encoding_at: '2026-11-27T10:00:06.000Z', ended_at: '2026-11-27T10:00:07.400Z' },
    ...part,
  }
}

/** One that is under way. */
export const openItem = (part: Partial<CreationItem> = {}): CreationItem =>
  madeItem({ ...NOT_YET, status: 'queued', ...part })

/** One that was not made. */
export const failedItem = (part: Partial<CreationItem> = {}): CreationItem =>
  madeItem({
    ...{ ...NOT_YET, status: 'failed', ended_at: '2026-11-27T10:00:03.000Z' },
    error: { code: 'model_call_failed', message: 'The server ran out of memory.' },
    ...part,
  })

/** A run of pictures, for a test: of one picture. */
export function madeRun(part: Partial<Creation> = {}): Creation {
  return {
    ...(sampleOf(creation) as Creation),
    ...{ id: 'r0', kind: 'image', model_id: 'sd', model_name: 'SD', source: 'console' },
    ...{ prompt: 'A harbour', negative_prompt: '', seed: 11, size: '512x512', count: 1, seconds: null },
    ...{ image: null, last_image: null, mail: false, cost_micro: '12000' },
    ...{ created_at: '2026-11-27T10:00:00.000Z', kept_until: '2026-12-27T10:00:00.000Z' },
    items: [madeItem()],
    ...part,
  }
}

/** What a list of runs answers. */
export const listOf = (items: readonly Creation[], more: object = {}) => ({
  ...{ items, next_cursor: null, month_cost_micro: '36000', currency: 'USD', kept_days: 30 },
  ...{ stored_bytes: 0, stored_bytes_max: 2_000_000_000 },
  counts: { all: items.length, starred: 0, not_made: 0, open: 0 },
  ...more,
})

/** How a PNG begins that says it has so many pixels each way; no picture follows. */
export function pngHead(width: number, height: number): Uint8Array<ArrayBuffer> {
  const head = new DataView(new ArrayBuffer(33))
  const sign = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
  for (const [at, byte] of sign.entries()) head.setUint8(at, byte)
  head.setUint32(16, width)
  head.setUint32(20, height)
  head.setUint8(24, 8)
  return new Uint8Array(head.buffer)
}
