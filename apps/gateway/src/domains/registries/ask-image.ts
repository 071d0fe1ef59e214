import type { FieldRule } from '@berth/contract/errors'
import * as z from 'zod'
import type { ImageReference } from '../../drivers/compute/port/image-reference.ts'
import { parseChallenges } from '../../platform/http/parse-challenges.ts'
import {
  ASK_MS_MAX,
  basicOf,
  NoRegistryError,
  openRegistry,
  parseJson,
  tokenOf,
  tokenUrlOf,
} from './ask-registry.ts'
import { type Outbound, type OutboundAnswer, OutboundError } from './outbound.ts'

/** What asking a registry for an image gave; the size is that of what is fetched. */
export type ImageAnswer =
  | { result: 'reachable'; sizeMb: number }
  | { result: 'not_found' | 'needs_login' | 'login_refused' | 'unfit' | 'away' | 'private' }

/** The rule that a reference breaks by what its registry said; none for one that can be had. */
export const IMAGE_RULES = {
  not_found: 'image_not_found',
  needs_login: 'image_needs_login',
  login_refused: 'image_login_refused',
  unfit: 'image_unfit',
  away: 'image_registry_away',
  private: 'registry_host_private',
} as const satisfies Record<Exclude<ImageAnswer['result'], 'reachable'>, FieldRule>

/** Lists of layers and of kinds of processors; registries keep to no more than a few MB themselves. */
const MANIFEST_BYTES_MAX = 1_000_000
const LAYERS_MAX = 1_000
const BYTES_PER_MB = 1_024 * 1_024
/** As large as a layer can be said to be without losing bytes. */
const LAYER_BYTES_MAX = 2 ** 40

const ACCEPT = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ')

const digest = z.string().regex(/^sha256:[a-f0-9]{64}$/)
const indexSchema = z.object({
  manifests: z.array(
    z.object({
      digest,
      platform: z.object({ os: z.string(), architecture: z.string() }).optional(),
    }),
  ),
})
const manifestSchema = z.object({
  layers: z.array(z.object({ size: z.number().int().min(0).max(LAYER_BYTES_MAX) })).max(LAYERS_MAX),
})

/** What processors are called in images. */
const ARCHITECTURES: Readonly<Partial<Record<NodeJS.Architecture, string>>> = { x64: 'amd64', arm64: 'arm64' }

/**
 * Asks a registry for an image as a pull would begin, and no further: whether it is given, and how large it is.
 * @param asked.login Told to the registry, and to the service that it names for its tokens, alone; null for nobody's.
 */
export async function askImage(
  outbound: Outbound,
  asked: { reference: ImageReference; login: { username: string; password: string } | null },
): Promise<ImageAnswer> {
  const signal = AbortSignal.timeout(ASK_MS_MAX)
  try {
    return await ask(outbound, asked, signal)
  } catch (error) {
    if (error instanceof NoRegistryError) return { result: 'away' }
    if (!(error instanceof OutboundError)) throw error
    return { result: error.fault === 'private' ? 'private' : 'away' }
  }
}

async function ask(
  outbound: Outbound,
  { reference, login }: Parameters<typeof askImage>[1],
  signal: AbortSignal,
): Promise<ImageAnswer> {
  const { host, repository, version } = reference
  const path = (one: string) => `/v2/${repository}/manifests/${one}`
  const how = { signal, accept: ACCEPT, bytesMax: MANIFEST_BYTES_MAX }
  const { url, answer } = await openRegistry(outbound, { registry: host, path: path(version), ...how })
  let authorization: string | undefined
  const get = (where: URL) => outbound.get(where, { ...how, ...(authorization && { authorization }) })
  let found = answer
  if (found.status === 401) {
    const shown = await authorizationFor(outbound, { answer, login, signal })
    if (shown === null) return { result: login ? 'login_refused' : 'needs_login' }
    authorization = shown
    found = await get(url)
  }
  const refused = refusalOf(found, login !== null)
  if (refused) return refused
  const index = indexSchema.safeParse(parseJson(found.text)).data
  if (index) {
    const architecture = ARCHITECTURES[process.arch]
    const ours = index.manifests.find(
      ({ platform }) => platform?.os === 'linux' && platform.architecture === architecture,
    )
    if (!ours) return { result: 'unfit' }
    found = await get(new URL(path(ours.digest), url))
    const refusedToo = refusalOf(found, login !== null)
    if (refusedToo) return refusedToo
  }
  const manifest = manifestSchema.safeParse(parseJson(found.text)).data
  if (!manifest) return { result: 'unfit' }
  const bytes = manifest.layers.reduce((sum, { size }) => sum + size, 0)
  return { result: 'reachable', sizeMb: Math.ceil(bytes / BYTES_PER_MB) }
}

/** What shows the registry who asks, in the way that it wants; null where that needs a login, or another one. */
async function authorizationFor(
  outbound: Outbound,
  asked: {
    answer: OutboundAnswer
    login: { username: string; password: string } | null
    signal: AbortSignal
  },
): Promise<string | null> {
  const { answer, login, signal } = asked
  const challenges = parseChallenges(answer.headers['www-authenticate'] ?? [])
  const basic = login && basicOf(login)
  const bearer = challenges.find(({ scheme }) => scheme === 'bearer')
  if (!bearer) return challenges.some(({ scheme }) => scheme === 'basic') ? basic : null
  const tokenUrl = tokenUrlOf(bearer, login?.username ?? null)
  const granted = await outbound.get(tokenUrl, { signal, ...(basic && { authorization: basic }) })
  if (granted.status === 401 || granted.status === 403) return null
  if (granted.status !== 200) throw new OutboundError('unreachable')
  return `Bearer ${tokenOf(granted.text)}`
}

/** What an answer says that is no image; null for one that is. */
function refusalOf({ status }: OutboundAnswer, hasLogin: boolean): ImageAnswer | null {
  if (status === 200) return null
  if (status === 401 || status === 403) return { result: hasLogin ? 'login_refused' : 'needs_login' }
  return { result: status === 404 ? 'not_found' : 'away' }
}
