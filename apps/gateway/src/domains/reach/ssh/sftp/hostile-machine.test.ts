import { duplexPair } from 'node:stream'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeFrame, FRAME, FrameReader } from '../../../../drivers/compute/sessions/frames.ts'
import { createCustomerRooms } from '../customer-room.ts'
import { createMachineFiles } from './machine-files.ts'
import { openMachineShell } from './machine-shell.ts'

// Goal: what a machine answers about its files costs the SSH process little, whatever it is. Method: a shell that says what
// the test wants, in frames as a machine's side sends them.

const MIB = 1024 * 1024
/** Far more than the work takes, and far less than what grows with its square. */
const SOON_MS = 5_000
const MARK = /printf '\\n%s %s\\n' ([0-9a-f]+) /

/** A shell that answers each question with these pieces. @param ends Whether the answer has an end. */
function liar(pieces: readonly Buffer[], ends = true) {
  return async () => {
    const [near, far] = duplexPair()
    const reader = new FrameReader((_, asked) => {
      const mark = MARK.exec(asked.toString('latin1'))?.[1]
      if (mark === undefined) return
      for (const piece of pieces) far.write(encodeFrame(FRAME.data, piece))
      if (ends) far.write(encodeFrame(FRAME.data, Buffer.from(`\n${mark} 0\n`)))
    })
    far.on('data', (bytes: Buffer) => reader.push(bytes))
    return near
  }
}

test('[B19] a folder is what it holds, whatever names are in it, in pieces of any number', async () => {
  const name = fc
    .array(fc.constantFrom('a', '\n', ' ', '-', '0', 'ff 1 0 0 1 1 a'), { minLength: 1, maxLength: 5 })
    .map(parts => parts.join(''))
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.record({ name, isGone: fc.boolean() }), { selector: one => one.name, minLength: 1 }),
      fc.integer({ min: 1, max: 5 }),
      async (files, some) => {
        const all = files.map(one => `${one.isGone ? `gone ${one.name}` : one.name}\0`).join('')
        const there = files.filter(one => !one.isGone)
        const stats = there.map((one, at) => `81a4 ${at} 0 0 1 2 ${one.name}\n`).join('')
        const folder = await createMachineFiles({ ask: async () => `${all}\0${stats}` }).list('/')
        const found: string[] = []
        for (;;) {
          const entries = folder.next(some)
          found.push(...entries.map(entry => entry.name))
          if (entries.length < some) break
        }
        expect(found).toEqual(there.map(one => one.name))
      },
    ),
  )
})

test('a listing that is nothing but digits is done with soon', async () => {
  const said = `${'a\0'.repeat(20_000)}\0${'f'.repeat(4 * MIB)}`
  const startedAt = performance.now()
  expect((await createMachineFiles({ ask: async () => said }).list('/')).next(100)).toEqual([])
  expect(performance.now() - startedAt).toBeLessThan(SOON_MS)
})

test('an answer in many thousand pieces that each end a line is read once', async () => {
  const line = Buffer.from(`${'x'.repeat(499)}\n`)
  const shell = await openMachineShell(liar(Array(20_000).fill(line)), createCustomerRooms(16 * MIB)('anna'))
  const startedAt = performance.now()
  expect(await shell.ask('any')).toHaveLength(20_000 * 500)
  expect(performance.now() - startedAt).toBeLessThan(SOON_MS)
  shell.close()
})

test('what machines answer takes no more of this process than its customer has room for, and is given back', async () => {
  const rooms = createCustomerRooms(3 * MIB)
  const room = rooms('anna')
  const halfway = await openMachineShell(liar([Buffer.alloc(2 * MIB)], false), room)
  const asked = halfway.ask('any')
  asked.catch(() => undefined)
  const hasRoom = () => {
    const has = room.take(2 * MIB)
    if (has) room.give(2 * MIB)
    return has
  }
  await expect.poll(hasRoom).toBe(false)
  const second = await openMachineShell(liar([Buffer.alloc(2 * MIB)]), room)
  await expect(second.ask('any')).rejects.toThrow('too long an answer')
  const others = await openMachineShell(liar([Buffer.alloc(2 * MIB)]), rooms('bea'))
  expect(await others.ask('any')).toHaveLength(2 * MIB)
  halfway.close()
  await expect(asked).rejects.toThrow('closed')
  expect(room.take(3 * MIB)).toBe(true)
})
