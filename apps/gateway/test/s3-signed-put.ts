import { createHash, createHmac } from 'node:crypto'
import { connect } from 'node:net'
import type { S3Target } from './s3-conformance.ts'

/**
 * Puts by a path that is sent as it is: clients of others put dots and slashes out of the way.
 * @returns The whole answer.
 */
export async function signedPut(target: S3Target, path: string, body: string): Promise<string> {
  const { host, hostname, port } = new URL(target.endpoint)
  const timestamp = new Date().toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const date = timestamp.slice(0, 8)
  const hash = createHash('sha256').update(body).digest('hex')
  const names = 'host;x-amz-content-sha256;x-amz-date'
  const headers = `host:${host}\nx-amz-content-sha256:${hash}\nx-amz-date:${timestamp}\n`
  const canonical = ['PUT', path, '', headers, names, hash].join('\n')
  const scope = `${date}/${target.region}/s3/aws4_request`
  const key = [date, target.region, 's3', 'aws4_request'].reduce<Buffer>(
    (before, text) => createHmac('sha256', before).update(text).digest(),
    Buffer.from(`AWS4${target.secretAccessKey}`),
  )
  const toSign = [
    'AWS4-HMAC-SHA256',
    timestamp,
    scope,
    createHash('sha256').update(canonical).digest('hex'),
  ].join('\n')
  const signature = createHmac('sha256', key).update(toSign).digest('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${target.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`
  const lines = [
    `PUT ${path} HTTP/1.1`,
    `Host: ${host}`,
    `X-Amz-Date: ${timestamp}`,
    `X-Amz-Content-Sha256: ${hash}`,
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
