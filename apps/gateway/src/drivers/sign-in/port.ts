/** The sign-in port: another service that says who somebody is, an identity provider. */
export interface IdentityProvider {
  /** Lasting: linked identities are kept by it. */
  readonly name: string
  readonly kind: 'oidc' | 'github'
  /** For people. */
  readonly displayName: string
  /** Public: the browser carries it there. */
  readonly clientId: string
  readonly scopes: string

  /**
   * Says where the browser goes.
   * @throws IdentityProviderError when the service cannot be reached.
   */
  authorizationUrl(visit: VisitSecrets): Promise<string>

  /**
   * Trades what the browser brought back for who came.
   * @throws IdentityProviderError when the service refuses it, says something else than it was asked for, or
   *   cannot be reached.
   */
  identify(answer: ProviderAnswer): Promise<ProviderIdentity>
}

/** What is made for one visit to the service and kept by us until the browser is back. */
export interface VisitSecrets {
  /** Comes back with the browser. */
  state: string
  /** Comes back inside the ID token, where there is one. */
  nonce: string
  /** Only its hash goes along; the code is worth nothing without it (PKCE). */
  codeVerifier: string
  /** Where the service sends the browser; registered there. */
  redirectUri: string
}

export interface ProviderAnswer extends VisitSecrets {
  code: string
  /** Who the service says that it is, where it says so in the address (RFC 9207); else null. */
  issuer: string | null
}

/** Who somebody is at the service. */
export interface ProviderIdentity {
  /** Lasting and never given to anybody else, where names and addresses change hands. */
  subject: string
  /** What they are called there; empty where the service does not say. */
  username: string
  displayName: string
  /** As the service spells it; empty where it gives none. */
  email: string
  /** Whether the service has proof that the address is theirs. */
  emailVerified: boolean
}

/** The service did not say who somebody is. The message is for the log and holds no code, token or secret. */
export class IdentityProviderError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'IdentityProviderError'
  }
}
