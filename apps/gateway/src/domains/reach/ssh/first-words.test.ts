import { randomBytes } from 'node:crypto'
import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { awaitFirstWords, type FirstWords } from './first-words.ts'

const LISTS = [['curve25519-sha256'], ['ssh-ed25519'], ['aes128-ctr', 'a'], ['b'], ['hmac'], ['hmac']]
/** Longer than anything takes that does not hang. */
const PATIENCE_MS = 60_000
const WHOLE = Buffer.concat([Buffer.from('SSH-2.0-any\r\n'), kexInit(LISTS)])

test('a client’s first words are known however they come in pieces, and its reader gets every byte in order', async () => {
  const cut = fc.array(fc.integer({ min: 1, max: WHOLE.length - 1 }), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(cut, async cuts => {
      const edges = [0, ...[...new Set(cuts)].sort((a, b) => a - b), WHOLE.length]
      const pieces = edges.slice(1).map((to, index) => WHOLE.subarray(edges[index], to))
      const { known, read } = await hear([...pieces, Buffer.from('more')], PATIENCE_MS)
      expect(known).toEqual([{ ciphersIn: ['aes128-ctr', 'a'], ciphersOut: ['b'] }])
      expect(read.equals(Buffer.concat([WHOLE, Buffer.from('more')]))).toBe(true)
    }),
    { numRuns: 50 },
  )
})

test('whatever else is said is read as it came, and nothing is known of it', async () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 2_000 })
  await fc.assert(
    fc.asyncProperty(bytes, fc.boolean(), async (said, greets) => {
      const all = Buffer.concat([...(greets ? [Buffer.from('SSH-2.0-any\r\n')] : []), said])
      const { known, read } = await hear([all])
      expect(known).toEqual([null])
      expect(read.equals(all)).toBe(true)
    }),
    { numRuns: 50 },
  )
})

test('a client that says no more than its greeting is read after a moment, and one that says too much at once', async () => {
  expect((await hear([Buffer.from('SSH-2.0-any\r\n')])).known).toEqual([null])
  const endless = Buffer.concat([
    Buffer.from('SSH-2.0-any\r\n'),
    Buffer.from([0, 0, 0x40, 0]),
    randomBytes(15_000),
  ])
  expect((await hear([endless, randomBytes(2_000)], PATIENCE_MS)).known).toEqual([null])
  expect((await hear([Buffer.alloc(20_000, 'x')], PATIENCE_MS)).known).toEqual([null])
})

/** What is known and read of pieces that come one after the other. */
async function hear(pieces: Buffer[], waitMs = 5) {
  const socket = new PassThrough()
  const read: Buffer[] = []
  const known: (FirstWords | null)[] = []
  const said = Promise.withResolvers<void>()
  awaitFirstWords(socket, waitMs, words => {
    known.push(words)
    said.resolve()
  })
  socket.on('data', piece => read.push(piece))
  await new Promise(resolve => setImmediate(resolve))
  for (const piece of pieces) {
    socket.write(piece)
    await new Promise(resolve => setImmediate(resolve))
  }
  await said.promise
  await new Promise(resolve => setImmediate(resolve))
  return { known, read: Buffer.concat(read) }
}

function kexInit(lists: string[][]): Buffer {
  const names = lists.map(list => {
    const text = Buffer.from(list.join(','))
    return Buffer.concat([lengthOf(text.length), text])
  })
  const body = Buffer.concat([Buffer.from([4, 20]), randomBytes(16), ...names, Buffer.alloc(4)])
  return Buffer.concat([lengthOf(body.length), body])
}

function lengthOf(bytes: number): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes)
  return length
}
