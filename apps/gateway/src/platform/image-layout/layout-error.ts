/** What an archive of an image may be wrong with. */
export type LayoutFault =
  /** It ends before all of it was there. */
  | 'cut'
  /** Bytes in it are not those that their digest or size says. */
  | 'damaged'
  /** It is no layout of one image, or holds what none has. */
  | 'unfit'
  /** It is one of more bytes, or more layers, than may be. */
  | 'too_large'

/** Why an archive is not taken. `message` is for operators, and holds nothing of the archive but digests. */
export class LayoutError extends Error {
  readonly fault: LayoutFault
  constructor(fault: LayoutFault, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'LayoutError'
    this.fault = fault
  }
}
