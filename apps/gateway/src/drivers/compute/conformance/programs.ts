import { expect } from 'vitest'
import type { RunOptions } from '../port/console.ts'
import type { Engine } from '../port/engine.ts'
import { lackOf, offered } from '../port/part.ts'
import { openProgram, type ProgramLine, type ProgramLineEnd } from '../port/program-line.ts'
import { eventually, expectCode, type Subject } from './tools.ts'

const INPUT_BYTES = 3_000_000

/** How every driver runs programs with streams of their own. */
export function describePrograms(subject: Subject): void {
  subject.inside('a program has its input, two outputs, an environment and an end', async context => {
    const why = lackOf(subject.engine().console.programs)
    if (why !== null) context.skip(why)
    const { id } = await subject.running({ env: { OF_MACHINE: 'a' } })
    const start = (options: RunOptions) => startProgram(subject.engine(), id, options)

    const said = await start({
      command: 'echo "$OF_MACHINE$ADDED"; echo err >&2; exit 7',
      env: { ADDED: 'b' },
    })
    expect(await said.end).toEqual({ code: 7, signal: null, lost: false })
    expect([said.output(), said.errors()]).toEqual(['ab\n', 'err\n'])

    const counted = await start({ command: 'wc -c' })
    await counted.write(Buffer.alloc(INPUT_BYTES, 'x'))
    counted.line.end()
    expect(await counted.end).toMatchObject({ code: 0 })
    expect(counted.output().trim()).toBe(String(INPUT_BYTES))

    const shell = await start({ command: null })
    await shell.write(Buffer.from('echo from the input; exit 3\n'))
    expect(await shell.end).toMatchObject({ code: 3 })
    expect(shell.output()).toBe('from the input\n')

    const left = await start({ command: 'sleep 3000 & echo done' })
    expect(await left.end).toMatchObject({ code: 0 })
    expect(left.output()).toBe('done\n')

    const trapped = await start({
      command: 'trap "echo heard; exit 5" TERM; echo ready; while :; do sleep 0.05; done',
    })
    await eventually(() => expect(trapped.output()).toBe('ready\n'))
    trapped.line.signal('TERM')
    expect(await trapped.end).toMatchObject({ code: 5 })
    expect(trapped.output()).toBe('ready\nheard\n')

    const none = startProgram(subject.engine(), 't-0000000000', { command: 'true' })
    await expectCode(none, 'not_found')
  })

  subject.inside(
    'a program on a terminal knows its size and its changes, and is hung up with its line',
    async context => {
      const why = lackOf(subject.engine().console.programs)
      if (why !== null) context.skip(why)
      const { id } = await subject.running()
      const pty = { cols: 100, rows: 30 }
      // A program that asks at once is told at once, whatever it is told later.
      const until = (size: string) => `until [ "$(stty size)" = "${size}" ]; do sleep 0.05; done`
      const command = `stty size; echo first; ${until('43 132')}; read -r code; exit "$code"`
      const shell = await startProgram(subject.engine(), id, { command, pty })
      await eventually(() => expect(shell.output()).toContain('first'))
      expect(shell.output()).toContain('30 100')
      shell.line.resize(132, 43)
      await shell.write(Buffer.from('4\n'))
      expect(await shell.end).toMatchObject({ code: 4 })

      const hung = await startProgram(subject.engine(), id, {
        command: 'echo up; trap "echo gone > /tmp/gone; exit" HUP; while :; do sleep 0.05; done',
        pty,
      })
      await eventually(() => expect(hung.output()).toContain('up'))
      hung.line.close()
      await eventually(async () => {
        const { stdout } = await subject.engine().console.exec(id, ['cat', '/tmp/gone'])
        expect(stdout).toBe('gone\n')
      })
    },
  )
}

interface Started {
  line: ProgramLine
  end: Promise<ProgramLineEnd>
  write(bytes: Buffer): Promise<void>
  output(): string
  errors(): string
}

async function startProgram(engine: Engine, id: string, options: RunOptions): Promise<Started> {
  const stream = await offered(engine.console.programs).run(id, options)
  const out: Buffer[] = []
  const err: Buffer[] = []
  const end = Promise.withResolvers<ProgramLineEnd>()
  const line = openProgram(stream, {
    onOutput: bytes => out.push(bytes),
    onErrors: bytes => err.push(bytes),
    onEnd: end.resolve,
  })
  return {
    line,
    end: end.promise,
    write: bytes => new Promise(resolve => line.write(bytes, resolve)),
    output: () => Buffer.concat(out).toString(),
    errors: () => Buffer.concat(err).toString(),
  }
}
