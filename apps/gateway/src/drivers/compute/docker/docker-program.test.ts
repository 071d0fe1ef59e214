import { type Duplex, duplexPair } from 'node:stream'
import type Docker from 'dockerode'
import { expect, test } from 'vitest'
import { openProgram, type ProgramLineEnd } from '../port/program-line.ts'
import { runProgram } from './docker-program.ts'

const STDOUT = 1
const STDERR = 2

/** What an engine sends of one of the two outputs. */
function frame(output: number, text: string): Buffer {
  const head = Buffer.alloc(8)
  head[0] = output
  head.writeUInt32BE(Buffer.byteLength(text), 4)
  return Buffer.concat([head, Buffer.from(text)])
}

test('errors that an engine passes on before the first line of the output are not lost', async () => {
  const [socket, engine] = duplexPair()
  const exec = { start: async () => socket, inspect: async () => ({ ExitCode: 7 }) }
  const container = { exec: async () => exec } as unknown as Docker.Container
  const running = runProgram(container, { command: 'echo ab; echo err >&2; exit 7' })
  for (const piece of [frame(STDERR, 'err\n'), frame(STDOUT, '42\nab\n')]) engine.write(piece)
  engine.end()
  expect(await toldBy(await running)).toMatchObject({ output: 'ab\n', errors: 'err\n', code: 7, lost: false })
})

test('a command that ends before its terminal has its size says what it said, and how it ended', async () => {
  const [socket, engine] = duplexPair()
  const exec = {
    start: async () => socket,
    inspect: async () => ({ Running: false, ExitCode: 7 }),
    resize: () => Promise.reject(new Error('no running process found')),
  }
  const container = { exec: async () => exec } as unknown as Docker.Container
  const running = runProgram(container, { command: 'echo in; exit 7', pty: { cols: 80, rows: 24 } })
  engine.end('\x1b]berth;42\x07in\r\n')
  expect(await toldBy(await running)).toMatchObject({ output: 'in\r\n', code: 7, lost: false })
})

/** All that a program's line tells, and its end. */
async function toldBy(line: Duplex) {
  const told = { output: '', errors: '' }
  const end = Promise.withResolvers<ProgramLineEnd>()
  openProgram(line, {
    onOutput: bytes => {
      told.output += bytes
    },
    onErrors: bytes => {
      told.errors += bytes
    },
    onEnd: end.resolve,
  })
  return { ...(await end.promise), ...told }
}
