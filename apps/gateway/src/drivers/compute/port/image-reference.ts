import { isIP } from 'node:net'

/** An image at a registry, as catalogues name it. */
export interface ImageReference {
  /** Where the registry is, such as `registry-1.docker.io` or `localhost:5000`. */
  host: string
  /** The image's name there, such as `library/debian`. */
  repository: string
  /** By what it is asked for: a digest where one was given, else a tag. */
  version: string
}

const REFERENCE_LENGTH_MAX = 512
const REPOSITORY_LENGTH_MAX = 255
const DOCKER_HUB = 'registry-1.docker.io'
/** Names by which people know that one. */
const DOCKER_HUB_NAMES: ReadonlySet<string> = new Set(['docker.io', 'index.docker.io', DOCKER_HUB])

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const HOST = new RegExp(`^(${LABEL}(?:\\.${LABEL})*)(?::([1-9]\\d{0,4}))?$`)
const PORT_MAX = 65_535
/** As the distribution specification has it: no dots alone, so that no part of it is a way up. */
const NAME_PART = '[a-z0-9]+(?:(?:\\.|_{1,2}|-+)[a-z0-9]+)*'
const REPOSITORY = new RegExp(`^${NAME_PART}(?:/${NAME_PART})*$`)
const TAG = /^\w[\w.-]{0,127}$/
const DIGEST = /^sha256:[a-f0-9]{64}$/

/** Whether a text is the digest of something, in the one way that is taken here. */
export function isDigest(text: string): boolean {
  return DIGEST.test(text)
}

/**
 * Reads `[registry/]name[:tag][@sha256:…]` as Docker does: without a registry it is Docker Hub's, without a tag the
 * latest; what has a digest is known by that alone.
 * @returns Null for what is no such reference. Of one that is, no part can be a path, a query or another host.
 */
export function parseReference(text: string): ImageReference | null {
  if (text.length > REFERENCE_LENGTH_MAX) return null
  const [tagged = '', digest, ...more] = text.split('@')
  if (more.length > 0 || (digest !== undefined && !isDigest(digest))) return null
  const colon = tagged.indexOf(':', tagged.lastIndexOf('/') + 1)
  const tag = colon < 0 ? 'latest' : tagged.slice(colon + 1)
  if (!TAG.test(tag)) return null
  const { host, name } = splitHost(colon < 0 ? tagged : tagged.slice(0, colon))
  const repository = host === DOCKER_HUB && !name.includes('/') ? `library/${name}` : name
  if (repository.length > REPOSITORY_LENGTH_MAX || !REPOSITORY.test(repository) || host === '') return null
  return { host, repository, version: digest ?? tag }
}

/**
 * The same image by a digest alone, so that it is one thing whatever becomes of its tag.
 * @param reference As `parseReference` takes it.
 */
export function pinnedTo(reference: string, digest: string): string {
  const [tagged = ''] = reference.split('@')
  const colon = tagged.indexOf(':', tagged.lastIndexOf('/') + 1)
  return `${colon < 0 ? tagged : tagged.slice(0, colon)}@${digest}`
}

/** The host of the registry that a reference leads to; empty for what is no reference. */
export function registryOf(reference: string): string {
  return parseReference(reference)?.host ?? ''
}

/**
 * Reads where a registry is, as people write it: a host, perhaps with a port.
 * @returns It as references have it; null for what is none.
 */
export function parseRegistryHost(text: string): string | null {
  const host = DOCKER_HUB_NAMES.has(text) ? DOCKER_HUB : text
  return isHost(host) ? host : null
}

/** What stands before the first slash is a host where a name could not be so. */
function splitHost(text: string): { host: string; name: string } {
  const slash = text.indexOf('/')
  const first = text.slice(0, Math.max(slash, 0))
  if (!/[.:]/.test(first) && first !== 'localhost') return { host: DOCKER_HUB, name: text }
  return { host: parseRegistryHost(first) ?? '', name: text.slice(slash + 1) }
}

function isHost(text: string): boolean {
  const [, name = '', port = '1'] = HOST.exec(text) ?? []
  // What ends in a number is an address, and is one in full or not at all: `127.1` is one to some, and a name to others.
  const isOne = /(^|\.)\d+$/.test(name) ? isIP(name) === 4 : name !== ''
  return isOne && Number(port) <= PORT_MAX
}
