import { describe, expect, type TestContext, test } from 'vitest'
import { ComputeError } from '../port/compute-error.ts'
import type { Engine } from '../port/engine.ts'
import type { MachineSpec } from '../port/machines.ts'

/** What the parts of the conformance suite need: the driver under test, and machines for one test. */
export interface Subject {
  engine(): Engine
  /** A test that runs programs in machines; where the engine runs none it is skipped, and says why. */
  inside(name: string, run: (context: TestContext) => Promise<void>): void
  /** A machine that does not exist yet, removed at the end of the test. */
  spec(part?: Partial<MachineSpec>): MachineSpec
  /** A machine that runs, removed at the end of the test. */
  running(part?: Partial<MachineSpec>): Promise<MachineSpec>
}

/** The signal of a caller that never gives up. */
export const never = new AbortController().signal

const EVENTUALLY_TIMEOUT_MS = 60_000
const EVENTUALLY_POLL_MS = 25

/** Asks again until `check` no longer throws, or throws what it threw last when time is up. */
export async function eventually<T>(check: () => Promise<T> | T): Promise<T> {
  const deadline = Date.now() + EVENTUALLY_TIMEOUT_MS
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (Date.now() > deadline) throw error
      await new Promise(resolve => setTimeout(resolve, EVENTUALLY_POLL_MS))
    }
  }
}

/** What a shell line in the machine writes; fails when the line does. */
export async function text(engine: Engine, id: string, line: string): Promise<string> {
  const result = await engine.console.exec(id, ['sh', '-c', line])
  if (result.exit_code !== 0) {
    throw new Error(`exit ${result.exit_code} of: ${line}\n${result.stdout}\n${result.stderr}`)
  }
  return result.stdout
}

/** Waits for a call to fail, with the port's own error and this code. */
export async function expectCode(call: Promise<unknown>, code: ComputeError['code']): Promise<void> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ComputeError)
  expect((error as ComputeError).code).toBe(code)
}

/** The command lines of every process in the machine, one a line. */
export async function commands(engine: Engine, id: string): Promise<string> {
  return text(engine, id, 'for f in /proc/[0-9]*/cmdline; do tr "\\0" " " < $f 2>/dev/null; echo; done')
}

/**
 * Runs `body` where the engine is there. Where it is not, the tests skip and the reason is part of the title;
 * in CI, where every engine is installed, they fail instead.
 */
export function describeWhere(
  name: string,
  probe: { ok: true } | { ok: false; why: string; how_to_get_it: string },
  body: () => void,
): void {
  if (probe.ok) {
    body()
    return
  }
  if (process.env.CI === 'true') {
    test(`${name} is here`, () => {
      throw new Error(`${probe.why}. To get it: ${probe.how_to_get_it}`)
    })
    return
  }
  describe.skip(`${name}: skipped, since ${probe.why}`, body)
}
