import { Duplex } from 'node:stream'
import { expect, test } from 'vitest'
import { encodeFrame, FRAME } from '../../../../drivers/compute/sessions/frames.ts'
import { eventually } from '../../reach-fixture.ts'
import { createCustomerRooms } from '../customer-room.ts'
import { createFileReader } from './file-streams.ts'

// Goal: who opens files and does not read them costs the SSH process little. Method: files without an end.

const MIB = 1024 * 1024
const FILES = 40
/** What is read of a file before its first reader asks, what one read of it brings, and what streams hold. */
const EACH_BYTES_MAX = 320 * 1024

test('[B19] files that are opened and not read on are read ahead as far as their customer has room, and no further', async () => {
  let poured = 0
  const bytes = encodeFrame(FRAME.data, Buffer.alloc(32 * 1024))
  const run = async () =>
    new Duplex({
      highWaterMark: 1,
      read() {
        setImmediate(() => {
          poured += bytes.length
          this.push(bytes)
        })
      },
      write: (_chunk, _encoding, done) => done(),
    })
  const room = createCustomerRooms(16 * MIB)('anna')
  const readers = Array.from({ length: FILES }, () => createFileReader(run, '/f', room))
  for (const reader of readers)
    for (let at = 0; at < 8; at++) expect((await reader.read(at, 1))?.length).toBe(1)
  let before = -1
  await eventually('files that wait', async () => {
    const isStill = before === poured
    before = poured
    await new Promise(resolve => setTimeout(resolve, 50))
    return isStill
  })
  expect(poured).toBeLessThan(FILES * EACH_BYTES_MAX + 8 * MIB)
  // Whoever does read goes on, also without room.
  expect((await readers.at(-1)?.read(8, 255 * 1024))?.reduce((sum, { length }) => sum + length, 0)).toBe(
    255 * 1024,
  )
  for (const reader of readers) reader.close()
  expect(room.take(16 * MIB)).toBe(true)
})
