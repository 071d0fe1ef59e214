import { createHash, createHmac } from 'node:crypto'
import { connect } from 'node:net'
import { type Claim, signingKey } from '../src/domains/s3/protocol/signature.ts'
import type { S3Target } from './s3-conformance.ts'

/** What a signed head gives to those who sign what comes behind it. */
export interface SignedHead {
  claim: Pick<Claim, 'signature' | 'timestamp' | 'date' | 'region'>
  key: Uint8Array
}

interface Put {
  /** Sent as it is: clients of others put dots and slashes out of the way. */
  path: string
  body: string | ((head: SignedHead) => string)
  /** The Host header; left out: the endpoint's own. */
  host?: string
  /** What stands for the body in what is signed; left out: its hash. */
  payload?: string
  /** Further headers, in lower case, which are signed. */
  headers?: Readonly<Record<string, string>>
}

/** Puts by a request that is written by hand. @returns The whole answer. */
export async function signedPut(target: S3Target, put: Put): Promise<string> {
  const { host, hostname, port } = new URL(target.endpoint)
  const timestamp = new Date().toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const date = timestamp.slice(0, 8)
  const payload = put.payload ?? sha256(String(put.body))
  const signed = Object.entries({
    ...put.headers,
    host: put.host ?? host,
    'x-amz-content-sha256': payload,
    'x-amz-date': timestamp,
  }).sort(([one], [other]) => (one < other ? -1 : 1))
  const names = signed.map(([name]) => name).join(';')
  const headers = signed.map(([name, value]) => `${name}:${value}\n`).join('')
  const canonical = ['PUT', put.path, '', headers, names, payload].join('\n')
  const { region } = target
  const scope = `${date}/${region}/s3/aws4_request`
  const key = signingKey(target.secretAccessKey, { date, region })
  const toSign = ['AWS4-HMAC-SHA256', timestamp, scope, sha256(canonical)].join('\n')
  const signature = createHmac('sha256', key).update(toSign).digest('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${target.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`
  const claim = { signature, timestamp, date, region }
  const body = typeof put.body === 'string' ? put.body : put.body({ claim, key })
  const lines = [
    `PUT ${put.path} HTTP/1.1`,
    ...signed.map(([name, value]) => `${name}: ${value}`),
    `Authorization: ${authorization}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ]
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  socket.write(lines.join('\r\n'))
  let text = ''
  for await (const piece of socket) text += String(piece)
  return text
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
