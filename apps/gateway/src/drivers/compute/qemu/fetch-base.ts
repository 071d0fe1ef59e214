import { z } from 'zod'
import { fetchBlob } from '../oci/fetch-blob.ts'
import { OciFailure } from '../oci/oci-failure.ts'
import { get, mayVisitNamed, mayVisitStranger, PATIENCE, type Patience } from '../oci/outgoing.ts'
import { roomSchema } from '../oci/pull-orders.ts'
import { PACE, type PacedFetch, withPace } from '../oci/pull-pace.ts'

const REDIRECTS_MAX = 5
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** What the process that fetches a file of an image is told. */
export const baseOrdersSchema = z.object({
  url: z.url(),
  sha256: z.string(),
  /** Where it belongs, and where it lies until it is whole. */
  path: z.string(),
  partial: z.string(),
  room: roomSchema,
})
export type BaseOrders = z.infer<typeof baseOrdersSchema>

/**
 * Fetches a file by its address, goes on where an earlier try broke off, and puts it in its place once its digest is the
 * right one.
 * @throws OciFailure.
 */
export async function fetchBase(
  orders: BaseOrders,
  onProgress: (progress: { bytes_done: number; bytes_total: number }) => void,
  patience: Patience = PATIENCE,
): Promise<void> {
  await withPace(PACE, paced => fetchPaced(orders, onProgress, { ...paced, patience }))
}

async function fetchPaced(
  { url, sha256, path, partial, room }: BaseOrders,
  onProgress: (progress: { bytes_done: number; bytes_total: number }) => void,
  { stop, onReceived, patience }: PacedFetch & { patience: Patience },
): Promise<void> {
  const { signal } = stop
  const ask = (from: number) => follow(new URL(url), from, patience, signal)
  const first = await ask(0)
  const size = Number(first.response.headers['content-length'])
  first.response.destroy()
  if (!Number.isSafeInteger(size)) throw new OciFailure('unreachable', 'it does not say how large it is')
  if (size > room.freeBytes) throw new OciFailure('no_room')
  const client = { blob: (_digest: string, from: number) => ask(from) }
  const blob = { digest: `sha256:${sha256}`, size, path, partial }
  const onBytes = (done: number) => onProgress({ bytes_done: done, bytes_total: size })
  await fetchBlob(client, blob, { patience, signal, keptBytes: room.kept.bytes, onBytes, onReceived })
}

/** Asks for a file from one of its bytes on, wherever it is sent to. */
async function follow(start: URL, from: number, patience: Patience, signal: AbortSignal) {
  const headers: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {}
  let url = start
  for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
    const may = url.origin === start.origin ? mayVisitNamed : mayVisitStranger
    const response = await get(url, { headers, may, patience, signal })
    const status = response.statusCode ?? 0
    if (status === 206) return { response, from }
    if (status === 200) return { response, from: 0 }
    response.destroy()
    if (!REDIRECTS.has(status))
      throw new OciFailure(status === 404 ? 'not_found' : 'unreachable', `status ${status}`)
    const next = URL.parse(response.headers.location ?? '', url.href)
    if (!next) break
    url = next
  }
  throw new OciFailure('unreachable', 'it sends from one place to the next')
}
