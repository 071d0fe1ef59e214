import { expect, test } from 'vitest'
import { hasRoomFor, SHELLS_MAX } from './shell-room.ts'

test.each([
  { held: 0, ofMachine: 0, room: true },
  { held: SHELLS_MAX / 2 - 1, ofMachine: 7, room: true },
  { held: SHELLS_MAX / 2, ofMachine: 1, room: false },
  { held: SHELLS_MAX - 1, ofMachine: 0, room: true },
  { held: SHELLS_MAX, ofMachine: 0, room: false },
])(
  '[R2.23] with $held shells, a machine of $ofMachine may open another: $room',
  ({ held, ofMachine, room }) => {
    expect(hasRoomFor(held, ofMachine)).toBe(room)
  },
)
