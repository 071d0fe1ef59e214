/** The local model cannot run here, and trying again changes nothing; its words are for the operator. */
export class Unfit extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Unfit'
  }
}

const GB = 1_000_000_000

/** Bytes as an operator reads them. */
export function inGb(bytes: number): string {
  return `${(bytes / GB).toFixed(1)} GB`
}
