/**
 * Lays an image's layers into a new root. It runs as a user of its own within the walls of a machine, where nothing can
 * be written but that root: whatever is in a layer, nothing else is in reach. Its orders are its first argument; it
 * writes a JSON value a line, the last one what it has come to, and ends when whoever started it closes file 3.
 */
import { createHash } from 'node:crypto'
import { chmodSync, createReadStream, readFileSync, statfsSync } from 'node:fs'
import { Socket } from 'node:net'
import { PassThrough, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { NotAnArchive, TarReader } from '../../../../platform/tar/tar-reader.ts'
import { BadEntry, ImageTree } from './image-tree.ts'
import type { UnpackAnswer, UnpackFailure, UnpackOrders, UnpackProgress } from './unpack-orders.ts'

const ROOT = '/root'
const PARENT_FD = 3
/** How often it is told at most how far it is. */
const TELL_MS = 500
/** Places of a machine's root where its walls put something, and those that programs take for granted. */
const PLACES = ['proc', 'sys', 'dev', '.berth', 'tmp', 'root', 'etc']
const USERS_BYTES_MAX = 1024 * 1024

const orders = JSON.parse(process.argv[2] ?? '') as UnpackOrders
const parent = new Socket({ fd: PARENT_FD, readable: true, writable: false })
parent.on('error', () => process.exit(1))
parent.on('end', () => process.exit(1)).resume()

/** A layer that holds something else than the image says. */
class NotWhatItSays extends Error {}
class NoRoom extends Error {}

let bytes = 0
let bytes_done = 0
let toldAt = Date.now()
const tree = new ImageTree(ROOT, orders)

function unpackerOf(packing: UnpackOrders['layers'][number]['packing']): Transform {
  if (packing === 'gzip') return createGunzip()
  return packing === 'zstd' ? createZstdDecompress() : new PassThrough()
}

/** Asks the disk: small files and folders take more of it than an archive says, and others fill it as well. */
function mustHaveRoom(): void {
  const { bavail, bsize, ffree } = statfsSync(ROOT)
  const { kept } = orders
  if (bavail * bsize < kept.bytes || ffree < kept.files) throw new NoRoom()
}

async function layLayer({ path, packing, diff_id }: UnpackOrders['layers'][number]): Promise<void> {
  tree.nextLayer()
  const reader = new TarReader(entry => tree.lay(entry))
  const hash = createHash('sha256')
  const file = createReadStream(path)
  await pipeline(file, unpackerOf(packing), async pieces => {
    for await (const piece of pieces as AsyncIterable<Buffer>) {
      bytes += piece.length
      if (bytes > orders.bytes_max) throw new BadEntry('it is larger than may be')
      tellNowAndThen(bytes_done + file.bytesRead)
      hash.update(piece)
      reader.push(piece)
      mustHaveRoom()
    }
  })
  bytes_done += file.bytesRead
  reader.end()
  if (`sha256:${hash.digest('hex')}` !== diff_id)
    throw new NotWhatItSays('a layer of it is not what it says it is')
}

/** Who an image's programs are to be: a name or a number, perhaps with a group's behind a colon. */
function userOf(said: string): UnpackAnswer['user'] {
  const [user = '', group = ''] = said.split(':')
  if (user === '' || user === 'root' || user === '0') return { uid: 0, gid: 0, name: 'root', home: '/root' }
  const rows = rowsOf('/etc/passwd').filter(([name, , uid]) => name === user || uid === user)
  const [name = user, , uid = user, gid = '0', , home = '/'] = rows[0] ?? []
  const groups = rowsOf('/etc/group').filter(([one]) => one === group)
  return { uid: idOf(uid), gid: idOf(group === '' ? gid : (groups[0]?.[2] ?? group)), name, home }
}

function idOf(text: string): number {
  const id = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (!(id < (orders.users ?? 2 ** 31))) throw new BadEntry('the user that it wants to be is not in it')
  return id
}

function rowsOf(name: string): string[][] {
  const path = tree.find(name)
  try {
    const text = path === null ? '' : readFileSync(path, 'utf8').slice(0, USERS_BYTES_MAX)
    return text.split('\n').map(line => line.split(':'))
  } catch {
    return []
  }
}

function say(value: UnpackProgress | UnpackAnswer | UnpackFailure): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}

function tellNowAndThen(bytes_done: number): void {
  if (Date.now() - toldAt < TELL_MS) return
  toldAt = Date.now()
  say({ bytes_done })
}

function failureOf(error: unknown): UnpackFailure {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (error instanceof NoRoom || /^(ENOSPC|EDQUOT)$/.test(code)) {
    return { failed: 'the disk has no room for it', why: 'no_room' }
  }
  if (error instanceof NotWhatItSays) return { failed: message, why: 'damaged' }
  if (error instanceof BadEntry || error instanceof NotAnArchive) return { failed: message, why: 'unfit' }
  if (!/^(Z_|ERR_ZSTD|ZSTD_|ENAMETOOLONG|ELOOP)/.test(code)) throw error
  return { failed: 'a layer of it is damaged', why: 'damaged' }
}

try {
  for (const layer of orders.layers) await layLayer(layer)
  for (const place of PLACES) tree.clear(place)
  chmodSync(`${ROOT}/tmp`, 0o1777)
  for (const name of orders.files) tree.put(name)
  tree.folder(orders.working_dir.split('/').filter(part => part !== '' && part !== '.' && part !== '..'))
  const user = userOf(orders.user)
  chmodSync(ROOT, 0o755)
  say({ user })
} catch (error) {
  say(failureOf(error))
}
parent.destroy()
