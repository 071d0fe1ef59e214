import type { Duplex } from 'node:stream'
import { expect, test } from 'vitest'
import { lackOf, offered } from '../port/part.ts'
import { eventually, expectCode, never, type Subject } from './tools.ts'

/** How every driver that has serial lines leads to them. */
export function describeSerial(subject: Subject): void {
  test('the serial line of a machine that does not run, or is not there, is not opened', async ctx => {
    const { serial } = subject.engine().console
    const why = lackOf(serial)
    if (why !== null) return ctx.skip(why)
    const spec = subject.spec()
    await expectCode(offered(serial).open(spec.id), 'not_found')
    await subject.engine().machines.create(spec, never)
    await expectCode(offered(serial).open(spec.id), 'not_running')
  })

  test('what is typed on the serial line shows for all who are on it, until the machine ends', async ctx => {
    const { serial } = subject.engine().console
    const why = lackOf(serial)
    if (why !== null) return ctx.skip(why)
    const { id } = await subject.running()
    const lines = await Promise.all([offered(serial).open(id), offered(serial).open(id)])
    const [one, two] = lines.map(watch)
    lines[0]?.write('se\u00e9n\r')
    await eventually(() => {
      for (const seen of [one, two]) expect(seen?.text()).toContain('se\u00e9n')
    })
    lines[0]?.destroy()
    lines[1]?.write('still\r')
    await eventually(() => expect(two?.text()).toContain('still'))
    await subject.engine().machines.stop(id, never)
    await eventually(() => expect(two?.isOver()).toBe(true))
  })
}

function watch(line: Duplex) {
  const chunks: Buffer[] = []
  let isOver = false
  line.on('data', chunk => chunks.push(chunk))
  line.on('end', () => {
    isOver = true
  })
  line.on('error', () => undefined)
  return { text: () => Buffer.concat(chunks).toString(), isOver: () => isOver }
}
