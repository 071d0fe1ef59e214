import type { RegistryLogin } from '../port/registry-access.ts'

/** One repository of a registry, which keeps images by the digest of their manifest. */
export interface ImageRepository {
  /**
   * Keeps the image of an archive as `OwnImages.save` gives it; nobody sees it before all of it has come.
   * @param onDigest Told by which digest it will be known before anybody sees it, and waited for.
   * @throws Its own errors, with a `code` each; what `archive` and `onDigest` throw.
   */
  put(
    archive: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
    onDigest: (digest: string) => Promise<void>,
  ): Promise<{ digest: string; size_bytes: number }>
  /** The archive of an image, made no faster than it is read. */
  get(digest: string, signal: AbortSignal): AsyncIterable<Uint8Array>
  /** Forgets an image. Not there: returns. */
  remove(digest: string): Promise<unknown>
}

/** Where a repository is, and who asks there. */
export interface RepositoryPlace {
  origin: string
  repository: string
  login: RegistryLogin | null
}

/** The installation's registry for the nodes of a cluster: where images lie that were made of machines, or brought there. */
export interface NodeRegistry {
  /** As references name it, with its port where it has one. Nodes must reach it by that. */
  host: string
  /** What all its repositories begin with: each image has one of its own. */
  repository: string
  /** What nodes pull by; null: it lets everybody pull. */
  pullLogin: RegistryLogin | null
  /** How much of the gateway's own disk images may take while they are made, all together; null: what is free. */
  scratch_gb: number | null
  /** Opens a repository, by what the gateway may do there; asks nothing yet. */
  open(repository: string): ImageRepository
}

/** What the line of `image_registry.place_file` says: `https://user:password@host:port/repository`. Null for what is none. */
export function readRegistryPlace(line: string): (RepositoryPlace & { host: string }) | null {
  const url = URL.parse(line.trim())
  const repository = url?.pathname.slice(1) ?? ''
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash) return null
  if (!/^[a-z0-9]+([._/-][a-z0-9]+)*$/.test(repository)) return null
  const { origin, host, username, password } = url
  const login = { username: decodeURIComponent(username), password: decodeURIComponent(password) }
  return { origin, host, repository, login: username === '' ? null : login }
}

/** What the line of `image_registry.pull_file` says: `user:password`. Null for what is none. */
export function readRegistryLogin(line: string): RegistryLogin | null {
  const [, username, password] = /^([^:\s]+):(.+)$/.exec(line.trim()) ?? []
  return username === undefined || password === undefined ? null : { username, password }
}
