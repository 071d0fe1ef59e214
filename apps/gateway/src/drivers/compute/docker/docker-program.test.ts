import { duplexPair } from 'node:stream'
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
  const told = { output: '', errors: '' }
  const end = Promise.withResolvers<ProgramLineEnd>()
  openProgram(await running, {
    onOutput: bytes => {
      told.output += bytes
    },
    onErrors: bytes => {
      told.errors += bytes
    },
    onEnd: end.resolve,
  })
  expect(await end.promise).toMatchObject({ code: 7, lost: false })
  expect(told).toEqual({ output: 'ab\n', errors: 'err\n' })
})
