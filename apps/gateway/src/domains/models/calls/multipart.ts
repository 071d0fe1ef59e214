import { ApiError } from '../../../platform/http/api-error.ts'

/** More parts than any form of the protocol has, and the longest of what is no file. */
const PARTS_MAX = 40
const FIELD_BYTES_MAX = 200_000
const HEAD_BYTES_MAX = 4_096
const END_OF_HEAD = '\r\n\r\n'

export interface FormParts {
  fields: Map<string, string>
  files: { name: string; type: string; bytes: Buffer }[]
}

/** The boundary of a form; null for what is none. */
export function boundaryOf(contentType: string): string | null {
  const found = /^multipart\/form-data;.*?boundary=(?:"([^"\r\n]{1,100})"|([^\s;"]{1,100}))/i.exec(
    contentType,
  )
  return found?.[1] ?? found?.[2] ?? null
}

/**
 * Takes a form apart. Its files are parts of the same memory, which is gone over by the platform's own search alone.
 * @throws ApiError `validation_failed` for what is no form, or has more than any call takes.
 */
export function readForm(body: Buffer, boundary: string): FormParts {
  const form: FormParts = { fields: new Map(), files: [] }
  const mark = Buffer.from(`\r\n--${boundary}`)
  // The first one stands at the beginning, or after words that nobody reads.
  let from = body.subarray(0, mark.length - 2).equals(mark.subarray(2)) ? mark.length - 2 : body.indexOf(mark)
  if (from === -1) throw broken()
  for (let parts = 0; !isEnd(body, from); parts++) {
    const to = body.indexOf(mark, from)
    if (to === -1 || parts >= PARTS_MAX) throw broken()
    addPart(form, body.subarray(from, to))
    from = to + mark.length
  }
  return form
}

function isEnd(body: Buffer, at: number): boolean {
  return body.toString('latin1', at, at + 2) === '--'
}

function addPart(form: FormParts, part: Buffer): void {
  const end = part.subarray(0, HEAD_BYTES_MAX).indexOf(END_OF_HEAD)
  if (end === -1) throw broken()
  const head = part.toString('utf8', 0, end)
  const name = /;\s*name="([^"]{1,100})"/i.exec(head)?.[1]
  if (name === undefined) throw broken()
  const bytes = part.subarray(end + END_OF_HEAD.length)
  if (/;\s*filename=/i.test(head)) {
    const type = /^content-type:\s*(\S{1,100})/im.exec(head)?.[1] ?? ''
    form.files.push({ name, type: type.toLowerCase(), bytes })
    return
  }
  if (bytes.length > FIELD_BYTES_MAX || form.fields.has(name)) throw broken()
  form.fields.set(name, bytes.toString('utf8'))
}

function broken(): ApiError {
  return new ApiError('validation_failed', { fields: [{ path: '', rule: 'not_allowed' }] })
}
