import { resolve } from 'node:path'
import { type Catalogue, loadCatalogue } from '../src/platform/config/catalogue.ts'

const FILE = resolve(import.meta.dirname, '../../../config/catalogue.yaml')

let read: Catalogue | undefined

/** The catalogue that ships, read once for all tests of a process: whoever wants another one copies it. */
export function shippedCatalogue(): Catalogue {
  read ??= loadCatalogue(FILE)
  return read
}
