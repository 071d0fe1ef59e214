import { createHash, createHmac } from 'node:crypto'

const LIVES_S = 600

/** Whom an address is signed for. */
interface Signer {
  endpoint: string
  region: string
  accessKeyId: string
  secretAccessKey: string
}

/** An address that is good for ten minutes, for one method. @param path Of plain characters. */
export function presigned(signer: Signer, method: string, path: string): string {
  const { endpoint, region, accessKeyId, secretAccessKey } = signer
  const timestamp = new Date().toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const parts = [timestamp.slice(0, 8), region, 's3', 'aws4_request']
  const scope = parts.join('/')
  const query = new URLSearchParams({
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': `${accessKeyId}/${scope}`,
    'X-Amz-Date': timestamp,
    'X-Amz-Expires': String(LIVES_S),
    'X-Amz-SignedHeaders': 'host',
  }).toString()
  const canonical = [
    method,
    path,
    query,
    `host:${new URL(endpoint).host}\n`,
    'host',
    'UNSIGNED-PAYLOAD',
  ].join('\n')
  const hash = createHash('sha256').update(canonical).digest('hex')
  const key = parts.reduce<Buffer>(
    (before, text) => createHmac('sha256', before).update(text).digest(),
    Buffer.from(`AWS4${secretAccessKey}`),
  )
  const toSign = ['AWS4-HMAC-SHA256', timestamp, scope, hash].join('\n')
  const signature = createHmac('sha256', key).update(toSign).digest('hex')
  return `${endpoint}${path}?${query}&X-Amz-Signature=${signature}`
}
