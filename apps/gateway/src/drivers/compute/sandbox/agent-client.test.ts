import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { encodeFrame, encodeJson, FRAME } from '../sessions/frames.ts'
import { AGENT_SOCKET, type AgentClient, createAgentClient } from './agent-client.ts'

// Goal: a customer who has taken the agent's socket gets nothing out of the gateway but an error. Method: the real client,
// and a socket behind which the test says whatever it likes.

const EMPTY = encodeFrame(FRAME.data, Buffer.alloc(0))
const NOTHING_BYTES_MAX = 4 * 1024 * 1024
const OK = encodeJson(FRAME.ok, {})

let folder: string
let server: Server
let agent: AgentClient
/** What the machine's side does with a new connection. */
let serve: (socket: Socket) => void
let written = 0

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-agent-client-'))
  server = createServer({ allowHalfOpen: true }, socket => {
    socket.on('error', () => socket.destroy()).resume()
    serve(socket)
  })
  server.listen(join(folder, AGENT_SOCKET))
  await once(server, 'listening')
  agent = createAgentClient(folder)
})
beforeEach(() => {
  written = 0
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Sends the same bytes until nobody listens any more. */
function flood(socket: Socket, bytes: Buffer): void {
  const many = Buffer.concat(Array(1_000).fill(bytes))
  const more = () => {
    if (socket.destroyed || written > NOTHING_BYTES_MAX * 4) return
    written += many.length
    if (socket.write(many)) setImmediate(more)
    else socket.once('drain', more)
  }
  more()
}

describe('an agent that answers with nonsense', () => {
  test.each(['null', '1', '"ok"', '[]', '{}', '{"protocol":{}}'])('%s is no greeting', async json => {
    serve = socket => socket.end(encodeFrame(FRAME.ok, Buffer.from(json)))
    await expect(agent.hello()).rejects.toMatchObject({ name: 'ComputeError', code: 'failed' })
    expect(await agent.stats()).toEqual({ cpuMs: 0, memoryBytes: 0, diskBytes: null })
  })

  test('null in place of what went wrong is a failure all the same', async () => {
    serve = socket => socket.end(encodeFrame(FRAME.error, Buffer.from('null')))
    await expect(agent.stats()).rejects.toMatchObject({ name: 'ComputeError', code: 'failed' })
  })
})

describe('an agent that sends without an end', () => {
  test('empty frames in place of an answer are given up at once', async () => {
    serve = socket => flood(socket, EMPTY)
    await expect(agent.stats()).rejects.toMatchObject({ code: 'failed' })
    expect(written).toBeLessThan(NOTHING_BYTES_MAX)
  })

  test.each([
    ['empty frames', EMPTY],
    ['frames that no command has', encodeJson(FRAME.ok, {})],
    ['more output than was asked for', encodeFrame(FRAME.data, Buffer.from('x'))],
  ])('%s in place of a command’s output are given up', async (_what, frame) => {
    serve = socket => {
      socket.write(OK)
      flood(socket, frame)
    }
    await expect(agent.exec(['true'], { output_bytes_max: 5_000 })).rejects.toMatchObject({ code: 'failed' })
    expect(written).toBeLessThan(NOTHING_BYTES_MAX)
  })

  test.each([
    ['words', OK],
    ['ends of its command', encodeJson(FRAME.exit, {})],
  ])('%s on the socket by which it is watched end the watch', async (_what, frame) => {
    serve = socket => flood(socket, frame)
    await new Promise<void>(resolve => agent.watch({ onGone: resolve, onCommandEnd: () => {} }))
    expect(written).toBeLessThan(NOTHING_BYTES_MAX)
  })

  test('an end of its command that is told again and again is heard once in a while', async () => {
    let heard = 0
    const { promise: told, resolve: tell } = Promise.withResolvers<void>()
    serve = async socket => {
      socket.write(OK)
      for (let time = 0; time < 100; time++) {
        await new Promise(resolve => socket.write(encodeJson(FRAME.exit, {}), resolve))
        // The other side, which is in this process, has its turn to read each.
        for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
      }
      tell()
    }
    const watch = agent.watch({
      onGone: () => {},
      onCommandEnd: () => {
        heard += 1
      },
    })
    await told
    watch.close()
    // A busy computer may take a second or two for all of it.
    expect(heard).toBeGreaterThan(0)
    expect(heard).toBeLessThan(5)
  })

  test('a command is over when it says so, whatever is said behind', async () => {
    serve = socket => {
      socket.write(OK)
      for (const letter of 'hello') socket.write(encodeFrame(FRAME.data, Buffer.from(letter)))
      socket.write(encodeFrame(FRAME.stderr, Buffer.from('!')))
      socket.write(encodeJson(FRAME.exit, { code: 3 }))
      flood(socket, EMPTY)
    }
    expect(await agent.exec(['true'], { output_bytes_max: 6 })).toEqual({
      exit_code: 3,
      stdout: 'hello',
      stderr: '!',
    })
    expect(written).toBeLessThan(NOTHING_BYTES_MAX)
  })
})
