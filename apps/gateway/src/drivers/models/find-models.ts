import type { Catalogue, CatalogueModel } from '../../platform/config/catalogue.ts'

/** Where servers of models answer that somebody has started on this computer. */
const USUAL_SERVERS = [
  { vendor: 'Ollama', port: 11_434 },
  { vendor: 'LM Studio', port: 1_234 },
  { vendor: 'llama.cpp', port: 8_080 },
  { vendor: 'vLLM', port: 8_000 },
] as const
/** One that is there says so at once, and nobody waits for one that is not. */
const WAIT_MS = 500
const ANSWER_BYTES_MAX = 1_000_000
const FOUND_MAX = 50
/** As the catalogue names models. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/

/** What is asked of servers. */
export interface FindOptions {
  servers?: readonly { vendor: string; port: number }[]
  waitMs?: number
}

/**
 * Looks for servers of models on this computer, at their usual ports.
 * @param catalogue Where it names a server of its own, or no price for what is found, nothing is asked.
 * @returns The models that they offer, by their own names and at the catalogue's price; those that it has by the same name
 *   are left out.
 */
export async function findModels(
  { models, found_models: prices }: Pick<Catalogue, 'models' | 'found_models'>,
  { servers = USUAL_SERVERS, waitMs = WAIT_MS }: FindOptions = {},
): Promise<CatalogueModel[]> {
  if (!prices || models.some(model => model.servers.length > 0)) return []
  const lists = await Promise.all(
    servers.map(async ({ vendor, port }) => {
      const url = `http://127.0.0.1:${port}/v1`
      const ids = await idsAt(url, waitMs)
      return ids.map(id => foundModel({ id, vendor, server: { driver: 'openai', url } }, prices))
    }),
  )
  const known = new Set(models.map(({ id }) => id))
  return lists
    .flat()
    .filter(({ id }) => !known.has(id) && known.add(id))
    .slice(0, FOUND_MAX)
}

/** None where nothing answers in time, or something else does. */
async function idsAt(url: string, waitMs: number): Promise<string[]> {
  try {
    const signal = AbortSignal.timeout(waitMs)
    const response = await fetch(`${url}/models`, { redirect: 'error', signal })
    if (!response.ok || !response.body) return []
    const { data } = JSON.parse(await textOf(response.body)) as { data?: unknown }
    if (!Array.isArray(data)) return []
    return data.flatMap((one: unknown) => {
      const { id } = (one ?? {}) as { id?: unknown }
      return typeof id === 'string' && ID.test(id) ? [id] : []
    })
  } catch {
    return []
  }
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    if (bytes > ANSWER_BYTES_MAX) throw new Error('that is no list of models')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** A model of which no more is known than its name. */
export function foundModel(
  { id, vendor, server }: { id: string; vendor: string; server: CatalogueModel['servers'][number] },
  prices: NonNullable<Catalogue['found_models']>,
): CatalogueModel {
  const isEmbedding = /embed/i.test(id)
  return {
    id,
    name: id,
    kind: isEmbedding ? 'embedding' : 'chat',
    vendor,
    description: '',
    context_tokens: prices.context_tokens,
    output_tokens_max: isEmbedding ? 0 : Math.min(prices.output_tokens_max, prices.context_tokens),
    capabilities: [],
    input_micro_per_million: prices.price_input_million,
    cached_micro_per_million: prices.price_cached_million ?? prices.price_input_million,
    output_micro_per_million: isEmbedding ? 0n : prices.price_output_million,
    image_micro: 0n,
    sizes: [],
    images_max: 0,
    video_micro_per_second: 0n,
    video_seconds: [],
    image_input: null,
    free_calls_per_day: 0,
    servers: [server],
  }
}
