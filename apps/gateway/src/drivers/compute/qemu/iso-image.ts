/** ECMA-119, which ISO took over: a disk of a few files in one folder. */
const SECTOR_BYTES = 2_048
const PRIMARY_AT = 16
const END_AT = 17
const TABLE_LITTLE_AT = 18
const TABLE_BIG_AT = 19
const FOLDER_AT = 20
const FILES_AT = 21
const DIRECTORY_FLAG = 2
const ENTRY_HEAD_BYTES = 33
/** A path table with the root alone. */
const TABLE_BYTES = 10

/**
 * Makes a disk that holds files, as every Linux reads it; names are shown in small letters there.
 * @param label The disk's name, by which guests find it.
 * @param files By their names, of at most 30 characters. Their entries fit one sector.
 */
export function isoImage(label: string, files: Readonly<Record<string, string>>): Buffer {
  const contents = Object.entries(files).map(([name, text]) => ({
    name: name.toUpperCase(),
    bytes: Buffer.from(text),
  }))
  let at = FILES_AT
  const placed = contents.map(file => {
    const mine = { ...file, at }
    at += Math.ceil(file.bytes.length / SECTOR_BYTES)
    return mine
  })
  const image = Buffer.alloc(at * SECTOR_BYTES)
  const self = entry('\0', FOLDER_AT, SECTOR_BYTES, DIRECTORY_FLAG)
  const folder = [
    self,
    entry('\x01', FOLDER_AT, SECTOR_BYTES, DIRECTORY_FLAG),
    ...placed.map(file => entry(`${file.name};1`, file.at, file.bytes.length, 0)),
  ]
  const listed = Buffer.concat(folder)
  if (listed.length > SECTOR_BYTES) throw new Error('more files than one folder of a sector holds')
  primary(label, at, self).copy(image, PRIMARY_AT * SECTOR_BYTES)
  Buffer.from('\xffCD001\x01', 'latin1').copy(image, END_AT * SECTOR_BYTES)
  for (const [sector, isBig] of [
    [TABLE_LITTLE_AT, false],
    [TABLE_BIG_AT, true],
  ] as const) {
    const table = image.subarray(sector * SECTOR_BYTES)
    table.writeUInt8(1, 0)
    if (isBig) table.writeUInt32BE(FOLDER_AT, 2)
    else table.writeUInt32LE(FOLDER_AT, 2)
    if (isBig) table.writeUInt16BE(1, 6)
    else table.writeUInt16LE(1, 6)
  }
  listed.copy(image, FOLDER_AT * SECTOR_BYTES)
  for (const file of placed) file.bytes.copy(image, file.at * SECTOR_BYTES)
  return image
}

/** The descriptor by which the disk is read. */
function primary(label: string, sectors: number, root: Buffer): Buffer {
  const bytes = Buffer.alloc(SECTOR_BYTES)
  const text = (value: string, from: number, length: number) =>
    bytes.write(value.padEnd(length).slice(0, length), from, 'latin1')
  bytes.write('\x01CD001\x01', 0, 'latin1')
  text('', 8, 32)
  text(label, 40, 32)
  both32(bytes, sectors, 80)
  both16(bytes, 1, 120)
  both16(bytes, 1, 124)
  both16(bytes, SECTOR_BYTES, 128)
  both32(bytes, TABLE_BYTES, 132)
  bytes.writeUInt32LE(TABLE_LITTLE_AT, 140)
  bytes.writeUInt32BE(TABLE_BIG_AT, 148)
  root.copy(bytes, 156)
  // Names of who made it and of files that say more: none. Then times, which are not set.
  text('', 190, 623)
  for (const from of [813, 830, 847, 864]) bytes.write('0'.repeat(16), from, 'latin1')
  bytes.writeUInt8(1, 881)
  return bytes
}

function entry(name: string, at: number, length: number, flags: number): Buffer {
  const padded = ENTRY_HEAD_BYTES + name.length + ((name.length + 1) % 2)
  const bytes = Buffer.alloc(padded)
  bytes.writeUInt8(padded, 0)
  both32(bytes, at, 2)
  both32(bytes, length, 10)
  // 1 January 2000.
  Buffer.from([100, 1, 1, 0, 0, 0, 0]).copy(bytes, 18)
  bytes.writeUInt8(flags, 25)
  both16(bytes, 1, 28)
  bytes.writeUInt8(name.length, 32)
  bytes.write(name, ENTRY_HEAD_BYTES, 'latin1')
  return bytes
}

/** Numbers stand there twice, once in each order. */
function both32(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32LE(value, at)
  bytes.writeUInt32BE(value, at + 4)
}

function both16(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt16LE(value, at)
  bytes.writeUInt16BE(value, at + 2)
}
