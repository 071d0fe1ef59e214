import { createHash, generateKeyPairSync, type JsonWebKey, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { field, positive } from '../src/domains/ssh-keys/public-key-fixture.ts'

const REQUEST_IDENTITIES = 11
const IDENTITIES = 12
const SIGN = 13
const SIGNED = 14
const FAILURE = 5
const APPLICATION = 'ssh:'

/** A security token that needs no finger, behind an agent of OpenSSH's protocol: the signatures are as real ones are. */
export interface SecurityToken {
  /** What stands in `ssh -o IdentityAgent=`. */
  socket: string
  /** The key's file for `ssh -i`, of which only the public half is there. */
  file: string
  line: string
  /** Whether somebody touches it. */
  touched: boolean
  close(): void
}

/** Makes a token with one key. @param folder For its socket and its key's public half. */
export async function createSecurityToken(folder: string, kind: 'ed25519' | 'ecdsa'): Promise<SecurityToken> {
  const isEd25519 = kind === 'ed25519'
  const type = isEd25519 ? 'sk-ssh-ed25519@openssh.com' : 'sk-ecdsa-sha2-nistp256@openssh.com'
  const { publicKey, privateKey } = isEd25519
    ? generateKeyPairSync('ed25519')
    : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicKey.export({ format: 'jwk' })
  const point = isEd25519 ? [part(jwk, 'x')] : ['nistp256', pointOf(jwk)]
  const blob = Buffer.concat([type, ...point, APPLICATION].map(field))
  const line = `${type} ${blob.toString('base64')} token`
  const file = join(folder, `token-${kind}`)
  writeFileSync(`${file}.pub`, `${line}\n`)

  function signed(data: Buffer): Buffer {
    const tail = Buffer.from([token.touched ? 1 : 0, 0, 0, 0, 7])
    const said = Buffer.concat([sha256(APPLICATION), tail, sha256(data)])
    const own = isEd25519
      ? sign(null, said, privateKey)
      : numbersOf(sign('sha256', said, { key: privateKey, dsaEncoding: 'ieee-p1363' }))
    return Buffer.concat([field(type), field(own), tail])
  }

  function answer(request: Buffer): Buffer {
    if (request[0] === REQUEST_IDENTITIES) {
      return Buffer.concat([Buffer.from([IDENTITIES, 0, 0, 0, 1]), field(blob), field('token')])
    }
    if (request[0] !== SIGN) return Buffer.from([FAILURE])
    const start = 5 + request.readUInt32BE(1)
    const data = request.subarray(start + 4, start + 4 + request.readUInt32BE(start))
    return Buffer.concat([Buffer.from([SIGNED]), field(signed(data))])
  }

  const server = createServer(socket => serve(socket, answer))
  const token: SecurityToken = {
    socket: join(folder, `token-${kind}.sock`),
    file,
    line,
    touched: true,
    close: () => server.close(),
  }
  await new Promise<void>(resolve => server.listen(token.socket, resolve))
  return token
}

/** One answer a request, each behind its length. */
function serve(socket: Socket, answer: (request: Buffer) => Buffer): void {
  let held = Buffer.alloc(0)
  socket.on('error', () => socket.destroy())
  socket.on('data', (piece: Buffer) => {
    held = Buffer.concat([held, piece])
    while (held.length >= 4 && held.length >= 4 + held.readUInt32BE(0)) {
      const end = 4 + held.readUInt32BE(0)
      socket.write(field(answer(held.subarray(4, end))))
      held = held.subarray(end)
    }
  })
}

function sha256(bytes: Buffer | string): Buffer {
  return createHash('sha256').update(bytes).digest()
}

function part(jwk: JsonWebKey, name: 'x' | 'y'): Buffer {
  return Buffer.from(jwk[name] ?? '', 'base64url')
}

function pointOf(jwk: JsonWebKey): Buffer {
  return Buffer.concat([Buffer.of(4), part(jwk, 'x'), part(jwk, 'y')])
}

/** Two numbers as SSH writes them. */
function numbersOf(both: Buffer): Buffer {
  const half = both.length / 2
  return Buffer.concat(
    [both.subarray(0, half), both.subarray(half)].map(number => {
      const first = number.findIndex(byte => byte !== 0)
      return field(positive(number.subarray(first)))
    }),
  )
}
