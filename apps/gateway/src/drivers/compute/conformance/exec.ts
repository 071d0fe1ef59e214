import { expect } from 'vitest'
import { PATIENCE_MS } from '../../../../../../scripts/test/patience-ms.ts'
import { commands, eventually, expectCode, type Subject } from './tools.ts'

/** How every driver runs commands. */
export function describeExec(subject: Subject): void {
  subject.inside('exec tells output, errors and exit code apart', async () => {
    const engine = subject.engine()
    const { id } = await subject.running()
    const result = await engine.console.exec(id, ['sh', '-c', 'echo out; echo err >&2; exit 7'])
    expect(result).toEqual({ exit_code: 7, stdout: 'out\n', stderr: 'err\n' })
    expect((await engine.console.exec(id, ['/no/such/program'])).exit_code).toBeGreaterThanOrEqual(126)
    expect((await engine.console.exec(id, ['printf', '%s', 'a b  c"\'$X'])).stdout).toBe('a b  c"\'$X')
  })

  subject.inside('exec cuts output at the limit and ends what takes too long', async () => {
    const engine = subject.engine()
    const { id } = await subject.running()
    const cut = await engine.console.exec(id, ['seq', '1', '100000'], { output_bytes_max: 1000 })
    expect(cut.stdout.length).toBe(1000)
    const began = Date.now()
    await expectCode(engine.console.exec(id, ['sleep', '31'], { timeout_ms: 200 }), 'failed')
    // Whoever waited for it to end would have waited longer, however slow the computer is.
    expect(Date.now() - began).toBeLessThan(PATIENCE_MS)
    await eventually(async () => {
      expect(await commands(engine, id)).not.toContain('sleep 31')
    })
  })
}
