import type { ComputeErrorCode } from '../port/compute-error.ts'

/** What a registry, or an image of one, may be wrong with. */
export type OciFault =
  | 'not_found'
  | 'needs_login'
  | 'login_refused'
  | 'leads_astray'
  | 'rate_limited'
  | 'too_slow'
  | 'unreachable'
  | 'digest_wrong'
  | 'not_an_image'
  | 'no_such_platform'
  | 'too_large'
  | 'no_room'

const MEANINGS: Readonly<Record<OciFault, readonly [ComputeErrorCode, string]>> = {
  not_found: ['image_not_found', 'the registry has no such image'],
  needs_login: ['image_needs_login', 'the registry does not give the image to everybody'],
  login_refused: ['image_login_refused', 'the registry does not give the image to this login'],
  leads_astray: [
    'image_unavailable',
    'it sends to a host in a private network, or without TLS, that nobody here named for it',
  ],
  rate_limited: ['registry_busy', 'the registry is asked too often from here'],
  too_slow: ['registry_slow', 'the registry sends too slowly'],
  unreachable: ['registry_unreachable', 'the registry does not answer, or breaks off'],
  digest_wrong: ['image_damaged', 'what the registry sends is not what the image names by its digest'],
  not_an_image: ['image_unfit', 'what the registry has under that name is no image that can run here'],
  no_such_platform: ['image_unfit', 'the image is not there for this kind of processor'],
  too_large: ['image_unfit', 'the image is larger than may be'],
  no_room: ['no_room', 'the host has no room for the image'],
}

/** Why an image was not fetched. `message` is for people, and holds nothing that a registry said. */
export class OciFailure extends Error {
  readonly fault: OciFault

  /** @param detail What exactly, in words of ours. */
  constructor(fault: OciFault, detail?: string, options?: { cause?: unknown }) {
    const [, sentence] = MEANINGS[fault]
    super(detail === undefined ? sentence : `${sentence} (${detail})`, options)
    this.name = 'OciFailure'
    this.fault = fault
  }

  /** What it is to whoever asked for the image. */
  get code(): ComputeErrorCode {
    return MEANINGS[this.fault][0]
  }
}
