const SIGN_AND_LENGTH = '89504e470d0a1a0a0000000d49484452'

/** How a PNG begins that says it has so many pixels each way; no picture follows. */
export function pngHead(width: number, height: number): Buffer {
  const rest = Buffer.alloc(17)
  rest.writeUInt32BE(width, 0)
  rest.writeUInt32BE(height, 4)
  rest.writeUInt8(8, 8)
  return Buffer.concat([Buffer.from(SIGN_AND_LENGTH, 'hex'), rest])
}

/** The same of a JPEG, with so many notes of its camera before its size, each of 64 KiB. */
export function jpegHead(width: number, height: number, notes: number): Buffer {
  const note = Buffer.concat([Buffer.from('ffe1ffff', 'hex'), Buffer.alloc(65_533)])
  const frame = Buffer.from('ffc000110800000000030122000211010311', 'hex')
  frame.writeUInt16BE(height, 5)
  frame.writeUInt16BE(width, 7)
  return Buffer.concat([Buffer.from('ffd8', 'hex'), ...Array<Buffer>(notes).fill(note), frame])
}
