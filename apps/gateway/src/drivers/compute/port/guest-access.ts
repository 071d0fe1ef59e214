/** How the gateway and the SSH server of one virtual machine know each other. */
export interface GuestAccess {
  /** The gateway's private key, in OpenSSH's form. */
  privateKey: string
  /** The server's public key: type and base64. */
  hostKey: string
}

/** Where servers of SSH listen, and whom the gateway is there. */
export const GUEST_SSH = { port: 22, user: 'root' } as const

/**
 * Why a virtual machine's own SSH server is of no use: it has another key than it was given; it does not let the gateway
 * in; it does not answer, or not as such a server should; or it does not do what was asked for.
 */
export type GuestFaultCode =
  | 'guest_host_key'
  | 'guest_key_refused'
  | 'guest_unsure'
  | 'guest_full'
  | 'no_subsystem'

/** What is wrong with a virtual machine's own SSH server. */
export class GuestFault extends Error {
  readonly code: GuestFaultCode
  constructor(code: GuestFaultCode, message: string) {
    super(message)
    this.code = code
  }
}
