import { Readable } from 'node:stream'
import type Docker from 'dockerode'
import { orNull } from './docker-errors.ts'

/** Where the guard finds the files of the engine's computer. */
export const HOST_ROOT = '/host'

/** The places of programs and libraries, and what leads on from them. */
const LINKS = {
  ...Object.fromEntries(
    ['bin', 'sbin', 'lib', 'lib64', 'usr', 'nix', 'run'].map(name => [name, `${HOST_ROOT.slice(1)}/${name}`]),
  ),
  'etc/alternatives': `..${HOST_ROOT}/etc/alternatives`,
  'etc/ld.so.cache': `..${HOST_ROOT}/etc/ld.so.cache`,
}
const TAR_BLOCK_BYTES = 512
const TAR_DIRECTORY = '5'
const TAR_SYMLINK = '2'

/**
 * Has the engine make an image that holds nothing but links: a container of it runs the programs of the engine's own
 * computer, which is bound in read-only. So there is a program that sets rules wherever Docker itself has one, with no
 * registry, and none that somebody else has made.
 * @param reference Name and tag. Made once.
 */
export async function ensureGuardImage(
  docker: Docker,
  reference: { repo: string; tag: string },
): Promise<void> {
  if (await orNull(docker.getImage(`${reference.repo}:${reference.tag}`).inspect())) return
  const answer = await docker.importImage(Readable.from([guardTree()]), reference)
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(answer, error => (error ? reject(error) : resolve()))
  })
}

function guardTree(): Buffer {
  const folders = ['etc', HOST_ROOT.slice(1)].map(name => tarEntry(name, TAR_DIRECTORY, ''))
  const links = Object.entries(LINKS).map(([name, target]) => tarEntry(name, TAR_SYMLINK, target))
  return Buffer.concat([...folders, ...links, Buffer.alloc(2 * TAR_BLOCK_BYTES)])
}

/** The header of a folder or link, which is all that a tar archive (ustar) has of it. */
function tarEntry(name: string, type: string, target: string): Buffer {
  const header = Buffer.alloc(TAR_BLOCK_BYTES)
  const write = (text: string, at: number) => header.write(text, at, 'ascii')
  write(name, 0)
  write('0000755\0', 100)
  write('0000000\0', 108)
  write('0000000\0', 116)
  write('00000000000\0', 124)
  write('00000000000\0', 136)
  // The sum counts its own field as blanks.
  write(' '.repeat(8), 148)
  write(type, 156)
  write(target, 157)
  write('ustar\0', 257)
  write('00', 263)
  const sum = header.reduce((total, byte) => total + byte, 0)
  write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}
