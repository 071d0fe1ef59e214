const SIGN_AND_LENGTH = '89504e470d0a1a0a0000000d49484452'

/** How a PNG begins that says it has so many pixels each way; no picture follows. */
export function pngHead(width: number, height: number): Buffer {
  const rest = Buffer.alloc(17)
  rest.writeUInt32BE(width, 0)
  rest.writeUInt32BE(height, 4)
  rest.writeUInt8(8, 8)
  return Buffer.concat([Buffer.from(SIGN_AND_LENGTH, 'hex'), rest])
}
