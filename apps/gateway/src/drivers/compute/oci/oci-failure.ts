/** What a registry, or an image of one, may be wrong with. */
export type OciFault =
  | 'not_found'
  | 'refused'
  | 'rate_limited'
  | 'unreachable'
  | 'digest_wrong'
  | 'not_an_image'
  | 'no_such_platform'
  | 'too_large'

const SENTENCES: Readonly<Record<OciFault, string>> = {
  not_found: 'the registry has no such image',
  refused: 'the registry does not give the image to everybody',
  rate_limited: 'the registry is asked too often from here',
  unreachable: 'the registry does not answer, or breaks off',
  digest_wrong: 'what the registry sends is not what the image names by its digest',
  not_an_image: 'what the registry has under that name is no image that can run here',
  no_such_platform: 'the image is not there for this kind of processor',
  too_large: 'the image is larger than may be',
}

/** What may be other another time. */
const PASSING: ReadonlySet<OciFault> = new Set(['rate_limited', 'unreachable', 'digest_wrong'])

/** Why an image was not fetched. `message` is for operators, and holds nothing that a registry said. */
export class OciFailure extends Error {
  readonly fault: OciFault

  /** @param detail What exactly, in words of ours. */
  constructor(fault: OciFault, detail?: string, options?: { cause?: unknown }) {
    super(detail === undefined ? SENTENCES[fault] : `${SENTENCES[fault]} (${detail})`, options)
    this.name = 'OciFailure'
    this.fault = fault
  }

  /** Whether it is worth another try. */
  get passes(): boolean {
    return PASSING.has(this.fault)
  }
}
