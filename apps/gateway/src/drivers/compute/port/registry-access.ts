/** A login at a registry. It is a secret: it is in memory for the length of a pull, and nowhere else. */
export interface RegistryLogin {
  /** Without a colon. */
  username: string
  /** Or a token that the registry takes in place of one. */
  password: string
}

/** What a pull goes by at one registry. */
export interface RegistryTerms {
  /** Null: the pull shows none. */
  login: RegistryLogin | null
  /** Authorities in PEM that vouch for the registry in place of the public ones; null for those. */
  ca: string | null
  /**
   * Other hosts, as they stand in references, that it may send to for tokens and blobs although they are private; the
   * same authorities vouch for them. To any other it may send on the public internet alone.
   */
  also: readonly string[]
  /**
   * It was named by a customer, who is not to reach the operator's network by it: it is asked by TLS and on the public
   * internet alone. Left out: the operator named it.
   */
  is_stranger?: boolean | undefined
}

/**
 * What a pull may show to registries. A driver asks it once, for the registry of the image alone.
 * @param host As it stands in references, with a port where one does: `ghcr.io`, `localhost:5000`; Docker Hub is
 *   `registry-1.docker.io`.
 * @throws ComputeError where it cannot be said now.
 */
export type RegistryAccess = (host: string) => Promise<RegistryTerms>

/** Of whoever has no login anywhere. */
export const asNobody: RegistryAccess = async () => ({ login: null, ca: null, also: [] })
