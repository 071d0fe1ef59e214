import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { receive } from '../protocol/receive.ts'
import type { S3Answer } from '../protocol/s3-request.ts'
import { S3Error } from '../s3-error.ts'
import { answerOf, type OuterQuestion } from './ask-outer.ts'
import { createHeldBody } from './held-body.ts'
import { isWell, refusalOf, saidBy, textOf } from './outer-answers.ts'
import type { OuterRequest } from './outer-request.ts'

/** A condition is of the moment at which the object is there. */
const CONDITIONS = ['if-match', 'if-none-match'] as const
const UPLOAD_ID = /<UploadId>([^<]{1,1024})<\/UploadId>/

/** The server has refused a step, and that is the client's answer. */
class Refused extends Error {
  readonly answer: S3Answer
  constructor(answer: S3Answer) {
    super('the S3 server refuses')
    this.answer = answer
  }
}

/**
 * Puts an object that is too large to be held, as an upload by parts, each of which is known whole and signed so: there are servers
 * that keep what came of a body that was cut off. It is there when all of it has been found right, and not before.
 * @param question What is asked and told of the object.
 * @param partBytes What is held at a time.
 */
export async function putLarge(
  request: OuterRequest,
  question: OuterQuestion,
  { partBytes, bytesMax }: { partBytes: number; bytesMax: number },
): Promise<S3Answer | null> {
  const { headers } = question
  const isCondition = (name: string) => (CONDITIONS as readonly string[]).includes(name)
  const told = Object.fromEntries(Object.entries(headers).filter(([name]) => !isCondition(name)))
  const conditions = Object.fromEntries(Object.entries(headers).filter(([name]) => isCondition(name)))

  /** One step. @throws Refused. */
  async function step(
    method: string,
    query: OuterQuestion['query'],
    more: Record<string, string>,
    body: Buffer | null,
  ): Promise<IncomingMessage> {
    const md5 = body && createHash('md5').update(body).digest('base64')
    const headers = { ...more, ...(md5 !== null && { 'content-md5': md5 }) }
    const answer = await answerOf(
      request.outer,
      { method, key: question.key, query, headers },
      { ...request, body },
    )
    if (!isWell(answer)) throw new Refused(await refusalOf(answer, request))
    return answer
  }

  async function begin(): Promise<string> {
    const xml = await textOf(await step('POST', [['uploads', '']], told, null))
    const id = UPLOAD_ID.exec(xml)?.[1]
    if (id === undefined) throw new S3Error('ServiceUnavailable')
    return id
  }

  const parts: string[] = []
  let id: string | null = null
  async function sendPart(body: Buffer): Promise<void> {
    // Begun with the first part: who sends nothing leaves nothing open at the server.
    id ??= await begin()
    const query = [
      ['partNumber', String(parts.length + 1)],
      ['uploadId', id],
    ] as const
    const answer = await step('PUT', query, {}, body)
    await textOf(answer)
    parts.push(answer.headers.etag ?? '')
  }

  async function take(content: AsyncIterable<Uint8Array>) {
    const md5 = createHash('md5')
    let bytes = 0
    const held = createHeldBody(partBytes)
    for await (const piece of content) {
      bytes += piece.length
      md5.update(piece)
      for (let left = piece; left.length > 0; ) {
        left = held.add(left)
        if (!held.isFull()) continue
        await sendPart(held.content())
        held.empty()
      }
    }
    if (held.content().length > 0) await sendPart(held.content())
    return { md5: md5.digest('hex'), bytes }
  }

  try {
    await receive(request, take, { bytesMax, isHurried: true })
    if (id === null) throw new S3Error('IncompleteBody')
    const named = parts.map(
      (etag, at) => `<Part><ETag>${etag}</ETag><PartNumber>${at + 1}</PartNumber></Part>`,
    )
    const body = Buffer.from(`<CompleteMultipartUpload>${named.join('')}</CompleteMultipartUpload>`)
    const answer = await step('POST', [['uploadId', id]], conditions, body)
    const xml = await textOf(answer)
    const etag = /<ETag>([^<]+)<\/ETag>/.exec(xml)?.[1]?.replaceAll('&quot;', '"').replaceAll('&#34;', '"')
    // A server that says well first may still refuse in the document.
    if (etag === undefined) throw new S3Error('ServiceUnavailable', { cause: new Error(xml.slice(0, 300)) })
    return { headers: { ...saidBy(answer), etag } }
  } catch (error) {
    // What this cannot take back, the volume's next count does, days later.
    if (id !== null) await step('DELETE', [['uploadId', id]], {}, null).catch(() => undefined)
    if (error instanceof Refused) return error.answer
    throw error
  }
}
