import { linkSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { encodeAnswer } from '../port/answers.ts'
import { connectToKeeper, takeKeeperName } from './keeper-name.ts'
import { KEEPER_SOCKET } from './keeper-words.ts'

// Goal: of keepers that begin in one folder one is left, whatever the one before left there. Method: the names are taken
// in one process, by servers that answer as a keeper does; real keepers are in the test beside this one.

let folder: string
const servers = new Set<Server>()
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-keepers-'))
})
afterEach(() => {
  for (const server of servers) server.close()
  servers.clear()
  rmSync(folder, { recursive: true, force: true })
})

/** A server that treats each connection in that way. */
function serverOf(serve: (socket: Socket) => void): Server {
  const server = createServer(socket => {
    socket.on('error', () => socket.destroy())
    serve(socket)
  })
  servers.add(server)
  return server
}

const answering = () => serverOf(socket => socket.end(encodeAnswer({ sessions: [] })))
const silent = () => serverOf(socket => socket.resume())
const takers = (count: number) => Array.from({ length: count }, () => takeKeeperName(folder, answering))

async function listen(server: Server, path: string): Promise<void> {
  await new Promise<void>(resolve => server.listen({ path }, resolve))
}

/** A socket that was left behind: whoever connects to it is refused. */
async function leaveDeadSocket(): Promise<void> {
  const dead = silent()
  await listen(dead, join(folder, 'dead'))
  linkSync(join(folder, 'dead'), join(folder, KEEPER_SOCKET))
  await new Promise(resolve => dead.close(resolve))
  expect(readdirSync(folder)).toEqual([KEEPER_SOCKET])
  expect(await connectToKeeper(folder)).toBeNull()
}

test.each([
  ['into an empty folder', () => rmSync(folder, { recursive: true })],
  ['where a killed one left its socket', leaveDeadSocket],
])('of many that come at once %s one has the name, and nothing else is left there', async (_name, before) => {
  await before()
  const names = (await Promise.all(takers(8))).filter(name => name !== null)
  expect(names).toHaveLength(1)
  expect(readdirSync(folder)).toEqual([KEEPER_SOCKET])
  const socket = await connectToKeeper(folder)
  expect(socket).not.toBeNull()
  socket?.destroy()
  expect(await Promise.all(takers(2))).toEqual([null, null])
  names[0]?.release()
  expect(await connectToKeeper(folder)).toBeNull()
})

test('one that ends without an answer is waited for', async () => {
  const ending = serverOf(socket => {
    // As a process that ends: its name goes first, then its connections.
    rmSync(join(folder, KEEPER_SOCKET))
    ending.close()
    socket.destroy()
  })
  await listen(ending, join(folder, KEEPER_SOCKET))
  expect(await takeKeeperName(folder, answering)).not.toBeNull()
})

test('who gives the name up takes neither the name nor the folder from those who have begun there since', async () => {
  const [first] = await Promise.all(takers(1))
  rmSync(join(folder, KEEPER_SOCKET))
  const [second] = await Promise.all(takers(1))
  first?.release()
  expect(readdirSync(folder)).toEqual([KEEPER_SOCKET])
  await listen(silent(), join(folder, 'beginning'))
  second?.release()
  expect(readdirSync(folder)).toEqual(['beginning'])
})
