import { constants } from 'node:os'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'

/** Longer words help nobody who reads them on an instance's page. */
const DETAIL_CHARS_MAX = 200

const QUOTED_PATH = /(['"`])(?:file:\/)?\/[^'"`]*\1/g
const FILE_URL = /\bfile:\/\/\S*/g
/** An absolute path; the address of a registry and the name of an image have none. */
const BARE_PATH = /(?<![\w/.-])\/(?!\/)[^\s'"`,;:)\]]+/g
/** An errno and all that the system says after it. */
const ERRNO = new RegExp(`\\b(?:${Object.keys(constants.errno).join('|')})\\b.*$`)

/**
 * What a customer is told of a step's failure, beside its reason: only what a driver wrote for people. Words that
 * it passed on from the system say where things lie on the operator's disk; those stay in the log.
 * @param error What the step threw.
 * @returns One line of at most 200 characters; empty where there is nothing for people to read.
 */
export function detailFor(error: unknown): string {
  if (!(error instanceof Error)) return ''
  if (error instanceof ComputeError && isPassedOn(error)) return ''
  return withoutTraces(error.message)
}

/** Whether the message is another error's, word by word. */
function isPassedOn({ message, cause }: ComputeError): boolean {
  return cause instanceof Error && cause.message === message && !(cause instanceof ComputeError)
}

function withoutTraces(message: string): string {
  const [line = ''] = message.trim().split(/[\r\n]/)
  const clean = line
    .replace(ERRNO, '…')
    .replace(QUOTED_PATH, '…')
    .replace(FILE_URL, '…')
    .replace(BARE_PATH, '…')
    .trim()
  if (!/\p{L}/u.test(clean)) return ''
  return clean.length > DETAIL_CHARS_MAX ? `${clean.slice(0, DETAIL_CHARS_MAX - 1)}…` : clean
}
