import { expect, type TestContext, test } from 'vitest'
import type { Engine } from '../port/engine.ts'
import { openScreen } from './screen.ts'
import { eventually, expectCode, never, type Subject } from './tools.ts'

/**
 * What every console must do with shells that have names. Asks for no more of a shell than a prompt, `echo` and `exit`,
 * so that the fake passes too.
 */
export function describeSessions(
  subject: Subject,
  options: { makeEngine(): Promise<Engine>; noShells?: string; oneMachine?: true },
): void {
  const skipWithout = (ctx: TestContext) => {
    if (options.noShells !== undefined) ctx.skip(options.noShells)
  }

  test('[B9] a shell outlives who opened it: a restarted gateway attaches to it and is shown what there was', async ctx => {
    skipWithout(ctx)
    const { id } = await subject.running()
    const first = await openScreen(subject.engine(), id, { env: { GIVEN: 'at-the-start' } })
    await first.shows('# ')
    first.type('echo shell-$$ $GIVEN\n')
    await eventually(() => expect(first.bytes().toString()).toMatch(/shell-\d+ at-the-start\r\n/))
    const [number] = /shell-\d+/.exec(first.bytes().toString()) ?? []

    const again = await options.makeEngine()
    expect(await again.console.sessions(id)).toEqual(['web'])
    const second = await openScreen(again, id, { env: { GIVEN: 'later' } })
    await eventually(() => expect(second.replay()).toContain(`${number} at-the-start\r\n`))
    // Both look at the same shell, and both type into it.
    second.type('echo second $GIVEN\n')
    await Promise.all([first, second].map(screen => screen.shows('second at-the-start\r\n')))
    first.line.close()
    second.type('echo alone-$$\n')
    await second.shows(`${number?.replace('shell', 'alone')}\r\n`)
    second.type('exit 4\n')
    expect(await second.end).toEqual({ reason: 'exited', code: 4 })
    await eventually(async () => expect(await again.console.sessions(id)).toEqual([]))
  })

  test('a name is one shell: opened once for many who come at once, and another name is another shell', async ctx => {
    skipWithout(ctx)
    const engine = subject.engine()
    const { id } = await subject.running()
    const screens = await Promise.all(
      ['web', 'web', 'other'].map(session => openScreen(engine, id, { session })),
    )
    for (const screen of screens) await screen.shows('# ')
    expect((await engine.console.sessions(id)).sort()).toEqual(['other', 'web'])
    const [one, same, other] = screens
    one?.type('echo he""ard\n')
    await same?.shows('ard')
    expect(other?.bytes().toString()).not.toContain('ard')
    await engine.console.closeSession(id, 'web')
    await engine.console.closeSession(id, 'web')
    expect(await one?.end).toEqual({ reason: 'closed', code: null })
    expect(await same?.end).toEqual({ reason: 'closed', code: null })
    expect(await engine.console.sessions(id)).toEqual(['other'])
    await engine.console.closeSession(id, 'other')
  })

  test('a machine that stops takes its shells along; its next run has none', async ctx => {
    skipWithout(ctx)
    if (options.oneMachine) return ctx.skip('all tests share one machine, which none of them ends')
    const engine = subject.engine()
    const { id } = await subject.running()
    const screen = await openScreen(engine, id)
    await screen.shows('# ')
    await engine.machines.stop(id, never)
    expect(['exited', 'closed', 'lost']).toContain((await screen.end).reason)
    await expectCode(engine.console.attach(id, 'web', { cols: 80, rows: 24 }), 'not_running')
    await engine.machines.start(id, never)
    await eventually(async () => expect(await engine.console.sessions(id)).toEqual([]))
    const fresh = await openScreen(engine, id)
    await fresh.shows('# ')
    await engine.console.closeSession(id, 'web')
  })

  test('what is no name of a session is refused', async ctx => {
    skipWithout(ctx)
    const { id } = await subject.running()
    await expectCode(subject.engine().console.attach(id, '../web', { cols: 80, rows: 24 }), 'failed')
  })
}
